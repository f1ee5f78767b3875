import Foundation
import Glibc
internal import MediaCore
import MediaSystem
import Synchronization

/// Stores the responses of a process on disk before they are parsed.
///
/// One file in the data directory for all uploads of a process, mode 0600, locked while the process runs. Its space is
/// allocated before anything is sent, and responses that arrive together share one `fdatasync`. The bytes of a response
/// are stored first; then they are parsed and their token is committed, and only then are they overwritten. The file is
/// removed with the last upload. Responses left by an exited process are adopted by the next one
/// (`StoredResponse.abandoned`).
///
/// The first page identifies the file format; every other page is a `RescuePage`, or zeros.
package final class RescueLog: Sendable {
    /// A file, and which of its pages are in use.
    private struct File {
        let file: LockedFile
        let sync: SharedSync
        /// Including the first page.
        var pageCount: Int
        var freePages: [Int] = []
        /// Number of uploads that have a record in the file.
        var recordCount = 0
        var lastRecord = 0
        /// Whether the file keeps responses after its uploads are finished.
        var isKept = false
    }

    private struct State {
        var current: File?
        /// Whether the file is kept while no upload has a record in it.
        var isOpen: Bool
    }

    private let directory: DataDirectory
    private let state: Mutex<State>

    /// Creates a log. Its file is created with the first upload; if `isOpen`, it stays until `close`, for consecutive
    /// uploads.
    package init(in directory: DataDirectory, isOpen: Bool = false) {
        self.directory = directory
        state = Mutex(State(isOpen: isOpen))
    }

    /// Allocates and synchronizes space for the response of an upload; `.full` if there is not enough,
    /// before anything is sent.
    package func reserve(for uploadID: String) throws(StoreError) -> RescueRecord {
        try UploadID.check(uploadID, path: directory.path)
        return try state.withLock { state throws(StoreError) in
            var current: File
            if let known = state.current { current = known } else { current = try create() }
            if current.freePages.count < Self.reservedCount { try Self.grow(&current) }
            let pages = Array(current.freePages.suffix(Self.reservedCount).reversed())
            current.freePages.removeLast(Self.reservedCount)
            current.recordCount += 1
            current.lastRecord += 1
            state.current = current
            return RescueRecord(
                uploadID,
                number: current.lastRecord,
                pages: pages,
                file: current.file,
                sync: current.sync,
                log: self
            )
        }
    }

    /// Removes the file as soon as no upload needs it.
    package func close() {
        state.withLock { state in
            state.isOpen = false
            Self.removeIfUnused(&state)
        }
    }

    // MARK: Records

    /// Returns a page beyond the reserved ones. Its space is not allocated.
    fileprivate func anotherPage() -> Int? {
        state.withLock { state in
            guard state.current != nil else { return nil }
            if let page = state.current?.freePages.popLast() { return page }
            defer { state.current?.pageCount += 1 }
            return state.current?.pageCount
        }
    }

    /// The number of the next response in the file.
    fileprivate func nextRecord() -> Int {
        state.withLock { state in
            state.current?.lastRecord += 1
            return state.current?.lastRecord ?? 0
        }
    }

    /// Ends a record. Its response is overwritten, or the file is removed with its last record.
    ///
    /// - Parameters:
    ///   - pages: All pages of the record.
    ///   - written: The pages with bytes of the response, in order.
    ///   - isKept: Whether the response is kept for adoption.
    fileprivate func end(_ pages: [Int], written: ArraySlice<Int>, isKept: Bool) {
        state.withLock { state in
            guard let current = state.current else { return }
            let isLast = !state.isOpen && current.recordCount == 1 && !current.isKept
            state.current?.recordCount -= 1
            // A page that cannot be overwritten is kept, and is not used for a different response.
            if isKept || !(isLast || (try? RescueRecord.clear(written, in: current.file)) != nil) {
                state.current?.isKept = true
            } else {
                state.current?.freePages += pages.reversed()
            }
            Self.removeIfUnused(&state)
        }
    }

    private static func removeIfUnused(_ state: inout State) {
        guard let current = state.current, !state.isOpen, current.recordCount == 0 else { return }
        // A kept response is adopted from an unlocked file. Later responses are written to a different file.
        state.current = nil
        if current.isKept { current.file.unlock() } else { current.file.remove() }
    }

    // MARK: The file

    static let prefix = "rescue-"
    static let title = "mediactl rescue log 2\n"
    /// Pages that are allocated for one response.
    static let reservedCount = 4
    /// Pages by which the file grows.
    static let growth = 16

    private func create() throws(StoreError) -> File {
        let file = try LockedFile.create(prefix: Self.prefix, in: directory)
        do throws(StoreError) {
            var current = File(file: file, sync: SharedSync(file), pageCount: 1)
            try file.write(Array(Self.title.utf8), at: 0)
            try Self.grow(&current)
            try directory.synchronize()
            return current
        } catch {
            file.remove()
            throw error
        }
    }

    private static func grow(_ current: inout File) throws(StoreError) {
        let file = current.file
        let offset = off_t(current.pageCount * RescuePage.size)
        let code = posix_fallocate(file.descriptor, offset, off_t(growth * RescuePage.size))
        guard code == 0 else { throw StoreError(errno: code, path: file.path, action: "cannot allocate space") }
        try StoreError.check(file.path, "cannot synchronize", fdatasync(file.descriptor))
        current.freePages.insert(contentsOf: (current.pageCount..<current.pageCount + growth).reversed(), at: 0)
        current.pageCount += growth
    }
}

