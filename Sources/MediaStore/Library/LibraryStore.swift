/// `library.sqlite`: what cannot be had again from a server: logins, which local file is which photo, captures and devices,
/// tapes and their albums. Safe for many processes and tasks at once.
///
/// Every method that changes something returns only when the change has reached the disk (`synchronous=FULL`). The
/// methods without `async` block their thread for as long as another process holds the database, 30 seconds at most.
public final class LibraryStore: Sendable {
    /// What was put right while opening.
    public let warnings: [String]

    let connection: StoreConnection
    let commits: GroupCommit

    /// Opens, migrates and proves the store writable.
    ///
    /// - Throws: `StoreError`. A corrupt, empty or newer store is refused and left as it is.
    public convenience init(in directory: DataDirectory) throws(StoreError) {
        try self.init(in: directory, fileSystem: FileSystemKind.detect(directory), busyLimit: .seconds(30))
    }

    init(in directory: DataDirectory, fileSystem: FileSystemKind, busyLimit: Duration) throws(StoreError) {
        connection = try StoreConnection(.library, in: directory, fileSystem: fileSystem, busyLimit: busyLimit)
        commits = GroupCommit(connection)
        warnings = directory.warnings
    }
}
