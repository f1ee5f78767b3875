internal import Glibc
public import MediaSystem
package import Outcomes

/// A local file, opened once and checked before sending.
public final class SourceFile: Sendable {
    /// The path as given, as bytes.
    public let path: [UInt8]
    /// Open for reading; closed when the last reference to this object is released.
    public let descriptor: Int32
    /// Result of `fstat` when it was opened.
    public let status: FileIdentity

    /// Opens a regular, readable, non-empty file by its path in any encoding. Never blocks on a FIFO or a device.
    public convenience init(path: [UInt8]) throws(SourceFileError) {
        try self.init(path: path, isRead: true)
    }

    /// Like `init(path:)`, for checking a file that is opened again before it is read completely.
    package convenience init(checking path: [UInt8]) throws(SourceFileError) {
        try self.init(path: path, isRead: false)
    }

    private init(path: [UInt8], isRead: Bool) throws(SourceFileError) {
        guard !path.contains(0) else { throw SourceFileError(.notFound, path: path) }
        // O_NONBLOCK: opening a FIFO without a writer would block. O_NOCTTY: a terminal must not become the controlling
        // terminal.
        let opened = open(path.cString, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard opened >= 0 else { throw SourceFileError(errno: errno, path: path) }
        do {
            status = try Self.check(opened, path: path)
            if isRead { try Self.prepareReading(opened, byteCount: status.size, path: path) }
        } catch {
            close(opened)
            throw error
        }
        self.path = path
        descriptor = opened
    }

    deinit {
        close(descriptor)
    }

    /// The current status of the path: `fstat` of the open file, or `stat` of the path if a different file has replaced
    /// it.
    ///
    /// Equal to `status` if nothing has changed. A removed file keeps its content, but its change time differs.
    public func currentStatus() throws(SourceFileError) -> FileIdentity {
        var status = stat()
        // While the file is open, no other file has its inode: this is the file, or the one that has replaced it.
        if stat(path.cString, &status) == 0 { return FileIdentity(status) }
        guard fstat(descriptor, &status) == 0 else { throw SourceFileError(errno: errno, path: path) }
        return FileIdentity(status)
    }

    /// The first bytes, at most `count`; fewer only at the end of the file.
    public func prefix(_ count: Int) throws(SourceFileError) -> [UInt8] {
        do {
            return try FileBytes.read(descriptor, at: 0, count: count)
        } catch {
            throw SourceFileError(errno: error.code, path: path)
        }
    }

    /// A descriptor of the file for the caller to close: the transport closes the descriptors passed to it.
    package func duplicateDescriptor() throws(SourceFileError) -> Int32 {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw SourceFileError(errno: errno, path: path) }
        return copy
    }

    /// Rejects all but non-empty regular files.
    private static func check(_ descriptor: Int32, path: [UInt8]) throws(SourceFileError) -> FileIdentity {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw SourceFileError(errno: errno, path: path) }
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFDIR: throw SourceFileError(.isDirectory, path: path)
        default: throw SourceFileError(.notRegular, path: path)
        }
        guard status.st_size > 0 else { throw SourceFileError(.empty, path: path) }
        return FileIdentity(status)
    }

    /// Linux's default read-ahead: a file up to this length is read in one step anyway.
    private static let readAheadCount: Int64 = 128 << 10

    private static func prepareReading(_ descriptor: Int32, byteCount: Int64, path: [UInt8]) throws(SourceFileError) {
        // `init` has set only one of the flags that this call changes: O_NONBLOCK.
        guard fcntl(descriptor, F_SETFL, 0) == 0 else { throw SourceFileError(errno: errno, path: path) }
        // Only a hint: without it, read-ahead is smaller.
        if byteCount > readAheadCount { _ = posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL) }
    }
}

/// The reason why a local file cannot be read.
public struct SourceFileError: Error, Sendable, Equatable {
    /// The cause.
    public enum Kind: Sendable, Equatable {
        /// There is no such file.
        case notFound
        /// There is no permission to read the file.
        case permissionDenied
        case isDirectory
        /// The file is a FIFO, a socket or a device.
        case notRegular
        /// The file has no bytes.
        case empty
        /// Reading failed.
        case io(errno: Int32)
    }

    public var kind: Kind
    public var path: [UInt8]

    package init(_ kind: Kind, path: [UInt8]) {
        self.kind = kind
        self.path = path
    }

    init(errno code: Int32, path: [UInt8]) {
        switch code {
        case ENOENT: self.init(.notFound, path: path)
        case EACCES, EPERM: self.init(.permissionDenied, path: path)
        // The errors from `open` for a socket, and for a device without a driver.
        case ENXIO, ENODEV: self.init(.notRegular, path: path)
        default: self.init(.io(errno: code), path: path)
        }
    }

    /// The outcome code for an operation that required the file.
    package var code: OutcomeCode {
        switch kind {
        case .notFound: .fileNotFound
        case .permissionDenied, .io: .fileUnreadable
        case .isDirectory: .isDirectory
        case .notRegular: .notRegularFile
        case .empty: .emptyFile
        }
    }

    /// The cause as text.
    package var reason: String {
        switch kind {
        case .notFound: "no such file"
        case .permissionDenied: "permission denied"
        case .isDirectory: "it is a directory"
        case .notRegular: "it is not a regular file"
        case .empty: "it is empty"
        case .io(let code): SystemError.words(code)
        }
    }

    /// The reason, unless the code implies it.
    package var detail: String { code == .fileUnreadable ? reason : "" }
}
