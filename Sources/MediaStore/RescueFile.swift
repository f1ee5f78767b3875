import Foundation
import Glibc
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
///            77   spaces, then "\n" at 127
///            128  the reply's bytes as they arrived, then zeros to the end of the allocated space
///
/// The reply has no length field: it ends before the trailing zeros (neither JSON nor HTML ends with one), so every
/// single write leaves a file that can be read, whatever instant the process dies at. With status 000 there is none.
///
/// One slot of a batch uses its file for one upload after the other (`reset(for:)`). The name has the upload's id for
/// people; the header is what counts.
package final class RescueFile: Sendable {
    /// Where it lies, for the last-resort message.
    package var path: String { file.path }

    private let file: LockedFile
    /// Bytes of the reply in the file.
    private let byteCount: Mutex<Int>

    /// Creates and locks a rescue file for an upload and allocates its space.
    ///
    /// - Throws: `StoreError`; `.full` when the space is not there, before anything is sent.
    package init(for uploadID: String, in directory: DataDirectory) throws(StoreError) {
        try UploadID.check(uploadID, path: directory.path)
        file = try LockedFile.create(prefix: Self.namePrefix(uploadID), in: directory)
        byteCount = Mutex(0)
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
        self.byteCount = Mutex(byteCount)
    }

    private func allocate(_ uploadID: String) throws(StoreError) {
        let code = posix_fallocate(file.descriptor, 0, off_t(Self.allocatedCount))
        guard code == 0 else { throw StoreError(errno: code, path: path, action: "cannot allocate space") }
        try write(Self.header(for: uploadID), at: 0)
        guard fsync(file.descriptor) == 0 else {
            throw StoreError(errno: errno, path: path, action: "cannot synchronise")
        }
    }

    // MARK: A reply

    /// Appends reply bytes. A reply beyond the allocated space is kept as far as the disk allows.
    ///
    /// - Throws: `StoreError`; what was written before stays.
    package func append(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        let error = byteCount.withLock { byteCount in
            let result = file.write(bytes, at: Int64(Self.headerCount + byteCount))
            byteCount += result.count
            return result.error
        }
        if let error { throw error }
    }

    /// Notes the status of the reply that follows, and forgets what an earlier try left.
    ///
    /// - Parameter status: 100…999.
    /// - Throws: `StoreError`.
    package func begin(status: Int) throws(StoreError) {
        let digits = Array(String(1000 + min(max(status, 0), 999)).utf8.dropFirst())
        let error = byteCount.withLock { byteCount -> StoreError? in
            defer { byteCount = 0 }
            var bytes = digits + [UInt8(ascii: "\n")]
            bytes += Array(repeating: UInt8(ascii: " "), count: Self.headerCount - Self.statusOffset - bytes.count - 1)
            bytes += [UInt8(ascii: "\n")]
            return forgetReply(of: byteCount, writing: bytes, at: Self.statusOffset)
        }
        if let error { throw error }
    }

    /// Makes the file ready for the next upload, keeping its allocated space and its lock. Only once the reply is committed
    /// elsewhere, or is worth nothing; a slot without a next upload releases its file.
    ///
    /// Against a kill nothing is synchronised: the new id comes in one write with the end of the old reply, so whoever
    /// looks next finds the old reply under the old id or no reply under the new one. Against a power cut neither, as long
    /// as the old reply shares the header's page, which reaches the disk as one: the next `synchronize()` takes both
    /// along. Only a longer reply is synchronised away here (`fdatasync`), lest a later page of it comes back behind the
    /// next reply. Losing all of this to a power cut before any reply arrived loses nothing: the journal knows both.
    ///
    /// - Throws: `StoreError`; `.other` after `release()`.
    package func reset(for uploadID: String) throws(StoreError) {
        try UploadID.check(uploadID, path: path)
        // First, because it tells whether the file is still there. A kill behind it leaves the old reply under the old id
        // in a file with another name, which is read all the same.
        let directory = path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex)
        try file.rename(prefix: Self.namePrefix(uploadID), in: String(directory))
        let (error, wasLong) = byteCount.withLock { byteCount in
            let wasLong = Self.headerCount + byteCount > Self.pageCount
            let error = forgetReply(of: byteCount, writing: Self.header(for: uploadID), at: 0)
            byteCount = 0
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

    /// Waits until all bytes are on the disk (`fdatasync`).
    package func synchronize() throws(StoreError) {
        guard fdatasync(file.descriptor) == 0 else {
            throw StoreError(errno: errno, path: path, action: "cannot synchronise")
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

    fileprivate static func namePrefix(_ uploadID: String) -> String { "\(prefix)\(uploadID)-" }

    fileprivate static func header(for uploadID: String) -> [UInt8] {
        let id = uploadID + String(repeating: " ", count: idCount - uploadID.utf8.count)
        let text = "\(title)upload \(id)\nstatus 000\n"
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
        guard RescueFile.hasHeader(bytes) else { return nil }
        let id = bytes[RescueFile.idOffset..<RescueFile.idOffset + RescueFile.idCount].filter { $0 != 0x20 }
        let digits = String(decoding: bytes[RescueFile.statusOffset..<RescueFile.statusOffset + 3], as: UTF8.self)
        let status = Int(digits).flatMap { $0 == 0 ? nil : $0 }
        let end = status == nil ? 0 : (bytes.lastIndex { $0 != 0 } ?? 0) + 1
        let body = Array(bytes[RescueFile.headerCount..<max(end, RescueFile.headerCount)])
        self.init(
            uploadID: String(decoding: id, as: UTF8.self),
            status: status,
            body: body,
            file: RescueFile(adopting: file, byteCount: body.count),
            receivedAt: Date(timeIntervalSince1970: FileStatus(descriptor: file.descriptor)?.modifiedAt ?? 0)
        )
    }
}
