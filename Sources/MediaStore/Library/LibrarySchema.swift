extension StoreSchema {
    /// `library.sqlite`. The tables of copies and of captures grow without end, so only the small ones are checked at
    /// opening. Times of captures are integers, milliseconds since 1970.
    static let library = StoreSchema(
        fileName: "library.sqlite",
        applicationID: 0x4D44_434C,  // "MDCL"
        migrations: [
            Migration(
                name: "1: logins and copies of photos",
                sql: """
                    CREATE TABLE logins (
                        server TEXT NOT NULL PRIMARY KEY,
                        api_key TEXT NOT NULL,
                        device_id TEXT,
                        device_name TEXT,
                        email TEXT
                    ) STRICT, WITHOUT ROWID;
                    CREATE TABLE device_tokens (
                        server TEXT NOT NULL PRIMARY KEY,
                        token TEXT NOT NULL CHECK (token <> '')
                    ) STRICT, WITHOUT ROWID;
                    CREATE TABLE photo_copies (
                        server TEXT NOT NULL,
                        photo_id TEXT NOT NULL,
                        path BLOB NOT NULL,
                        temporary_name TEXT,
                        state TEXT NOT NULL,
                        source TEXT NOT NULL,
                        sha256 TEXT,
                        server_sha256 TEXT NOT NULL,
                        device INTEGER,
                        inode INTEGER,
                        file_size INTEGER,
                        modified_ns INTEGER,
                        changed_ns INTEGER,
                        last_modified TEXT,
                        total_bytes INTEGER,
                        PRIMARY KEY (photo_id, server, path)
                    ) STRICT;
                    CREATE INDEX photo_copies_by_path ON photo_copies (path, server);
                    CREATE INDEX photo_copies_by_digest ON photo_copies (sha256, server) WHERE sha256 IS NOT NULL;
                    """
            ),
            Migration(
                name: "2: captures",
                sql: """
                    CREATE TABLE captures (
                        id TEXT NOT NULL PRIMARY KEY,
                        server TEXT NOT NULL,
                        profile TEXT NOT NULL,
                        mode TEXT,
                        state TEXT NOT NULL,
                        media_hash TEXT NOT NULL,
                        media_type TEXT NOT NULL,
                        path BLOB,
                        media_bytes INTEGER,
                        is_observed INTEGER NOT NULL,
                        has_depth INTEGER NOT NULL,
                        analysis TEXT,
                        settings TEXT,
                        unsigned_body BLOB,
                        body BLOB,
                        device_id TEXT,
                        public_key BLOB,
                        rp_id TEXT,
                        counter INTEGER,
                        key_level TEXT,
                        signing_failures INTEGER NOT NULL,
                        submissions INTEGER NOT NULL,
                        created_at INTEGER NOT NULL,
                        updated_at INTEGER NOT NULL,
                        submitted_at INTEGER,
                        server_capture_id TEXT,
                        verification_url TEXT,
                        http_status INTEGER,
                        error_code TEXT,
                        error_detail TEXT,
                        analysis_ms INTEGER
                    ) STRICT;
                    CREATE INDEX captures_by_media ON captures (media_hash);
                    CREATE TABLE capture_devices (
                        server TEXT NOT NULL PRIMARY KEY,
                        device_id TEXT NOT NULL,
                        profile TEXT NOT NULL,
                        rp_id TEXT NOT NULL,
                        level TEXT NOT NULL,
                        public_key BLOB NOT NULL,
                        key_source TEXT NOT NULL,
                        created_at INTEGER NOT NULL
                    ) STRICT, WITHOUT ROWID;
                    """
            ),
        ],
        // Checked before migrating, so that only tables of the first schema may stand here.
        checkedTables: ["logins", "device_tokens"]
    )
}
