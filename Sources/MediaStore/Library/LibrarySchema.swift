extension StoreSchema {
    /// `library.sqlite`. The tables of copies, captures and clips grow without limit, so only the small ones are
    /// checked when the store is opened. Times of captures and tapes are integers, milliseconds since 1970.
    static let library = StoreSchema(
        fileName: "library.sqlite",
        applicationID: 0x4D44_434C,  // "MDCL"
        migrations: [
            // 1: logins and copies of photos
            """
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
            """,
            // 2: captures
            """
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
            """,
            // 3: tapes
            """
            CREATE TABLE tapes (
                id TEXT NOT NULL PRIMARY KEY,
                title TEXT NOT NULL,
                created_at INTEGER NOT NULL,
                updated_at INTEGER NOT NULL,
                received_first_content INTEGER NOT NULL DEFAULT 0,
                orientation TEXT NOT NULL DEFAULT 'portrait',
                scale_mode TEXT NOT NULL DEFAULT 'fit',
                transition TEXT NOT NULL DEFAULT 'none',
                transition_ms INTEGER NOT NULL DEFAULT 500,
                association TEXT NOT NULL DEFAULT 'none',
                association_reason TEXT,
                -- The library that the states of its clips speak of.
                clips_library_id TEXT
            ) STRICT;
            CREATE TABLE clips (
                id TEXT NOT NULL PRIMARY KEY,
                tape_id TEXT NOT NULL REFERENCES tapes (id) ON DELETE CASCADE,
                position INTEGER NOT NULL,
                kind TEXT NOT NULL,
                source BLOB,
                paired_source BLOB,
                size INTEGER,
                mtime_ns INTEGER,
                sha1 TEXT,
                sha256 TEXT,
                duration_ms INTEGER,
                trim_start_ms INTEGER NOT NULL DEFAULT 0,
                trim_end_ms INTEGER NOT NULL DEFAULT 0,
                rotate_quarter_turns INTEGER NOT NULL DEFAULT 0,
                scale_override TEXT,
                volume REAL,
                image_ms INTEGER NOT NULL DEFAULT 4000,
                association TEXT NOT NULL DEFAULT 'pending',
                association_reason TEXT,
                attempts INTEGER NOT NULL DEFAULT 0,
                next_attempt_at INTEGER,
                UNIQUE (tape_id, position)
            ) STRICT;
            -- All that a list of tapes needs of their clips, so that it reads no clip.
            CREATE INDEX clips_by_sums ON clips
                (tape_id, kind, association, duration_ms, trim_start_ms, trim_end_ms, image_ms);
            CREATE TABLE album_links (
                tape_id TEXT NOT NULL REFERENCES tapes (id) ON DELETE CASCADE,
                library_id TEXT NOT NULL,
                album_id TEXT NOT NULL CHECK (album_id <> ''),
                title_at_creation TEXT NOT NULL,
                owner_id TEXT,
                hint BLOB,
                created_at INTEGER NOT NULL,
                verified_at INTEGER,
                PRIMARY KEY (tape_id, library_id)
            ) STRICT, WITHOUT ROWID;
            CREATE INDEX album_links_by_album ON album_links (library_id, album_id);
            CREATE TABLE clip_assets (
                clip_id TEXT NOT NULL REFERENCES clips (id) ON DELETE CASCADE,
                library_id TEXT NOT NULL,
                asset_id BLOB NOT NULL,
                linked_at INTEGER NOT NULL,
                PRIMARY KEY (clip_id, library_id)
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE album_intents (
                tape_id TEXT NOT NULL REFERENCES tapes (id) ON DELETE CASCADE,
                library_id TEXT NOT NULL,
                title TEXT NOT NULL,
                started_at INTEGER NOT NULL,
                PRIMARY KEY (tape_id, library_id)
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE album_tombstones (
                library_id TEXT NOT NULL,
                album_id TEXT NOT NULL CHECK (album_id <> ''),
                tape_title TEXT NOT NULL,
                attempts INTEGER NOT NULL DEFAULT 0,
                last_error TEXT,
                PRIMARY KEY (library_id, album_id)
            ) STRICT;
            CREATE TABLE album_libraries (
                kind TEXT NOT NULL,
                address TEXT NOT NULL,
                library_id TEXT,
                account_id TEXT,
                key_id TEXT,
                refused_fingerprint TEXT,
                updated_at INTEGER NOT NULL,
                PRIMARY KEY (kind, address)
            ) STRICT, WITHOUT ROWID;
            """,
            // 4: photos deleted on servers
            """
            CREATE TABLE photo_deletions (
                server TEXT NOT NULL,
                photo_id TEXT NOT NULL,
                sha256 TEXT NOT NULL,
                name TEXT NOT NULL,
                state TEXT NOT NULL,
                found_at INTEGER NOT NULL,
                PRIMARY KEY (photo_id, server)
            ) STRICT;
            CREATE INDEX photo_deletions_by_digest ON photo_deletions (sha256, server);
            """,
            // 5: directories that are synchronized in both directions, with the user's consent
            """
            CREATE TABLE synced_directories (
                server TEXT NOT NULL,
                path BLOB NOT NULL,
                PRIMARY KEY (path, server)
            ) STRICT, WITHOUT ROWID;
            """,
            // 6: submissions of a capture before the last one, as JSON
            """
            ALTER TABLE captures ADD COLUMN earlier_submissions TEXT;
            """,
        ],
        // These tables are checked before migrating, so only tables in the first schema may be listed.
        checkedTables: ["logins", "device_tokens"]
    )
}
