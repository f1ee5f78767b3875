import GRDB
import Glibc
import MediaSystem

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
        /// Another process has locked it for longer than the busy limit.
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
    /// The message of the system or of SQLite.
    public var detail: String

    package init(_ kind: Kind, path: String, detail: String = "") {
        self.kind = kind
        self.path = path
        self.detail = detail
    }

    /// Cause, path and detail, for logs.
    public var description: String { "\(kind) (\(path)): \(detail)" }
}

extension StoreError {
    /// What a failed system call means for the store.
    init(errno code: Int32, path: String, action: String) {
        let kind: Kind =
            switch code {
            case ENOSPC, EDQUOT: .full
            case ELOOP, ENOTDIR: .unsafe
            case EIO: .other
            default: .notWritable
            }
        self.init(kind, path: path, detail: "\(action): \(SystemError.words(code))")
    }

    /// Throws what a failed system call means. The call is the last argument: nothing may come between it and `errno`.
    @discardableResult
    static func check(_ path: String, _ action: String, _ result: Int32) throws(StoreError) -> Int32 {
        guard result >= 0 else { throw StoreError(errno: errno, path: path, action: action) }
        return result
    }

    /// What an error of SQLite means for the store. SQLite's message is kept; statements and their arguments, which may
    /// hold a token, are not.
    init(_ error: any Error, path: String) {
        switch error {
        case let error as StoreError: self = error
        case let error as DatabaseError:
            self.init(Self.kind(of: error, path: path), path: path, detail: Self.message(of: error))
        case let error as UnreadableRow: self.init(.corrupt, path: path, detail: error.detail)
        default: self.init(.other, path: path, detail: "\(type(of: error))")
        }
    }

    /// SQLite's message, or the name of its code.
    static func message(of error: DatabaseError) -> String { oneLine(error.message ?? "\(error.resultCode)") }

    /// A text of SQLite, which may have several lines.
    static func oneLine(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).joined(separator: "; ")
    }

    private static func kind(of error: DatabaseError, path: String) -> Kind {
        switch error.resultCode {
        case .SQLITE_FULL: .full
        // SQLite reports a memory map that cannot grow (-shm) or a file that cannot be made as these.
        case .SQLITE_IOERR: isDiskFull(path) ? .full : .other
        case .SQLITE_CANTOPEN: isDiskFull(path) ? .full : .notWritable
        case .SQLITE_READONLY, .SQLITE_PERM: .notWritable
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: .corrupt
        case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_PROTOCOL: .busy
        default: .other
        }
    }

    /// Whether less is free than the smallest thing SQLite would write.
    private static func isDiskFull(_ path: String) -> Bool {
        let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        var status = statvfs()
        guard statvfs(directory, &status) == 0 else { return false }
        return FreeSpace.bytes(status) < 64 << 10
    }
}

/// Opens a file of the store, never through a link; one that is created is 0600. The caller closes it.
func openFile(_ path: String, _ flags: Int32, _ action: String = "cannot open") throws(StoreError) -> Int32 {
    try StoreError.check(path, action, open(path, flags | O_NOFOLLOW | O_CLOEXEC, 0o600))
}
