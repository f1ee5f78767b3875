/// Why the local store cannot be used. Every case ends a command with exit code 12.
public struct StoreError: Error, Sendable, CustomStringConvertible {
    /// The cause.
    public enum Kind: Sendable, Equatable {
        /// A directory or file cannot be created, opened or written.
        case notWritable
        /// No space left.
        case full
        /// Not a database, an empty file, or one that fails its integrity check. It is left as it is.
        case corrupt
        /// Written by a newer version.
        case newerVersion
        /// Another process has held it for longer than the busy limit.
        case busy
        /// On a network file system that does not keep the promises the store needs.
        case networkFileSystem
        /// Owned by another user, or not a directory or regular file.
        case unsafe
        /// Anything else SQLite reports.
        case other
    }

    /// The cause.
    public var kind: Kind
    /// The file or directory.
    public var path: String
    /// The system's or SQLite's words.
    public var detail: String

    /// Makes an error.
    package init(_ kind: Kind, path: String, detail: String = "") {
        self.kind = kind
        self.path = path
        self.detail = detail
    }

    /// Cause, path and detail, for logs.
    public var description: String { "\(kind) (\(path)): \(detail)" }
}