/// The record of one upload in a rescue log. Deinitializing it without `release()` has the effect of `keep()`.
package final class RescueRecord: Sendable {
    private struct Response {
        /// Pages of this record, in the order of the response.
        var pages: [Int]
        var number: Int
        /// Number of pages with bytes of the response.
        var usedCount = 0
        /// Content of the last used page.
        var last: RescuePage?
        /// Number of used pages that are in the file, at least in part.
        var writtenCount = 0
        /// Whether bytes of the last page are not in the file yet.
        var isUnwritten = false
        var hasEnded = false
    }

    /// The file, for messages.
    package var path: String { file.path }

    private let uploadID: String
    private let file: LockedFile
    private let sync: SharedSync
    private let log: RescueLog
    private let response: Mutex<Response>

    fileprivate init(
        _ uploadID: String,
        number: Int,
        pages: [Int],
        file: LockedFile,
        sync: SharedSync,
        log: RescueLog
    ) {
        self.uploadID = uploadID
        self.file = file
        self.sync = sync
        self.log = log
        response = Mutex(Response(pages: pages, number: number))
    }

    deinit { end(isKept: true) }

    /// Records the status (100…999) of the response that follows. An earlier response is erased first, on disk as well.
    package func begin(status: Int) throws(StoreError) {
        try response.withLock { response throws(StoreError) in
            if response.last != nil {
                try forget(&response)
                try StoreError.check(path, "cannot synchronize", fdatasync(file.descriptor))
            }
            response.last = RescuePage(
                uploadID: uploadID,
                status: status,
                record: response.number,
                index: 0,
                receivedAt: Date()
            )
            response.usedCount = 1
            response.isUnwritten = true
        }
    }

    /// Appends bytes of the response. Bytes beyond the allocated space are stored as far as the disk allows.
    ///
    /// - Throws: `StoreError`; data written before is kept.
    package func append(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        try response.withLock { response throws(StoreError) in
            var rest = bytes[...]
            while !rest.isEmpty {
                guard var page = response.last else { return }
                if page.bytes.count == RescuePage.capacity {
                    page.index += 1
                    page.bytes = []
                    if response.usedCount == response.pages.count {
                        guard let next = log.anotherPage() else { return }
                        response.pages.append(next)
                    }
                    response.usedCount += 1
                }
                let part = rest.prefix(RescuePage.capacity - page.bytes.count)
                page.bytes += part
                rest = rest.dropFirst(part.count)
                response.last = page
                response.isUnwritten = true
                try writeLast(&response)
            }
        }
    }

    private func writeLast(_ response: inout Response) throws(StoreError) {
        guard response.isUnwritten, let page = response.last else { return }
        try file.write(page.encoded, at: Int64(response.pages[response.usedCount - 1] * RescuePage.size))
        response.isUnwritten = false
        response.writtenCount = response.usedCount
    }

    /// Waits until the response is on disk.
    package func synchronize() async throws(StoreError) {
        try response.withLock { response throws(StoreError) in try writeLast(&response) }
        try await sync.synchronize()
    }

    /// Erases the response to this attempt before another attempt, on disk as well: after a power loss, it must not be
    /// mistaken for the last response.
    package func reset() async throws(StoreError) {
        let wasUsed = try response.withLock { response throws(StoreError) in
            let wasUsed = response.last != nil
            try forget(&response)
            return wasUsed
        }
        if wasUsed { try await sync.synchronize() }
    }

    private func forget(_ response: inout Response) throws(StoreError) {
        guard response.last != nil else { return }
        try Self.clear(response.pages.prefix(response.writtenCount), in: file)
        response.last = nil
        response.usedCount = 0
        response.writtenCount = 0
        response.number = log.nextRecord()
    }

    /// Writes zeros over a response. The first page is overwritten last: if the process is killed before that, only the
    /// beginning of this response is left.
    static func clear(_ pages: ArraySlice<Int>, in file: LockedFile) throws(StoreError) {
        for page in pages.reversed() { try file.write(RescuePage.zeros, at: Int64(page * RescuePage.size)) }
    }

    /// Ends this upload's use of the log: its token is stored elsewhere, or there is none. The response is overwritten.
    package func release() { end(isKept: false) }

    /// Ends this upload's use of the log. The response stays until a process adopts it.
    package func keep() { end(isKept: true) }

    private func end(isKept: Bool) {
        response.withLock { response in
            guard !response.hasEnded else { return }
            response.hasEnded = true
            // A status without content may not be in the file yet.
            if isKept { try? writeLast(&response) }
            log.end(
                response.pages,
                written: response.pages.prefix(response.writtenCount),
                isKept: isKept && response.writtenCount > 0
            )
        }
    }
}

