internal import Foundation

extension StoreSchema {
    /// `tokens.sqlite`. Times are integers, milliseconds since 1970: ten thousand rows are listed without parsing a
    /// date.
    static let tokens = StoreSchema(
        fileName: "tokens.sqlite",
        applicationID: 0x4D44_4354,  // "MDCT"
        migrations: tokenMigrations,
        // A token that is missing from the index by time would be missing from every list.
        contentCheck: "integrity_check",
        // Few uploads are guest uploads, so the index stays small.
        indexes: ["CREATE INDEX IF NOT EXISTS uploads_of_guests ON uploads (file_id) WHERE is_guest = 1"],
        rowChecks: [unreadableToken, unreadableUpload],
        remembersChecks: true
    )

    private static let validTime =
        "BETWEEN \(Date.validMilliseconds.lowerBound) AND \(Date.validMilliseconds.upperBound)"

    /// Rows that `DeleteToken` refuses, or whose time is invalid. GLOB stops at a zero byte, hence the search for it.
    private static let unreadableToken = """
        SELECT 'row ' || row_id || ' has no usable token or no valid time' FROM tokens
        WHERE created_at NOT \(validTime) OR length(token) NOT BETWEEN 1 AND 512 OR instr(token, char(0)) > 0
            OR token GLOB '*[' || char(1) || '-' || char(32) || char(127) || ']*'
        LIMIT 1
        """

    /// Rows that `UploadRow` cannot read.
    private static let unreadableUpload = """
        SELECT 'upload ' || upload_id || ' cannot be read' FROM uploads
        WHERE state NOT IN (\(UploadRow.names(of: UploadState.allCases)))
            OR transport NOT IN (\(UploadTransport.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")))
            OR created_at NOT \(validTime) OR updated_at NOT \(validTime)
            OR NOT json_valid(fields) OR json_type(fields) <> 'array'
            OR EXISTS (
                SELECT 1 FROM json_each(fields) AS field
                WHERE field.type <> 'object' OR json_type(field.value, '$.name') IS NOT 'text'
                    OR json_type(field.value, '$.value') IS NOT 'text'
            )
        LIMIT 1
        """

    private static let tokenMigrations = [
        // 1: tokens and the upload journal
        """
        CREATE TABLE tokens (
            row_id INTEGER PRIMARY KEY AUTOINCREMENT,
            host TEXT NOT NULL,
            file_id INTEGER NOT NULL,
            token TEXT NOT NULL CHECK (token <> ''),
            created_at INTEGER NOT NULL,
            event_date TEXT NOT NULL,
            org_name TEXT NOT NULL,
            event_type TEXT NOT NULL,
            label TEXT,
            file_name TEXT NOT NULL,
            file_type TEXT NOT NULL,
            checksum_sha256 TEXT NOT NULL,
            size_bytes INTEGER NOT NULL,
            base_url TEXT NOT NULL,
            superseded INTEGER NOT NULL DEFAULT 0 CHECK (superseded IN (0, 1))
        ) STRICT;
        CREATE INDEX tokens_by_key ON tokens (host, file_id, checksum_sha256);
        CREATE INDEX tokens_by_checksum ON tokens (host, checksum_sha256);
        CREATE INDEX tokens_by_time ON tokens (created_at);
        CREATE TABLE uploads (
            upload_id TEXT NOT NULL PRIMARY KEY,
            path BLOB NOT NULL,
            state TEXT NOT NULL,
            host TEXT NOT NULL,
            base_url TEXT NOT NULL,
            fields TEXT NOT NULL,
            device INTEGER,
            inode INTEGER,
            file_size INTEGER,
            modified_ns INTEGER,
            changed_ns INTEGER,
            size_bytes INTEGER NOT NULL,
            checksum_sha256 TEXT,
            file_id INTEGER,
            attempts INTEGER NOT NULL DEFAULT 0,
            http_status INTEGER,
            failure_code TEXT,
            created_at INTEGER NOT NULL,
            updated_at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX uploads_by_state ON uploads (state);
        CREATE INDEX uploads_by_file ON uploads (inode, device, host);
        """,
        // A removed entry must not be restored by an import from an older export.
        // 2: tombstones of removed entries
        """
        CREATE TABLE tombstones (
            host TEXT NOT NULL,
            file_id INTEGER NOT NULL,
            checksum_sha256 TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            PRIMARY KEY (host, file_id, checksum_sha256)
        ) STRICT, WITHOUT ROWID;
        """,
        // Like a token, a receipt must survive the loss of its upload from the journal: no foreign key. The tus state
        // of an upload is useless without its row.
        // 3: resumable uploads and guests
        """
        ALTER TABLE uploads ADD COLUMN transport TEXT NOT NULL DEFAULT 'multipart';
        ALTER TABLE uploads ADD COLUMN is_guest INTEGER NOT NULL DEFAULT 0 CHECK (is_guest IN (0, 1));
        CREATE INDEX uploads_by_checksum ON uploads (host, checksum_sha256);
        CREATE TABLE tus_uploads (
            upload_id TEXT NOT NULL PRIMARY KEY REFERENCES uploads (upload_id) ON DELETE CASCADE,
            parts TEXT NOT NULL,
            final_tus_id TEXT,
            finalize_started_at INTEGER
        ) STRICT;
        CREATE TABLE guest_receipts (
            upload_id TEXT NOT NULL PRIMARY KEY,
            nonce TEXT NOT NULL,
            job_id INTEGER NOT NULL
        ) STRICT;
        """,
        // A file may belong to several events, and the last known state of a guest's upload is kept.
        // 4: details that the server stored, and the state of guest uploads
        """
        CREATE TABLE stored_files (
            host TEXT NOT NULL,
            file_id INTEGER NOT NULL,
            checksum_sha256 TEXT NOT NULL,
            event_date TEXT NOT NULL,
            org_name TEXT NOT NULL,
            event_id INTEGER,
            event_type TEXT,
            label TEXT,
            position INTEGER,
            mime_type TEXT,
            duration_seconds INTEGER,
            participants TEXT,
            keywords TEXT,
            created_at INTEGER NOT NULL,
            PRIMARY KEY (host, file_id, checksum_sha256, event_date, org_name)
        ) STRICT, WITHOUT ROWID;
        ALTER TABLE guest_receipts ADD COLUMN state TEXT;
        ALTER TABLE guest_receipts ADD COLUMN state_at INTEGER;
        """,
    ]
}
