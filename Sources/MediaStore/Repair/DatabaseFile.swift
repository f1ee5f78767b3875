import Glibc
import MediaSystem

/// The pages of a database file and its log, read without SQLite. Holds one page at a time.
final class DatabaseBytes {
    private let database: Int32
    private let log: Int32
    private let frames: LogFrames?
    private let pageSize: Int
    private let pageCount: Int

    /// Opens the database file, its log, or both. The caller must not have the database open in SQLite: closing a file
    /// drops all locks that this process has on it.
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

    /// - Returns: -1 if there is no regular file.
    private static func open(_ path: String) throws(StoreError) -> Int32 {
        guard let status = try FileStatus(at: path), status.isRegularFile else { return -1 }
        return try openFile(path, O_RDONLY)
    }

    /// The size in the header if it is valid; otherwise SQLite's default, since mediactl never sets a different one.
    private static func pageSize(_ descriptor: Int32) -> Int {
        guard let header = try? FileBytes.read(descriptor, at: 0, count: 18), header.count == 18,
            header.starts(with: Array("SQLite format 3\0".utf8))
        else { return 4096 }
        let size = Int(header[16]) << 8 | Int(header[17])
        return size >= 512 && size & (size - 1) == 0 ? size : 4096
    }

    /// Whether the file is marked as a token store (`PRAGMA application_id`), possibly one without rows.
    var isEmptyStore: Bool {
        let mark = try? FileBytes.read(database, at: 68, count: 4)
        return mark?.reduce(0) { $0 << 8 | Int($1) } == StoreSchema.tokens.applicationID
    }

    /// Calls `body` with every row that can be found: those that SQLite would see, and those in the rest of the log.
    func forEachRow(_ body: (StoredRow) throws -> Void) throws {
        for number in 1...max(pageCount, frames?.pages.keys.max() ?? 0, 1) {
            try rows(of: number, page(number)).forEach(body)
        }
        guard let frames, frames.restHasCommit else { return }
        // The newest frame first, because its rows replace rows in older frames.
        for frame in frames.rest.reversed() {
            guard let bytes = try? FileBytes.read(log, at: frame.offset, count: pageSize) else { continue }
            for var row in rows(of: frame.page, bytes) {
                row.isTrusted = row.isTrusted && frame.isVerified
                try body(row)
            }
        }
    }

    /// Whether there is a token store row that `isWanted` accepts.
    func hasRow(in path: String, where isWanted: (SalvagedRow) -> Bool = { _ in true }) throws(StoreError) -> Bool {
        struct Found: Error {}
        do {
            try forEachRow { row in
                if let row = SalvagedRow(row), isWanted(row) { throw Found() }
            }
            return false
        } catch is Found {
            return true
        } catch {
            throw StoreError(error, path: path)
        }
    }

    private func rows(of number: Int, _ bytes: [UInt8]?) -> [StoredRow] {
        guard let bytes, !bytes.isEmpty else { return [] }
        return DatabasePage(bytes: bytes, number: number, other: page).rows()
    }

    /// - Returns: nil if the page cannot be read.
    private func page(_ number: Int) -> [UInt8]? {
        if let offset = frames?.pages[number] { return try? FileBytes.read(log, at: offset, count: pageSize) }
        guard database >= 0, number >= 1, number <= pageCount else { return nil }
        return try? FileBytes.read(database, at: Int64(number - 1) * Int64(pageSize), count: pageSize)
    }
}

/// A row as it is stored: with its row number in a table, without one in an index.
struct StoredRow {
    var rowID: Int64?
    var values: [RecordValue]
    /// Whether the page of the row is well-formed. A row that was found only by its shape may be damaged or outdated.
    var isTrusted: Bool
}

/// The rows of a page of SQLite's file format (sqlite.org/fileformat2.html, section 1.6).
struct DatabasePage {
    let bytes: [UInt8]
    /// The page number, from 1. The first page begins with the header of the file.
    let number: Int
    /// Returns a different page, for values that continue there.
    let other: (Int) -> [UInt8]?

    private var headerStart: Int { number == 1 ? 100 : 0 }