/// A part of a response as stored in one page of a rescue log: a text header, then the bytes as they arrived.
///
///     offset 0    "mediactl response\n"
///            18   "upload " and the ID, padded with spaces to 40 characters, "\n"
///            66   "status " and three digits, "\n"
///            77   "record " and eight digits: pages of one response have the same number, "\n"
///            93   "page " and five digits: the position of this page in the response, "\n"
///            104  "bytes " and four digits: number of bytes of the response in this page, "\n"
///            115  "time " and fifteen digits: milliseconds since 1970, "\n"
///            136  "check " and eight hexadecimal digits: CRC-32C of the bytes, then of offsets 0 to 135, "\n"
///            151  spaces, then "\n" at 159
///            160  the bytes
///
/// If the process is killed, a write within a page is complete or absent. After a power loss, the check detects a torn
/// page.
struct RescuePage: Equatable {
    var uploadID: String
    /// 100…999.
    var status: Int
    var record: Int
    /// The position of this page in the response, from 0.
    var index: Int
    var receivedAt: Date
    var bytes: [UInt8] = []

    /// The smallest page size on Linux.
    static let size = 4096
    static let headerCount = 160
    /// A page without a response.
    static let zeros = [UInt8](repeating: 0, count: size)
    /// Number of bytes of a response that fit in one page.
    static let capacity = size - headerCount
    private static let checkedCount = 136

    /// The header, then the bytes.
    var encoded: [UInt8] {
        // Built from bytes, not by concatenating strings: a page is written for each upload, on the sending thread.
        var page: [UInt8] = []
        page.reserveCapacity(Self.headerCount + bytes.count)
        page += "mediactl response\nupload ".utf8
        page += uploadID.utf8
        page += repeatElement(UInt8(ascii: " "), count: 66 - 1 - page.count)
        page += "\nstatus ".utf8
        page.append(digits: status, 3)
        page += "\nrecord ".utf8
        page.append(digits: record, 8)
        page += "\npage ".utf8
        page.append(digits: index, 5)
        page += "\nbytes ".utf8
        page.append(digits: bytes.count, 4)
        page += "\ntime ".utf8
        page.append(digits: Int(receivedAt.milliseconds), 15)
        page.append(UInt8(ascii: "\n"))
        let check = CyclicCheck.castagnoli.of(page, after: CyclicCheck.castagnoli.of(bytes))
        page += "check ".utf8
        page += check.padded(8, radix: 16).utf8
        page.append(UInt8(ascii: "\n"))
        page += repeatElement(UInt8(ascii: " "), count: Self.headerCount - 1 - page.count)
        page.append(UInt8(ascii: "\n"))
        page += bytes
        return page
    }
}

extension [UInt8] {
    /// Appends a number with leading zeros; if it has too many digits, the largest one that fits.
    fileprivate mutating func append(digits value: Int, _ count: Int) {
        let start = self.count
        self += repeatElement(UInt8(ascii: "0"), count: count)
        var rest = Swift.max(value, 0)
        for index in (start..<start + count).reversed() {
            self[index] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        }
        guard rest > 0 else { return }
        for index in start..<start + count { self[index] = UInt8(ascii: "9") }
    }
}

extension RescuePage {
    /// Reads a page.
    ///
    /// - Returns: nil for a page without a response, and for a page whose check is wrong.
    init?(_ page: ArraySlice<UInt8>) {
        guard page.count >= Self.headerCount else { return nil }
        let header = page.prefix(Self.headerCount)
        let lines = String(decoding: header, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        let names = ["", "upload ", "status ", "record ", "page ", "bytes ", "time ", "check "]
        guard lines.count >= names.count, lines[0] == "mediactl response",
            zip(lines, names).allSatisfy({ $0.hasPrefix($1) })
        else { return nil }
        let values = zip(lines, names).map { String($0.dropFirst($1.count)) }
        guard let count = Int(values[5]), (0...Self.capacity).contains(count), page.count >= Self.headerCount + count,
            let check = UInt32(values[7], radix: 16), let status = Int(values[2]), let record = Int(values[3]),
            let index = Int(values[4]), let milliseconds = Int64(values[6])
        else { return nil }
        let bytes = page.dropFirst(Self.headerCount).prefix(count)
        let content = CyclicCheck.castagnoli.of(bytes)
        guard CyclicCheck.castagnoli.of(header.prefix(Self.checkedCount), after: content) == check else { return nil }
        self.init(
            uploadID: values[1].trimmingCharacters(in: .whitespaces),
            status: status,
            record: record,
            index: index,
            receivedAt: Date(milliseconds: milliseconds),
            bytes: Array(bytes)
        )
    }
}
