/// The one live owner of an upload: a lock among those of all uploads, in `locks` of the data directory. It ends with the
/// process, however it ends.
package final class UploadLock: Sendable {
    private let byte: LockedByte

    private init(_ byte: LockedByte) {
        self.byte = byte
    }

    /// Tries to become the owner.
    ///
    /// - Returns: nil when another process (or another object of this one) is the owner.
    /// - Throws: `StoreError` when the lock file cannot be made.
    package static func acquire(_ uploadID: String, in directory: DataDirectory) throws(StoreError) -> UploadLock? {
        try UploadID.check(uploadID, path: directory.path)
        let byte = try LockedByte(uploadID, of: directory.lockFile("uploads"))
        return try byte.tryLock() ? UploadLock(byte) : nil
    }

    /// Lets another become the owner. Also done when the last reference goes; a caller that must not lose the lock
    /// earlier keeps the object by calling this at the end.
    package func release() { byte.release() }
}