    /// All rows. In a page that is not well-formed, rows are found by their shape.
    func rows() -> [StoredRow] {
        guard bytes.contains(where: { $0 != 0 }) else { return [] }
        guard bytes.count > headerStart + 12 else { return [] }
        guard let (rows, rest) = orderly() else { return searched() }
        // A damaged directory may lack rows that are on the page.
        guard rest.contains(where: { $0 != 0 }) else { return rows }
        return rows + DatabasePage(bytes: rest, number: number, other: other).searched()
    }

    // MARK: By the page's own directory

    /// - Returns: The rows, and the page with the rows replaced by zeros. nil if the page is inconsistent.
    private func orderly() -> (rows: [StoredRow], rest: [UInt8])? {
        let kind = bytes[headerStart]
        let size: Int
        switch kind {
        case 0x0D, 0x0A: size = 8
        case 0x02: size = 12
        // The inner pages of tables have no rows, unless the kind itself is damaged.
        case 0x05: return ([], bytes)
        default: return nil
        }
        let count = word(headerStart + 3)
        let directoryEnd = headerStart + size + 2 * count
        guard directoryEnd <= bytes.count else { return nil }
        var rows: [StoredRow] = []
        var rest = bytes
        rest.replaceSubrange(0..<directoryEnd, with: repeatElement(0, count: directoryEnd))
        for index in 0..<count {
            let start = word(headerStart + size + 2 * index)
            let cellStart = start + (kind == 0x02 ? 4 : 0)
            guard let (row, end) = cell(at: cellStart, isTable: kind == 0x0D) else { return nil }
            rows.append(row)
            rest.replaceSubrange(start..<end, with: repeatElement(0, count: end - start))
        }
        return (rows, rest)
    }

    private func cell(at start: Int, isTable: Bool) -> (StoredRow, end: Int)? {
        var position = start
        guard position > 0, let size = DatabaseRecord.varint(bytes, &position), size > 0, size < 1 << 24 else {
            return nil
        }
        var rowID: Int64?
        if isTable {
            rowID = DatabaseRecord.varint(bytes, &position)
            guard rowID != nil else { return nil }
        }
        guard let (payload, end) = payload(Int(size), at: position, isTable: isTable),
            let values = DatabaseRecord.values(payload, 0..<payload.count)
        else { return nil }
        return (StoredRow(rowID: rowID, values: values, isTrusted: true), end)
    }

    /// The bytes of a record, including the part in other pages, and the end of the cell on this page.
    private func payload(_ size: Int, at start: Int, isTable: Bool) -> ([UInt8], end: Int)? {
        let usable = bytes.count
        let most = isTable ? usable - 35 : (usable - 12) * 64 / 255 - 23
        let least = (usable - 12) * 32 / 255 - 23
        let surplus = least + (size - least) % (usable - 4)
        let local = size <= most ? size : surplus <= most ? surplus : least
        guard start + local <= bytes.count else { return nil }
        var payload = Array(bytes[start..<start + local])
        guard local < size else { return (payload, start + local) }
        guard start + local + 4 <= bytes.count else { return nil }
        var next = Int(LogFrames.word(bytes, start + local))
        while payload.count < size {
            guard next > 0, let page = other(next), page.count == usable else { return nil }
            payload += page[4..<min(usable, 4 + size - payload.count)]
            next = Int(LogFrames.word(page, 0))
        }
        return (payload, start + local + 4)
    }

    // MARK: By shape

    /// Tries to read a row at every byte.
    private func searched() -> [StoredRow] {
        var rows: [StoredRow] = []
        var start = 0
        while start < bytes.count - 8 {
            if let (row, end) = row(at: start) {
                rows.append(row)
                start = end
            } else {
                start += 1
            }
        }
        return rows
    }

    private func row(at start: Int) -> (StoredRow, end: Int)? {
        var position = start
        guard let size = DatabaseRecord.varint(bytes, &position), size >= 12, Int(size) <= bytes.count - position else {
            return nil
        }
        if let row = recognized(nil, position..<position + Int(size)) { return row }
        guard let rowID = DatabaseRecord.varint(bytes, &position), rowID > 0, Int(size) <= bytes.count - position else {
            return nil
        }
        return recognized(rowID, position..<position + Int(size))
    }

    private func recognized(_ rowID: Int64?, _ range: Range<Int>) -> (StoredRow, end: Int)? {
        guard let values = DatabaseRecord.values(bytes, range) else { return nil }
        let row = StoredRow(rowID: rowID, values: values, isTrusted: false)
        return SalvagedRow(row) == nil ? nil : (row, range.upperBound)
    }

