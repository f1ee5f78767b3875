import CFileSystem
import Glibc
internal import MediaCore
import MediaSystem
import Synchronization

/// A lock on one byte of a file that many locks share, in `locks` of the data directory. It ends with the process, however
/// it ends.
///
/// The byte stands at the hash of a name, because making and removing a file for each name costs more than sending a small
/// file. Two names of one hash (63 bits) would only make one owner wait for another.
final class LockedByte: Sendable {
    private let descriptor: Int32
    private let offset: Int64
    private let path: String
    private let isReleased = Atomic(true)

    /// Opens the file; nothing is locked.
    ///
    /// - Throws: `StoreError` when the file cannot be made.
    convenience init(_ name: String, of path: String) throws(StoreError) {
        try self.init(at: Self.offset(of: name), of: path, flags: O_CREAT)
        // The umask may have taken the owner's own rights away.
        if let status = FileStatus(descriptor: descriptor), status.permissions != 0o600 {
            fchmod(descriptor, 0o600)
        }
    }

    /// Opens a file for a lock on one of its own bytes; nothing is locked.
    ///
    /// - Throws: `StoreError` when the file cannot be opened.
    convenience init(at offset: Int64, of path: String) throws(StoreError) {
        try self.init(at: offset, of: path, flags: 0)
    }

    private init(at offset: Int64, of path: String, flags: Int32) throws(StoreError) {
        // Opened for each lock: locks of an open file description conflict with those of all others, of this process too.
        descriptor = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0o600)
        self.offset = offset
        self.path = path
        guard descriptor >= 0 else { throw StoreError(errno: errno, path: path, action: "cannot open") }
    }

    deinit {
        release()
        if descriptor >= 0 { close(descriptor) }
    }

    /// Tries to become the owner.
    ///
    /// - Returns: false when another process (or another object of this one) is the owner.
    /// - Throws: `StoreError`.
    func tryLock() throws(StoreError) -> Bool {
        let code = lock_byte(descriptor, offset, true)
        if code == EAGAIN || code == EACCES { return false }
        try take(code)
        return true
    }

    /// Becomes the owner, and blocks its thread until then.
    ///
    /// - Throws: `StoreError`.
    func lock() throws(StoreError) { try take(await_byte(descriptor, offset)) }

    private func take(_ code: Int32) throws(StoreError) {
        guard code == 0 else { throw StoreError(errno: code, path: path, action: "cannot lock") }
        isReleased.store(false, ordering: .releasing)
    }

    /// Lets another become the owner. Also done when the last reference goes.
    func release() {
        guard !isReleased.exchange(true, ordering: .acquiringAndReleasing) else { return }
        // Not left to close: a child forked by another thread shares the lock until its exec.
        _ = lock_byte(descriptor, offset, false)
    }

    private static func offset(of name: String) -> Int64 {
        // Without the sign; and the last offset has no room for a byte behind it.
        Int64(min(name.utf8.fnv1a >> 1, UInt64(Int64.max - 1)))
    }
}
