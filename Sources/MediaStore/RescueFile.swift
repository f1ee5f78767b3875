import Foundation
import Glibc
import MediaSystem
import Synchronization

/// Holds a server's reply on disk before anybody tries to understand it.
///
/// Owned by one running transfer: 16 KiB allocated in advance, locked, mode 0600, in the data directory. The bytes go
/// there first, then they are parsed and committed, and only then the file is released. Whoever starts next adopts the
/// files nobody holds. An object that goes without `release()` leaves its file for adoption.
///
/// Layout, readable with any pager:
///
///     offset 0    "mediactl rescue 1\n"
///            18   "upload " and the id, padded with spaces to 40 characters, "\n"
///            66   "status " and three digits, 000 before any reply, "\n"
///            77   "system ", 16 hexadecimal digits that change when the system starts, "\n"
///            101  "check ", CRC-32C and length of the reply, 8 hexadecimal digits each, or hyphens, "\n"
///            124  spaces, then "\n" at 127
///            128  the reply's bytes as they arrived, then zeros to the end of the allocated space
///
/// A reply without a check ends before the trailing zeros, so every single write leaves a file that can be read, whatever
/// instant the process dies at. With status 000 there is none. The check comes with the synchronisation. Without it a
/// file of an earlier start of the system holds no reply: after a power cut any sector of it may be of an earlier upload
/// (docs/adr/0029). Release 0.1.0 wrote neither of the two lines.
///
/// One slot of a batch uses its file for one upload after the other (`reset(for:)`). The name has the upload's id for
/// people; the header is what counts.
package final class RescueFile: Sendable {
    /// Where it lies, for the last-resort message.
    package var path: String { file.path }

    private struct Reply {
        /// Bytes of the reply in the file.
        var byteCount = 0
        /// Of the header up to the status, and the reply so far.
        var check: UInt32 = 0
        var hasCheck = false
        var hasBegun = false
        /// The header up to the status.
        var beginning: [UInt8] = []
    }

    private let file: LockedFile
    private let reply: Mutex<Reply>

    /// Creates and locks a rescue file for an upload and allocates its space.
    ///
    /// - Throws: `StoreError`; `.full` when the space is not there, before anything is sent.
    package init(for uploadID: String, in directory: DataDirectory) throws(StoreError) {
        try UploadID.check(uploadID, path: directory.path)
        file = try LockedFile.create(prefix: Self.namePrefix(uploadID), in: directory)
        reply = Mutex(Reply(beginning: Self.header(for: uploadID)))
        do throws(StoreError) {
            try allocate(uploadID)
            try directory.synchronize()
        } catch {
            file.remove()
            throw error
        }
    }

    /// Takes over what a dead process left.
    fileprivate init(adopting file: LockedFile, byteCount: Int) {
        self.file = file
        reply = Mutex(Reply(byteCount: byteCount))
    }

    private func allocate(_ uploadID: String) throws(StoreError) {
        let code = posix_fallocate(file.descriptor, 0, off_t(Self.allocatedCount))
        guard code == 0 else { throw StoreError(errno: code, path: path, action: "cannot allocate space") }
        try write(Self.header(for: uploadID), at: 0)
        guard fsync(file.descriptor) == 0 else {
            throw StoreError(errno: errno, path: path, action: "cannot synchronize")
        }
    }

    // MARK: A reply

    /// Appends reply bytes. A reply beyond the allocated space is kept as far as the disk allows.
    ///
    /// - Throws: `StoreError`; what was written before stays.
    package func append(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        let error = reply.withLock { reply -> StoreError? in
            if reply.hasCheck {
                reply.hasCheck = false
                if let error = writeCheck(Self.noCheck) { return error }
            }
            let result = file.write(bytes, at: Int64(Self.headerCount + reply.byteCount))
            reply.byteCount += result.count
            reply.check = CyclicCheck.castagnoli.of(bytes.prefix(result.count), after: reply.check)
            return result.error
        }
        if let error { throw error }
    }

    private func writeCheck(_ text: String) -> StoreError? {
        Array(text.utf8).withUnsafeBytes { file.write($0, at: Int64(Self.checkOffset)).error }
    }

    /// Notes the status of the reply that follows, and forgets what an earlier try left.
    ///
    /// - Parameter status: 100…999.
    /// - Throws: `StoreError`.
    package func begin(status: Int) throws(StoreError) {
        let digits = Array(String(1000 + min(max(status, 0), 999)).utf8.dropFirst())
        let error = reply.withLock { reply -> StoreError? in
            let oldCount = reply.byteCount
            var header = reply.beginning
            header.replaceSubrange(Self.statusOffset..<Self.statusOffset + digits.count, with: digits)
            reply = Reply(
                check: CyclicCheck.castagnoli.of(header.prefix(Self.checkedHeaderCount)),
                hasBegun: true,
                beginning: header
            )
            return forgetReply(of: oldCount, writing: Array(header.dropFirst(Self.statusOffset)), at: Self.statusOffset)
        }
        if let error { throw error }
    }

    /// Makes the file ready for the next upload, keeping its allocated space and its lock. Only once the reply is committed
    /// elsewhere, or is worth nothing; a slot without a next upload releases its file.
    ///
    /// Against a kill nothing is synchronised: the new id comes in one write with the end of the old reply, so whoever
    /// looks next finds the old reply under the old id or no reply under the new one. After a power cut the check decides,
    /// and any mixture of the two is no reply. Only a longer reply is synchronised away here (`fdatasync`): its token must
    /// not come back behind the next one. Losing all of this before any reply arrived loses nothing: the journal knows
    /// both.
    ///
    /// - Throws: `StoreError`; `.other` after `release()`.
    package func reset(for uploadID: String) throws(StoreError) {
        try UploadID.check(uploadID, path: path)
        // First, because it tells whether the file is still there. A kill behind it leaves the old reply under the old id
        // in a file with another name, which is read all the same.
        let directory = path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex)
        try file.rename(prefix: Self.namePrefix(uploadID), in: String(directory))
        let (error, wasLong) = reply.withLock { reply -> (StoreError?, Bool) in
            let wasLong = Self.headerCount + reply.byteCount > Self.pageCount
            let header = Self.header(for: uploadID)
            let error = forgetReply(of: reply.byteCount, writing: header, at: 0)
            reply = Reply(beginning: header)
            return (error, wasLong)
        }
        if let error { throw error }
        if wasLong { try synchronize() }
    }

    /// Writes a part of the header that ends where the reply begins, and zeros over the reply.
    ///
    /// A write within one page is whole or not there, also when the process is killed in it; a longer one may stop between
    /// pages. So the pages behind the header's go first: what is left meanwhile is the beginning of the old reply, under
    /// the old header.
    private func forgetReply(of byteCount: Int, writing header: [UInt8], at offset: Int) -> StoreError? {
        let oldEnd = Self.headerCount + byteCount
        if oldEnd > Self.allocatedCount, ftruncate(file.descriptor, off_t(Self.allocatedCount)) != 0 {
            return StoreError(errno: errno, path: path, action: "cannot truncate")
        }
        let laterPages = [UInt8](repeating: 0, count: max(min(oldEnd, Self.allocatedCount) - Self.pageCount, 0))
        if let error = laterPages.withUnsafeBytes({ file.write($0, at: Int64(Self.pageCount)).error }) { return error }
        let firstPage = header + Array(repeating: 0, count: min(oldEnd, Self.pageCount) - Self.headerCount)
        return firstPage.withUnsafeBytes { file.write($0, at: Int64(offset)).error }
    }

    /// Writes the check, and waits until all bytes are on the disk (`fdatasync`).
    package func synchronize() throws(StoreError) {
        let error = reply.withLock { reply -> StoreError? in
            guard reply.hasBegun, !reply.hasCheck else { return nil }
            reply.hasCheck = true
            return writeCheck(Self.digits(reply.check) + Self.digits(UInt32(clamping: reply.byteCount)))
        }
        if let error { throw error }
        guard fdatasync(file.descriptor) == 0 else {
            throw StoreError(errno: errno, path: path, action: "cannot synchronize")
        }
    }

    /// Removes the file: its content is committed elsewhere, or there is none.
    package func release() { file.remove() }

    private func write(_ bytes: [UInt8], at offset: Int64) throws(StoreError) {
        let error = bytes.withUnsafeBytes { file.write($0, at: offset).error }
        if let error { throw error }
    }
}

