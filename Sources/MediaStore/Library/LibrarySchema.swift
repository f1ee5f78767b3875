extension StoreSchema {
    /// `library.sqlite`. A table of copies grows with the photo library, so only the small ones are checked at opening.
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
            )
        ],
        checkedTables: ["logins", "device_tokens"]
    )
}
