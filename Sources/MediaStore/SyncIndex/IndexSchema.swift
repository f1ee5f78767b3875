extension StoreSchema {
    /// `index.sqlite`. Photos lie in the order in which they came, which is the order of a listing (photosync contract
    /// section 5), so a page touches few places of the file, both when it is new and when it is known.
    ///
    /// - `photos.id` and `photos.digest` are 16 and 32 bytes where they have the usual form, else the text.
    /// - A time is kept as text only where its microseconds do not give the text back.
    /// - `origins` holds the devices, and one row without device for legacy photos, each with the number of its photos.
    /// - `runs` has a row for each run that has not ended. Numbers never come back.
    /// - `seen` has a bit for each `photos.number` that the run has seen, so a run over known photos changes none of them.
    ///
    /// The indexes over ids and digests cost random access, and are not always there: see `PhotoIndexes`.
    static let index = StoreSchema(
        fileName: "index.sqlite",
        applicationID: 0x4D44_4349,  // "MDCI"
        migrations: [
            Migration(
                name: "1: photos of servers",
                sql: """
                    CREATE TABLE servers (
                        number INTEGER PRIMARY KEY,
                        address TEXT NOT NULL UNIQUE,
                        account TEXT NOT NULL,
                        complete_at INTEGER,
                        full_at INTEGER,
                        watermark_us INTEGER,
                        watermark_text TEXT,
                        total_count INTEGER NOT NULL DEFAULT 0,
                        owns_uploads INTEGER
                    ) STRICT;
                    CREATE TABLE runs (
                        number INTEGER PRIMARY KEY AUTOINCREMENT,
                        server INTEGER NOT NULL UNIQUE,
                        begun_at INTEGER NOT NULL,
                        since_us INTEGER,
                        since_text TEXT,
                        cursor TEXT,
                        is_at_end INTEGER NOT NULL DEFAULT 0,
                        photos_seen INTEGER NOT NULL DEFAULT 0,
                        pages_seen INTEGER NOT NULL DEFAULT 0,
                        total_count INTEGER NOT NULL DEFAULT 0,
                        added INTEGER NOT NULL DEFAULT 0,
                        changed INTEGER NOT NULL DEFAULT 0,
                        latest_us INTEGER,
                        latest_text TEXT
                    ) STRICT;
                    CREATE TABLE origins (
                        number INTEGER PRIMARY KEY,
                        server INTEGER NOT NULL,
                        device_id TEXT,
                        name TEXT,
                        platform TEXT,
                        present INTEGER NOT NULL DEFAULT 0,
                        gone INTEGER NOT NULL DEFAULT 0
                    ) STRICT;
                    CREATE UNIQUE INDEX origins_by_device ON origins (server, device_id);
                    CREATE TABLE photos (
                        number INTEGER PRIMARY KEY,
                        server INTEGER NOT NULL,
                        id ANY NOT NULL,
                        digest ANY NOT NULL,
                        name TEXT NOT NULL,
                        size INTEGER NOT NULL,
                        taken_us INTEGER NOT NULL,
                        taken_text TEXT,
                        uploaded_us INTEGER NOT NULL,
                        uploaded_text TEXT,
                        origin INTEGER NOT NULL,
                        width INTEGER,
                        height INTEGER,
                        is_gone INTEGER NOT NULL DEFAULT 0
                    ) STRICT;
                    CREATE UNIQUE INDEX photos_by_upload ON photos (server, uploaded_us, id);
                    CREATE TABLE seen (
                        server INTEGER NOT NULL,
                        chunk INTEGER NOT NULL,
                        bits BLOB NOT NULL,
                        PRIMARY KEY (server, chunk)
                    ) STRICT, WITHOUT ROWID;
                    """
            )
        ],
        durability: .normal,
        holdsSecrets: false,
        checkedTables: [],
        // Memory stays flat; a log of 32 MiB before it is moved saves most of the moving in a run over a million photos.
        settings: ["cache_size = -8192", "wal_autocheckpoint = 8192", "journal_size_limit = 4194304"]
    )
}
