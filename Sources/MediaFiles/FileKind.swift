internal import Glibc
internal import MediaSystem

/// What a directory entry is.
package enum FileKind: Sendable {
    case directory
    case regular
    case link
    /// A FIFO, a socket, a device.
    case other

    init(mode: mode_t) {
        switch mode & S_IFMT {
        case S_IFDIR: self = .directory
        case S_IFREG: self = .regular
        case S_IFLNK: self = .link
        default: self = .other
        }
    }

    /// What a path leads to, links followed; nil when it leads nowhere.
    static func of(_ path: [UInt8]) -> FileKind? {
        var status = stat()
        guard !path.contains(0), stat(path.cString, &status) == 0 else { return nil }
        return FileKind(mode: status.st_mode)
    }
}
