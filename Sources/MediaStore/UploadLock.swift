import CFileSystem
import Glibc
import Synchronization

/// The one live owner of an upload: a lock on one byte of a file that all uploads share, in `locks` of the data
/// directory. It ends with the process, however it ends.
///
/// The byte stands at the hash of the id, because making and removing a file for each id costs more than sending a small
/// file. Two ids of one hash (63 bits) would only make one upload wait for another.
public final class UploadLock: Sendable {
    private let descriptor: Int32
    private let offset: Int64
    private let isReleased = Atomic(false)

    private init(_ descriptor: Int32, _ offset: Int64) {
        self.descriptor = descriptor
        self.offset = offset
    }

    deinit {
        release()
        close(descriptor)
    }

    /// Tries to become the owner.
    ///
    /// - Returns: nil when another process (or another object of this one) is the owner.
    /// - Throws: `StoreError` when the lock file cannot be made.
    public static func acquire(_ uploadID: String, in directory: DataDirectory) throws(StoreError) -> UploadLock? {
        try UploadID.check(uploadID, path: directory.path)
        let path = directory.lockFile("uploads")
        // Opened for each lock: locks of an open file description conflict with those of all others, of this process too.
        let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreError(errno: errno, path: path, action: "cannot open") }
        let lock = UploadLock(descriptor, offset(of: uploadID))
        // The umask may have taken the owner's own rights away.
        if let status = FileStatus(descriptor: descriptor), status.permissions != 0o600 {
            fchmod(descriptor, 0o600)
        }
        let code = lock_byte(descriptor, lock.offset, true)
        guard code == 0 else {
            lock.isReleased.store(true, ordering: .relaxed)
            if code == EAGAIN || code == EACCES { return nil }
            throw StoreError(errno: code, path: path, action: "cannot lock")
        }
        return lock
    }

    /// Lets another become the owner. Also done when the last reference goes; a caller that must not lose the lock
    /// earlier keeps the object by calling this at the end.
    public func release() {
        guard !isReleased.exchange(true, ordering: .acquiringAndReleasing) else { return }
        // Not left to close: a child forked by another thread shares the lock until its exec.
        _ = lock_byte(descriptor, offset, false)
    }

    /// FNV-1a of 64 bits, without the sign.
    private static func offset(of uploadID: String) -> Int64 {
        let hash = uploadID.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        // The last offset has no room for a byte behind it.
        return Int64(min(hash >> 1, UInt64(Int64.max - 1)))
    }
}

/// Ids of uploads become parts of file names.
enum UploadID {
    /// - Throws: `StoreError` for a text that is not a plain name of at most 40 letters, digits and hyphens.
    static func check(_ text: String, path: String) throws(StoreError) {
        let isPlain = text.utf8.allSatisfy { byte in
            (0x61...0x7a).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2d
        }
        guard !text.isEmpty, text.utf8.count <= 40, isPlain else {
            throw StoreError(.other, path: path, detail: "\"\(text)\" is not an upload id")
        }
    }
}
