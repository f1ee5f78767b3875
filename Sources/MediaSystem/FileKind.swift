internal import Glibc

package enum FileKind: Sendable {
    case directory
    case regular
    case link
    /// A FIFO, a socket, or a device.
    case other

    package init(mode: UInt32) {
        switch mode & S_IFMT {
        case S_IFDIR: self = .directory
        case S_IFREG: self = .regular
        case S_IFLNK: self = .link
        default: self = .other
        }
    }

    /// The kind of a path, following links; nil for a missing path.
    package static func of(_ path: [UInt8]) -> FileKind? {
        var status = stat()
        guard !path.contains(0), stat(path.cString, &status) == 0 else { return nil }
        return FileKind(mode: status.st_mode)
    }
}
