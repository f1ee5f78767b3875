internal import Glibc
internal import MediaSystem

/// Why a file could not be written.
package struct FileWriteError: Error, Sendable, Equatable {
    /// The cause.
    package enum Kind: Sendable, Equatable {
        /// No space left, or the quota is used up.
        case full
        /// No permission, or a read-only file system.
        case denied
        /// The name is taken; nothing was replaced.
        case exists
        /// Another process is writing it.
        case busy
        /// Something stands there that is not to be written through: a symbolic link, a device, somebody else's file.
        case unsafe
        /// Anything else the system reports.
        case io(errno: Int32)
    }

    /// The cause.
    package var kind: Kind
    /// The file or directory, as bytes.
    package var path: [UInt8]

    /// Makes an error.
    package init(_ kind: Kind, path: [UInt8]) {
        self.kind = kind
        self.path = path
    }

    init(errno code: Int32, path: [UInt8]) {
        let kind: Kind =
            switch code {
            case ENOSPC, EDQUOT: .full
            case EACCES, EPERM, EROFS: .denied
            case EEXIST: .exists
            // What O_NOFOLLOW and O_DIRECTORY say of a link, or of a file in a directory's place.
            case ELOOP, ENOTDIR: .unsafe
            default: .io(errno: code)
            }
        self.init(kind, path: path)
    }

    /// The system's words, or ours.
    package var detail: String {
        switch kind {
        case .full: "no space left on the disk"
        case .denied: "not writable"
        case .exists: "the name is taken"
        case .busy: "another process is writing it"
        case .unsafe: "a link or something else that is no ordinary file or directory is in the way"
        case .io(let code): SystemError.words(code)
        }
    }
}
