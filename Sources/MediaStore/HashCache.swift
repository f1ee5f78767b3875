/// Remembers the SHA-256 of files, so that unchanged files are not read again (`hashes.sqlite` in the cache directory).
/// Losing it costs only time: a cache that cannot be opened, read or written behaves like an empty one.
///
/// A file counts as unchanged when device, inode, size, mtime and ctime are the same to the nanosecond. A digest is not
/// kept for a file that changed a moment ago, because a later change could leave the same times.
public final class HashCache: Sendable {
    /// Opens or creates the cache in a directory (0700, made if missing).
    public init(directory: String) {}

    /// The digest of a file, 64 lower-case hexadecimal characters; nil when it is not known.
    public func digest(of identity: FileIdentity) -> String? { nil }

    /// Keeps a digest. Returns at once; it is written together with others, at the latest by `flush`.
    public func keep(_ digest: String, for identity: FileIdentity) {}

    /// Writes what is waiting.
    public func flush() {}
}