// MARK: Layout

extension RescueFile {
    static let prefix = "rescue-"
    static let allocatedCount = 16 << 10
    static let headerCount = 128
    /// No page of Linux is smaller.
    static let pageCount = 4096
    fileprivate static let title = "mediactl rescue 1\n"
    fileprivate static let idOffset = 25
    fileprivate static let idCount = 40
    fileprivate static let statusOffset = 73

    /// The part of the header that the check covers: title, id, status.
    static let checkedHeaderCount = 77
    static let checkOffset = 107
    fileprivate static let noCheck = String(repeating: "-", count: 16)
    private static let systemName = "system "

    /// Changes whenever the system starts; zeros where it cannot be read.
    static let system: String = {
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return String(repeating: "0", count: 16) }
        defer { close(descriptor) }
        let hash = ((try? FileBytes.read(descriptor, at: 0, count: 64)) ?? []).fnv1a
        return digits(UInt32(truncatingIfNeeded: hash >> 32)) + digits(UInt32(truncatingIfNeeded: hash))
    }()

    fileprivate static func digits(_ value: UInt32) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: max(0, 8 - digits.count)) + digits
    }

    fileprivate static func namePrefix(_ uploadID: String) -> String { "\(prefix)\(uploadID)-" }

    fileprivate static func header(for uploadID: String) -> [UInt8] {
        let id = uploadID + String(repeating: " ", count: idCount - uploadID.utf8.count)
        let text = "\(title)upload \(id)\nstatus 000\n\(systemName)\(system)\ncheck \(noCheck)\n"
        return Array((text + String(repeating: " ", count: headerCount - text.utf8.count - 1) + "\n").utf8)
    }
}

