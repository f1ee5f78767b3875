import GRDB
import Glibc

/// `index.sqlite`: what the photo servers said they have. It can be built anew from them, so a corrupt one is set aside
/// and replaced, with a warning. Safe for many processes and tasks at once.
///
/// A change is durable against the death of the process when a method returns, not against a power cut
/// (`synchronous=NORMAL`): the next run then repeats some pages.
///
/// The methods block their thread: for as long as their work takes, and for as long as another process is writing, 30
/// seconds at most; a task calls them on a thread of its own.
public final class SyncIndex: Sendable {
    /// What was put right while opening.
    public let warnings: [String]

    private let connection: StoreConnection
    /// Whether it goes with this object, and damage to it is nothing for the next start.
    private let isTemporary: Bool

    /// Opens or creates the index.
    ///
    /// - Throws: `StoreError`: `.newerVersion` for one of a later mediactl, which is left as it is.
    public convenience init(in directory: DataDirectory) throws(StoreError) {
        try self.init(in: directory, fileSystem: FileSystemKind.detect(directory), busyLimit: .seconds(30))
    }

    init(in directory: DataDirectory, fileSystem: FileSystemKind, busyLimit: Duration) throws(StoreError) {
        let opened = try IndexRepair(directory: directory, fileSystem: fileSystem, busyLimit: busyLimit).open()
        connection = opened.connection
        isTemporary = false
        warnings = directory.warnings + opened.warnings
    }

    private init(temporary connection: StoreConnection) {
        self.connection = connection
        isTemporary = true
        warnings = []
    }

    /// An empty index that is nobody else's, and of which nothing is left when it is given up or the process dies.
    ///
    /// - Throws: `StoreError`; its methods throw `.full` when the temporary directory (`TMPDIR`) has no room.
    public static func temporary() throws(StoreError) -> SyncIndex {
        SyncIndex(temporary: try StoreConnection(temporary: .index))
    }

    /// Reads in one transaction, beside one that is being written.
    func read<Value>(_ body: (Database) throws -> Value) throws(StoreError) -> Value {
        do {
            return try connection.readBeside(body)
        } catch {
            note(error)
            throw error
        }
    }

    /// Changes in one transaction.
    func write<Value>(_ body: (Database) throws -> Value) throws(StoreError) -> Value {
        do {
            return try connection.write(body)
        } catch {
            note(error)
            throw error
        }
    }

    private func note(_ error: StoreError) {
        if !isTemporary { IndexRepair.noteCorruption(error, path: connection.path) }
    }
}
