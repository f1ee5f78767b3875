import Glibc
import MediaSystem

/// The pages of a database file and its log, read without SQLite. Holds one page at a time.
final class DatabaseBytes {
    private let database: Int32
    private let log: Int32
    private let frames: LogFrames?
    private let pageSize: Int
    private let pageCount: Int

    /// Opens what is there: a file, a log, or both.
    ///
    /// The caller must not have the database open by SQLite: closing a file drops all its locks of this process.
    ///
    /// - Parameter path: Of the database.
    /// - Throws: `StoreError` when there is something that cannot be opened.
    init(_ path: String) throws(StoreError) {
        database = try Self.open(path)
        do throws(StoreError) {
            log = try Self.open(path + "-wal")
        } catch {
            if database >= 0 { close(database) }
            throw error
        }
        let pageSize = Self.pageSize(database)
        self.pageSize = pageSize
        let size = FileStatus(descriptor: database)?.size ?? 0
        pageCount = Int((size + Int64(pageSize) - 1) / Int64(pageSize))
        if let status = FileStatus(descriptor: log) {
            frames = LogFrames(log, size: status.size, pageSize: pageSize)
        } else {
            frames = nil
        }
    }

    deinit {
        for descriptor in [database, log] where descriptor >= 0 { close(descriptor) }
    }

    /// - Returns: -1 where there is no regular file.
    private static func open(_ path: String) throws(StoreError) -> Int32 {
        guard let status = try FileStatus(at: path), status.isRegularFile else { return -1 }
        let descriptor = Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw StoreError(errno: errno, path: path, action: "cannot open") }
        return descriptor
    }

    /// What the header says if that can be true; otherwise what SQLite uses, as mediactl never asks for another.
    private static func pageSize(_ descriptor: Int32) -> Int {
        guard let header = try? FileBytes.read(descriptor, at: 0, count: 18), header.count == 18,
            header.starts(with: Array("SQLite format 3\0".utf8))
        else { return 4096 }
        let size = Int(header[16]) << 8 | Int(header[17])
        return size >= 512 && size & (size - 1) == 0 ? size : 4096
    }

    /// Whether the file is marked as a token store (`PRAGMA application_id`), which may be one without rows.
    var isEmptyStore: Bool {
        let mark = try? FileBytes.read(database, at: 68, count: 4)
        return mark?.reduce(0) { $0 << 8 | Int($1) } == StoreSchema.tokens.applicationID
    }

    /// Calls `body` with every row that can be found: those that SQLite would see, and those in the rest of the log.
    ///
    /// - Throws: What `body` throws.
    func forEachRow(_ body: (StoredRow) throws -> Void) throws {
        for number in 1...max(pageCount, frames?.pages.keys.max() ?? 0, 1) {
            try rows(of: number, page(number)).forEach(body)
        }
        guard let frames, frames.restHasCommit else { return }
        // The newest frame first, as a row of it replaces that of an older one.
        for frame in frames.rest.reversed() {
            guard let bytes = try? FileBytes.read(log, at: frame.offset, count: pageSize) else { continue }
            for var row in rows(of: frame.page, bytes) {
                row.isTrusted = row.isTrusted && frame.isVerified
                try body(row)
            }
        }
    }

    private func rows(of number: Int, _ bytes: [UInt8]?) -> [StoredRow] {
        guard let bytes, !bytes.isEmpty else { return [] }
        return DatabasePage(bytes: bytes, number: number, other: page).rows()
    }

    /// - Returns: nil where the disk cannot read.
    private func page(_ number: Int) -> [UInt8]? {
        if let offset = frames?.pages[number] { return try? FileBytes.read(log, at: offset, count: pageSize) }
        guard database >= 0, number >= 1, number <= pageCount else { return nil }
        return try? FileBytes.read(database, at: Int64(number - 1) * Int64(pageSize), count: pageSize)
    }
}