extension RescueFile {
    /// Files of processes that are gone, each locked by the caller until released or let go.
    ///
    /// A file whose creation was cut short belongs to an upload of which nothing was sent; it is removed silently. One
    /// that may hold a token all the same is left alone: see `unreadable(in:)`.
    package static func abandoned(in directory: DataDirectory) throws(StoreError) -> [AbandonedReply] {
        var replies: [AbandonedReply] = []
        for name in try directory.entries(withPrefix: prefix) {
            guard let file = try LockedFile.existing(directory.file(name)) else { continue }
            let bytes = try file.readAll()
            if let reply = AbandonedReply(bytes, of: file) {
                replies.append(reply)
            } else if !holdsToken(bytes) {
                file.remove()
            }
        }
        return replies
    }

    /// Paths of files under the name of a rescue file that are not laid out like one, and yet hold what may be a delete
    /// token. Only a person can tell what they are.
    package static func unreadable(in directory: DataDirectory) throws(StoreError) -> [String] {
        var paths: [String] = []
        for name in try directory.entries(withPrefix: prefix) {
            guard let file = try LockedFile.existing(directory.file(name)) else { continue }
            let bytes = try file.readAll()
            if !hasHeader(bytes), holdsToken(bytes) {
                paths.append(file.path)
            }
        }
        return paths
    }

    /// The response in the content of a rescue file; other content as it is.
    package static func body(of content: [UInt8]) -> [UInt8] {
        guard let found = Self.content(of: content), found.status != nil else { return content }
        return found.body
    }

    /// What a rescue file says: the upload, the status, and the reply.
    ///
    /// - Parameters:
    ///   - bytes: The content of the file.
    ///   - system: The start of the system that the file is read after.
    /// - Returns: nil without a whole header; a status of nil without a reply, or with one that may be mixed with another.
    static func content(
        of bytes: [UInt8],
        system: String = system
    ) -> (uploadID: String, status: Int?, body: [UInt8])? {
        guard hasHeader(bytes) else { return nil }
        let text = { (range: Range<Int>) in String(decoding: bytes[range], as: UTF8.self) }
        let id = text(idOffset..<idOffset + idCount).filter { $0 != " " }
        let status = Int(text(statusOffset..<statusOffset + 3)).flatMap { $0 == 0 ? nil : $0 }
        let end = max((bytes.lastIndex { $0 != 0 } ?? 0) + 1, headerCount)
        guard let status else { return (id, nil, []) }
        let name = text(checkedHeaderCount..<checkedHeaderCount + systemName.count)
        guard name == systemName else {
            // Release 0.1.0 wrote blanks.
            return name.allSatisfy { $0 == " " } ? (id, status, Array(bytes[headerCount..<end])) : (id, nil, [])
        }
        let check = text(checkOffset..<checkOffset + 16)
        if check == noCheck {
            let isOfThisStart = text(84..<100) == system
            return isOfThisStart ? (id, status, Array(bytes[headerCount..<end])) : (id, nil, [])
        }
        guard let expected = UInt32(check.prefix(8), radix: 16), let count = Int(check.suffix(8), radix: 16),
            count <= bytes.count - headerCount
        else { return (id, nil, []) }
        let body = bytes[headerCount..<headerCount + count]
        let header = CyclicCheck.castagnoli.of(bytes.prefix(checkedHeaderCount))
        guard CyclicCheck.castagnoli.of(body, after: header) == expected else { return (id, nil, []) }
        return (id, status, Array(body))
    }

    fileprivate static func hasHeader(_ bytes: [UInt8]) -> Bool {
        bytes.count >= headerCount && bytes.starts(with: title.utf8)
    }

    /// Whether there are 64 hexadecimal characters in a row: a token (gighive contract section 0), or a digest.
    private static func holdsToken(_ bytes: [UInt8]) -> Bool {
        var count = 0
        for byte in bytes {
            switch byte {
            case 0x30...0x39, 0x41...0x46, 0x61...0x66: count += 1
            default: count = 0
            }
            if count == 64 {
                return true
            }
        }
        return false
    }
}

extension AbandonedReply {
    /// - Returns: nil when there is no whole header.
    fileprivate init?(_ bytes: [UInt8], of file: LockedFile) {
        guard let content = RescueFile.content(of: bytes) else { return nil }
        self.init(
            uploadID: content.uploadID,
            status: content.status,
            body: content.body,
            file: RescueFile(adopting: file, byteCount: content.body.count),
            receivedAt: Date(timeIntervalSince1970: FileStatus(descriptor: file.descriptor)?.modifiedAt ?? 0)
        )
    }
}