    private func word(_ position: Int) -> Int { Int(bytes[position]) << 8 | Int(bytes[position + 1]) }
}

/// A value of a record in SQLite's file format (sqlite.org/fileformat2.html, section 2.1).
enum RecordValue: Equatable {
    case null
    case integer(Int64)
    case text([UInt8])
    case blob([UInt8])
    case real

    var integer: Int64? {
        guard case .integer(let value) = self else { return nil }
        return value
    }

    /// nil for bytes that are not UTF-8.
    var text: String? {
        guard case .text(let bytes) = self else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    var isNull: Bool { self == .null }
}

/// Reads records without SQLite, so only the rows on a damaged page are lost. No input causes a trap.
enum DatabaseRecord {
    /// A variable-length integer: at most nine bytes, seven bits each, eight in the last. nil if the bytes end before
    /// it does.
    static func varint(_ bytes: [UInt8], _ position: inout Int) -> Int64? {
        var value: UInt64 = 0
        for index in 0..<9 {
            guard bytes.indices.contains(position) else { return nil }
            let byte = bytes[position]
            position += 1
            if index == 8 { return Int64(bitPattern: value << 8 | UInt64(byte)) }
            value = value << 7 | UInt64(byte & 0x7F)
            if byte & 0x80 == 0 { return Int64(bitPattern: value) }
        }
        return nil
    }

    /// The values of a record, whose header and values fill the range exactly; nil for other bytes.
    static func values(_ bytes: [UInt8], _ range: Range<Int>) -> [RecordValue]? {
        guard range.lowerBound >= 0, range.upperBound <= bytes.count else { return nil }
        var position = range.lowerBound
        guard let headerSize = varint(bytes, &position), headerSize > 0, headerSize <= range.count else { return nil }
        let headerEnd = range.lowerBound + Int(headerSize)
        var body = headerEnd
        var values: [RecordValue] = []
        while position < headerEnd {
            guard let type = varint(bytes, &position), position <= headerEnd,
                let value = value(of: type, bytes, &body, end: range.upperBound)
            else { return nil }
            values.append(value)
        }
        return position == headerEnd && body == range.upperBound ? values : nil
    }

    private static func value(of type: Int64, _ bytes: [UInt8], _ position: inout Int, end: Int) -> RecordValue? {
        switch type {
        case 0: return .null
        case 8: return .integer(0)
        case 9: return .integer(1)
        case 1...6:
            let sizes = [1, 2, 3, 4, 6, 8]
            return slice(bytes, &position, sizes[Int(type) - 1], end).map { .integer(integer($0)) }
        case 7: return slice(bytes, &position, 8, end).map { _ in .real }
        case 12...:
            // No stored value is longer than a few pages.
            guard type < 1 << 24 else { return nil }
            let size = Int(type - 12) / 2
            return slice(bytes, &position, size, end).map { type % 2 == 0 ? .blob(Array($0)) : .text(Array($0)) }
        default: return nil
        }
    }

    private static func slice(_ bytes: [UInt8], _ position: inout Int, _ size: Int, _ end: Int) -> ArraySlice<UInt8>? {
        guard size <= end - position else { return nil }
        defer { position += size }
        return bytes[position..<position + size]
    }

    /// Two's complement, big-endian.
    private static func integer(_ bytes: ArraySlice<UInt8>) -> Int64 {
        var value: Int64 = (bytes.first ?? 0) & 0x80 == 0 ? 0 : -1
        for byte in bytes { value = value << 8 | Int64(byte) }
        return value
    }
}

/// The frames of a write-ahead log (sqlite.org/fileformat2.html, section 4.1), including a damaged one.
///
/// SQLite reads a log up to the first frame whose checksum is wrong and overwrites the rest, as after a power loss.
/// Frames after a damaged one were nevertheless committed: the checksum of each continues the checksum of the frame
/// before it, so they can still be verified one by one.
struct LogFrames {
    struct Frame {
        var page: Int
        /// Offset of the page's bytes in the log.
        var offset: Int64
        /// Whether the checksum of the frame is correct.
        var isVerified: Bool
    }

    static let headerSize = 32
    static let frameHeaderSize = 24

