/// The one live owner of an upload: a lock among those of all uploads, in `locks` of the data directory. It ends with the
/// process, however it ends.
public final class UploadLock: Sendable {
    private let byte: LockedByte

    private init(_ byte: LockedByte) {
        self.byte = byte
    }

    /// Tries to become the owner.
    ///
    /// - Returns: nil when another process (or another object of this one) is the owner.
    /// - Throws: `StoreError` when the lock file cannot be made.
    public static func acquire(_ uploadID: String, in directory: DataDirectory) throws(StoreError) -> UploadLock? {
        try UploadID.check(uploadID, path: directory.path)
        let byte = try LockedByte(uploadID, of: directory.lockFile("uploads"))
        return try byte.tryLock() ? UploadLock(byte) : nil
    }

    /// Lets another become the owner. Also done when the last reference goes; a caller that must not lose the lock
    /// earlier keeps the object by calling this at the end.
    public func release() { byte.release() }
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
