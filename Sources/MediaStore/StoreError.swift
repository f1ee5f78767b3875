import GRDB
import Glibc
import MediaSystem

/// Why the local store cannot be used. In every case the command exits with code 12.
public struct StoreError: Error, Sendable, CustomStringConvertible {
    /// The cause.
    public enum Kind: Sendable, Equatable {
        /// There is no such file.
        case missing
        /// A directory or file cannot be created, opened or written.
        case notWritable
        /// No space left.
        case full
        /// Not a database, an empty file, or a database that fails its integrity check. The file is not changed.
        case corrupt
        /// Written by a newer version.
        case newerVersion
        /// Another process has locked the store for longer than the busy limit.
        case busy
        /// On a network file system that does not provide the guarantees that the store requires.
        case networkFileSystem
        /// Owned by another user, writable by others, a link, or not a directory or regular file.
        case unsafe
        /// Any other SQLite error.
        case other
    }

    public var kind: Kind
    /// The file or directory.
    public var path: String
    /// A description, or the message from the system or from SQLite.
    public var detail: String

    package init(_ kind: Kind, path: String, detail: String = "") {
        self.kind = kind
        self.path = path
        self.detail = detail
    }

    public var description: String { "\(kind) (\(path)): \(detail)" }
}

extension StoreError {
    /// The error for a failed system call.
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

    /// Throws the error for a failed system call. The call is the last argument, so nothing changes `errno` before it
    /// is read.
    @discardableResult
    static func check(_ path: String, _ action: String, _ result: Int32) throws(StoreError) -> Int32 {
        guard result >= 0 else { throw StoreError(errno: errno, path: path, action: action) }
        return result
    }

    /// Converts an SQLite error. SQLite's message is kept, but not statements and their arguments, which
    /// may contain a token.
    init(_ error: any Error, path: String) {
        switch error {
        case let error as StoreError: self = error
        case let error as DatabaseError:
            let kind = Self.kind(of: error, path: path)
            let file = kind == .notWritable ? Self.unwritableFile(of: path) : nil
            self.init(kind, path: file ?? path, detail: Self.message(of: error))
        case let error as UnreadableRow: self.init(.corrupt, path: path, detail: error.detail)
        default: self.init(.other, path: path, detail: "\(type(of: error))")
        }
    }

    static func of<Value>(_ path: String, _ body: () throws -> Value) throws(StoreError) -> Value {
        do { return try body() } catch { throw StoreError(error, path: path) }
    }

    /// SQLite's message, or the name of its code.
    static func message(of error: DatabaseError) -> String { oneLine(error.message ?? "\(error.resultCode)") }

    /// Joins the lines of a message from SQLite.
    static func oneLine(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).joined(separator: "; ")
    }

    private static func kind(of error: DatabaseError, path: String) -> Kind {
        switch error.resultCode {
        case .SQLITE_FULL: .full
        // SQLite reports these codes for a memory map that cannot grow (-shm), or a file that cannot be created.
        case .SQLITE_IOERR: isDiskFull(path) ? .full : .other
        case .SQLITE_CANTOPEN: isDiskFull(path) ? .full : .notWritable
        case .SQLITE_READONLY, .SQLITE_PERM: .notWritable
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: .corrupt
        case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_PROTOCOL: .busy
        default: .other
        }
    }

    /// The first file of a database that exists but cannot be written, which SQLite does not report; nil if there is
    /// none.
    private static func unwritableFile(of path: String) -> String? {
        ([""] + StoreConnection.companions).map { path + $0 }.first { access($0, F_OK) == 0 && access($0, W_OK) != 0 }
    }

    /// Whether less space is free than SQLite's smallest write needs.
    private static func isDiskFull(_ path: String) -> Bool {
        let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        var status = statvfs()
        guard statvfs(directory, &status) == 0 else { return false }
        return FreeSpace.bytes(status) < 64 << 10
    }
}

/// Opens a file of the store, never through a link; a new file is created with mode 0600. The caller closes it.
func openFile(_ path: String, _ flags: Int32, _ action: String = "cannot open") throws(StoreError) -> Int32 {
    try StoreError.check(path, action, open(path, flags | O_NOFOLLOW | O_CLOEXEC, 0o600))
}

/// Reads `count` bytes of a file of the store, fewer only at its end.
func readBytes(_ descriptor: Int32, of path: String, at offset: Int64 = 0, count: Int) throws(StoreError) -> [UInt8] {
    do {
        return try FileBytes.read(descriptor, at: offset, count: count)
    } catch {
        throw StoreError(errno: error.code, path: path, action: "cannot read")
    }
}