    /// The pages that SQLite reads: the newest frame of each page in its committed transactions.
    private(set) var pages: [Int: Int64] = [:]
    /// The frames after the end that SQLite sees, in the order they were written.
    private(set) var rest: [Frame] = []
    /// Whether a transaction ends in `rest`. Otherwise it is the rest of a transaction that was rolled back.
    private(set) var restHasCommit = false

    /// Reads a log; the result is empty if it has no frames.
    init(_ descriptor: Int32, size: Int64, pageSize: Int) {
        guard let header = try? FileBytes.read(descriptor, at: 0, count: Self.headerSize),
            header.count == Self.headerSize
        else { return }
        let isBigEndian = header[3] == 0x83
        let headerSum = Self.sum(header[..<24], after: (0, 0), isBigEndian)
        let isHeaderWhole = header.starts(with: [0x37, 0x7F, 0x06]) && headerSum == Self.stored(header, 24)
        let frameSize = Self.frameHeaderSize + pageSize
        let count = Int(max(size - Int64(Self.headerSize), 0)) / frameSize
        let salts = isHeaderWhole ? Array(header[16..<24]) : Self.salts(descriptor, count, frameSize)
        guard let salts else { return }

        var last = Self.stored(header, 24)
        var isUnbroken = isHeaderWhole
        var open: [Int: Int64] = [:]
        var candidates: [(frame: Frame, isCommit: Bool)] = []
        for index in 0..<count {
            let offset = Int64(Self.headerSize) + Int64(index) * Int64(frameSize)
            guard let frame = try? FileBytes.read(descriptor, at: offset, count: frameSize), frame.count == frameSize
            else { continue }
            let sum = Self.sum(frame[24...], after: Self.sum(frame[..<8], after: last, isBigEndian), isBigEndian)
            last = Self.stored(frame, 16)
            let isOfThisLog = frame[8..<16].elementsEqual(salts)
            let isVerified = isOfThisLog && sum == last
            isUnbroken = isUnbroken && isVerified
            let page = Int(Self.word(frame, 0))
            let isCommit = Self.word(frame, 4) != 0
            let data = offset + Int64(Self.frameHeaderSize)
            if isOfThisLog {
                candidates.append((Frame(page: page, offset: data, isVerified: isVerified), isCommit))
            }
            guard isUnbroken else { continue }
            open[page] = data
            if isCommit {
                pages.merge(open) { $1 }
                open = [:]
                candidates = []
            }
        }
        // A writer may have restarted the log while it was read.
        guard (try? FileBytes.read(descriptor, at: 0, count: Self.headerSize)) == header else { return }
        rest = candidates.map(\.frame)
        restHasCommit = candidates.contains { $0.isCommit }
    }

    /// The salts of a log whose header is damaged: the salts that two consecutive frames share, or the salts of the
    /// only frame. Frames left by an earlier use of the log come later.
    private static func salts(_ descriptor: Int32, _ count: Int, _ frameSize: Int) -> [UInt8]? {
        var previous: [UInt8]?
        for index in 0..<count {
            let offset = Int64(headerSize) + Int64(index) * Int64(frameSize)
            guard let header = try? FileBytes.read(descriptor, at: offset, count: frameHeaderSize),
                header.count == frameHeaderSize
            else { return previous }
            let salts = Array(header[8..<16])
            if salts == previous || count == 1 { return salts }
            previous = salts
        }
        return nil
    }

    static func word(_ bytes: [UInt8], _ position: Int) -> UInt32 {
        bytes[position..<position + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Stored checksums are big-endian.
    private static func stored(_ bytes: [UInt8], _ position: Int) -> Sum {
        (word(bytes, position), word(bytes, position + 4))
    }

    private typealias Sum = (UInt32, UInt32)

    private static func sum(_ bytes: ArraySlice<UInt8>, after sum: Sum, _ isBigEndian: Bool) -> Sum {
        var (first, second) = sum
        bytes.withUnsafeBytes { buffer in
            var position = 0
            while position + 8 <= buffer.count {
                let low = buffer.loadUnaligned(fromByteOffset: position, as: UInt32.self)
                let high = buffer.loadUnaligned(fromByteOffset: position + 4, as: UInt32.self)
                first &+= (isBigEndian ? UInt32(bigEndian: low) : UInt32(littleEndian: low)) &+ second
                second &+= (isBigEndian ? UInt32(bigEndian: high) : UInt32(littleEndian: high)) &+ first
                position += 8
            }
        }
        return (first, second)
    }
}
