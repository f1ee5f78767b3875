internal import Glibc

/// Why a local file cannot be sent.
public struct SourceFileError: Error, Sendable, Equatable {
    /// The cause.
    public enum Kind: Sendable, Equatable {
        /// There is no such file.
        case notFound
        /// No permission to read it.
        case permissionDenied
        /// It is a directory.
        case isDirectory
        /// It is a FIFO, a socket or a device.
        case notRegular
        /// It has no bytes.
        case empty
        /// Reading failed.
        case io(errno: Int32)
    }

    /// The cause.
    public var kind: Kind
    /// The path as given.
    public var path: [UInt8]

    /// Makes an error.
    package init(_ kind: Kind, path: [UInt8]) {
        self.kind = kind
        self.path = path
    }

    init(errno code: Int32, path: [UInt8]) {
        switch code {
        case ENOENT: self.init(.notFound, path: path)
        case EACCES, EPERM: self.init(.permissionDenied, path: path)
        // What `open` says of a socket, or of a device without a driver.
        case ENXIO, ENODEV: self.init(.notRegular, path: path)
        default: self.init(.io(errno: code), path: path)
        }
    }
}
