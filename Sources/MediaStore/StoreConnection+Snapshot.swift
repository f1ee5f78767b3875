import GRDB
import Glibc
internal import MediaCore
import MediaSystem

extension StoreConnection {
    /// Opens a database whose directory cannot be written, for reading only. A database that does not exist is empty.
    ///
    /// Without a log, the file itself is read as immutable. With a log, SQLite would need to write to the directory,
    /// and would ignore the log of an immutable file. Therefore database and log are copied to a private directory, and
    /// the copy is unlinked as soon as it is open; nothing is left, no matter how the process terminates.
    ///
    /// - Throws: `.corrupt`, `.newerVersion` and `.unsafe` as when the store is opened normally.
    static func snapshot(_ schema: StoreSchema, in directory: DataDirectory) throws(StoreError) -> StoreConnection {
        let path = directory.file(schema.fileName)
        guard try exists(path) else { return try empty(schema, path) }
        if try logs(of: path).isEmpty, let connection = try immutable(schema, path) { return connection }
        return try copied(schema, path)
    }

    /// An empty database in memory.
    private static func empty(_ schema: StoreSchema, _ path: String) throws(StoreError) -> StoreConnection {
        let queue = try open(":memory:", schema, busyLimit: .zero)
        try StoreError.of(path) {
            try queue.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA application_id = \(schema.applicationID)")
                try schema.migrate(db)
                // Anything stored here would be lost.
                try db.execute(sql: "PRAGMA query_only = ON")
            }
        }
        return StoreConnection(snapshot: queue, of: path, schema)
    }

    /// The logs that SQLite has not yet moved into the database.
    private static func logs(of path: String) throws(StoreError) -> [String] {
        var logs: [String] = []
        for companion in ["-wal", "-journal"] where try FileStatus(at: path + companion).map({ $0.size > 0 }) ?? false {
            logs.append(companion)
        }
        return logs
    }

    /// - Returns: nil if the database has changed in the meantime, or an older version needs to be migrated.
    private static func immutable(_ schema: StoreSchema, _ path: String) throws(StoreError) -> StoreConnection? {
        let before = try FileStatus(at: path)?.fingerprint
        let queue = try open(
            "file:\(PercentEncoding.encode(path: path))?immutable=1",
            schema,
            busyLimit: .zero,
            isReadOnly: true
        )
        let isCurrent = try StoreError.of(path) {
            try queue.unsafeRead { db in
                try schema.check(db, path: path)
                guard try StoreSchema.version(db) == schema.migrations.count else { return false }
                try schema.checkRows(db, path: path)
                return true
            }
        }
        guard isCurrent, try logs(of: path).isEmpty, try FileStatus(at: path)?.fingerprint == before else {
            return nil
        }
        return StoreConnection(snapshot: queue, of: path, schema)
    }

    private static func copied(_ schema: StoreSchema, _ path: String) throws(StoreError) -> StoreConnection {
        let directory = try makeTemporaryDirectory(for: path)
        let copy = directory + "/" + schema.fileName
        defer {
            for companion in [""] + companions { unlink(copy + companion) }
            rmdir(directory)
        }
        try copyFiles(path, to: copy)
        let queue = try open(copy, schema, busyLimit: .zero)
        try StoreError.of(path) {
            try queue.writeWithoutTransaction { db in
                try schema.check(db, path: path)
                // Moves the log into the copy, so only one open file is left.
                try JournalMode.rollback.apply(to: db, path: path)
                try db.execute(sql: "PRAGMA synchronous = OFF")
                try schema.migrate(db)
                try schema.checkRows(db, path: path)
                // Anything stored here would be lost.
                try db.execute(sql: "PRAGMA query_only = ON")
            }
        }
        return StoreConnection(snapshot: queue, of: path, schema)
    }

    private static func makeTemporaryDirectory(for path: String) throws(StoreError) -> String {
        let template = temporaryDirectory + "/mediactl-XXXXXX"
        var bytes = Array(template.utf8CString)
        // mkdtemp creates 0700.
        guard mkdtemp(&bytes) != nil else {
            throw StoreError(errno: errno, path: template, action: "cannot create a private copy of \(path)")
        }
        return String(decoding: bytes.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Copies database and logs in one consistent state; repeated if another process changes them in the meantime.
    private static func copyFiles(_ path: String, to copy: String) throws(StoreError) {
        for _ in 0..<5 {
            let before = try fingerprints(of: path)
            for suffix in try [""] + logs(of: path) { try copyFile(path + suffix, to: copy + suffix) }
            if try fingerprints(of: path) == before { return }
            for companion in [""] + companions { unlink(copy + companion) }
        }
        throw StoreError(.busy, path: path, detail: "it was modified while it was being read")
    }

    private static func fingerprints(of path: String) throws(StoreError) -> [String?] {
        var all: [String?] = []
        for suffix in ["", "-wal", "-journal"] { all.append(try FileStatus(at: path + suffix)?.fingerprint) }
        return all
    }

    private static func copyFile(_ path: String, to copy: String) throws(StoreError) {
        let source = try openFile(path, O_RDONLY)
        defer { close(source) }
        let target = try openFile(copy, O_WRONLY | O_CREAT | O_EXCL, "cannot create")
        defer { close(target) }
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        var offset: Int64 = 0
        while true {
            let count = Glibc.read(source, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw StoreError(errno: errno, path: path, action: "cannot read") }
            guard count > 0 else { return }
            let failure = buffer[..<count].withUnsafeBytes { FileBytes.write($0, to: target, at: offset).failure }
            if let failure { throw StoreError(errno: failure.code, path: copy, action: "cannot write") }
            offset += Int64(count)
        }
    }
}
