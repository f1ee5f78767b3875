import Foundation
import GRDB
import Synchronization

/// `tokens.sqlite`: delete tokens and the upload journal. Safe for many processes and tasks at once.
///
/// Every method that changes something returns only when the change has reached the disk (`synchronous=FULL`). Times
/// are kept to the millisecond. The methods without `async` block their thread for as long as another process holds
/// the database, 30 seconds at most.
public final class TokenStore: Sendable {
    /// What was put right while opening.
    public let warnings: [String]
    /// Whether nothing can be stored: the data directory cannot be written, or has no space left.
    package let isReadOnly: Bool

    let directory: DataDirectory
    let connection: StoreConnection
    let commits: GroupCommit
    /// The removals of this command; nil when each is complete by itself.
    let removals = Mutex<RemovalGroup?>(nil)

    /// Opens, migrates and proves the store writable.
    ///
    /// - Throws: `StoreError`. A corrupt, empty or newer store is refused and left as it is.
    public convenience init(in directory: DataDirectory) throws(StoreError) {
        try self.init(in: directory, fileSystem: FileSystemKind.detect(directory), busyLimit: .seconds(30))
    }

    init(in directory: DataDirectory, fileSystem: FileSystemKind, busyLimit: Duration) throws(StoreError) {
        let salvage = try LogSalvage(in: directory)
        connection = try StoreConnection(.tokens, in: directory, fileSystem: fileSystem, busyLimit: busyLimit)
        commits = GroupCommit(connection)
        isReadOnly = false
        self.directory = directory
        warnings = try directory.warnings + (salvage?.restore(to: connection) ?? [])
    }

    /// Opens the store for commands that only read: also if the data directory cannot be written or has no space left.
    /// Uploads in the write-ahead log are there as well.
    ///
    /// - Throws: `StoreError`. Exactly the stores that `init(in:)` refuses as damaged or newer are refused here.
    package init(reading directory: DataDirectory) throws(StoreError) {
        let (connection, warnings) = try Self.openForReading(directory)
        self.directory = directory
        isReadOnly = connection == nil
        if let connection {
            self.connection = connection
        } else {
            self.connection = try StoreConnection.snapshot(.tokens, in: directory)
        }
        commits = GroupCommit(self.connection)
        self.warnings = directory.warnings + warnings
    }

    /// Whether the store never had a row, also because it was created again after a loss.
    ///
    /// - Throws: `StoreError`.
    package func isEmpty() throws(StoreError) -> Bool { try connection.read(Self.isEmpty) }

    /// A deleted token leaves a tombstone.
    static func isEmpty(_ db: Database) throws -> Bool {
        let tables = ["tokens", "uploads", "tombstones"].map { "EXISTS (SELECT 1 FROM \($0))" }
        return try Bool.fetchOne(db, sql: "SELECT NOT (\(tables.joined(separator: " OR ")))") ?? false
    }

    /// - Returns: No connection where nothing can be written.
    private static func openForReading(
        _ directory: DataDirectory
    ) throws(StoreError) -> (connection: StoreConnection?, warnings: [String]) {
        do throws(StoreError) {
            let salvage = try LogSalvage(in: directory)
            // With something to salvage, the store is written even by a reading command.
            let connection = try StoreConnection(
                .tokens,
                in: directory,
                fileSystem: FileSystemKind.detect(directory),
                busyLimit: .seconds(30),
                access: salvage == nil ? .reading : .writing
            )
            return (connection, try salvage?.restore(to: connection) ?? [])
        } catch {
            guard error.kind == .notWritable || error.kind == .full else { throw error }
            return (nil, [])
        }
    }
}
