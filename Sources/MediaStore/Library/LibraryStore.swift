import Foundation
import GRDB

/// `library.sqlite`: data that cannot be fetched from a server again: logins, local copies of photos, captures and
/// devices, tapes and their albums. Safe for concurrent use by many processes and tasks.
///
/// Every method that changes something returns only when the change has reached the disk (`synchronous=FULL`). The
/// methods without `async` block their thread while another process has locked the database, for at most 30 seconds.
public final class LibraryStore: Sendable {
    /// Repairs made while opening.
    public let warnings: [String]
    /// Whether nothing can be stored: the data directory cannot be written, or has no space left.
    package let isReadOnly: Bool

    let connection: StoreConnection
    let commits: GroupCommit

    /// Opens and migrates the store, and verifies that it is writable.
    ///
    /// - Throws: `StoreError`. A corrupt, empty or newer store is refused and not changed.
    public convenience init(in directory: DataDirectory) throws(StoreError) {
        try self.init(in: directory, fileSystem: FileSystemKind.detect(directory), busyLimit: .seconds(30))
    }

    init(in directory: DataDirectory, fileSystem: FileSystemKind, busyLimit: Duration) throws(StoreError) {
        connection = try StoreConnection(.library, in: directory, fileSystem: fileSystem, busyLimit: busyLimit)
        commits = GroupCommit(connection)
        isReadOnly = false
        warnings = directory.warnings
    }

    /// Opens the store for commands that only read, even if the data directory cannot be written or has no space left.
    /// Refuses the same damaged or newer stores as `init(in:)`.
    package init(reading directory: DataDirectory) throws(StoreError) {
        do throws(StoreError) {
            let fileSystem = try FileSystemKind.detect(directory)
            let busyLimit = Duration.seconds(30)
            connection = try StoreConnection(
                .library,
                in: directory,
                fileSystem: fileSystem,
                busyLimit: busyLimit,
                access: .reading
            )
            isReadOnly = false
        } catch {
            guard error.kind == .notWritable || error.kind == .full else { throw error }
            connection = try StoreConnection.snapshot(.library, in: directory)
            isReadOnly = true
        }
        commits = GroupCommit(connection)
        warnings = directory.warnings
    }

    /// The rows that match a condition on a key and a server, for any of the keys, in no particular order.
    func values<Value: Storable>(
        where condition: String,
        _ keys: [some DatabaseValueConvertible & Hashable],
        _ server: String
    ) throws(StoreError) -> [Value] {
        try connection.readBeside { db in
            try Set(keys).flatMap { key in try Stored.values(db, where: condition, [key, server]) }
        }
    }
}

/// The login and registration of this machine on a photo server.
public struct Login: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// Address of the server.
    public var server: String
    /// The user's API key. Secret.
    public var apiKey: String
    /// This machine's ID on the server; nil if it is not registered.
    public var deviceID: String?
    /// The name under which this machine is registered.
    public var deviceName: String?
    /// The user's email address, if known.
    public var email: String?

    public init(
        server: String,
        apiKey: String,
        deviceID: String? = nil,
        deviceName: String? = nil,
        email: String? = nil
    ) {
        self.server = server
        self.apiKey = apiKey
        self.deviceID = deviceID
        self.deviceName = deviceName
        self.email = email
    }

    /// Without the key.
    public var description: String { "login at \(server)" }
    /// Without the key, which `dump` must not show either.
    public var customMirror: Mirror { Mirror(self, children: ["server": server]) }
}

extension Login: Storable {
    static let table = "logins"

    private enum CodingKeys: String, CodingKey {
        case server, email
        case apiKey = "api_key"
        case deviceID = "device_id"
        case deviceName = "device_name"
    }
}

extension LibraryStore {
    /// The login for a server; nil if there is none.
    public func login(for server: String) throws(StoreError) -> Login? {
        try connection.read { db in try Stored<Login>.fetchOne(db, key: server)?.value }
    }

    /// All logins, by server.
    public func logins() throws(StoreError) -> [Login] {
        try connection.read { db in try Stored<Login>.values(db, where: "true ORDER BY server") }
    }

    /// Stores a login, replacing the server's earlier one, whose key is erased from the disk.
    ///
    /// - Throws: `StoreError`; `.busy` even if the login is stored but the log could not be emptied.
    public func keep(_ login: Login) throws(StoreError) {
        try connection.write { db in try Stored(login).insert(db, onConflict: .replace) }
        try connection.truncateLog()
    }

    /// Removes the key and device ID for a server, and erases them from the disk. The device token is kept, so a later
    /// login is for the same device.
    ///
    /// - Returns: Whether there was a login.
    /// - Throws: `StoreError`; `.busy` even if the login is removed but the log could not be emptied.
    public func removeLogin(for server: String) throws(StoreError) -> Bool {
        let isRemoved = try connection.write { db in try Stored<Login>.deleteOne(db, key: server) }
        try connection.truncateLog()
        return isRemoved
    }

    /// The token under which this machine is registered with a server; a new one (`mediactl-` and a random UUID) is
    /// created and stored if there is none, or in place of one that belongs to another user (photosync contract 1.3).
    /// Not a secret like the key, but a machine that sends it is treated as this one.
    public func deviceToken(for server: String, isRenewed: Bool) throws(StoreError) -> String {
        let new = "mediactl-" + UUID().uuidString.lowercased()
        return try connection.write { db in
            let known = "SELECT token FROM device_tokens WHERE server = ?"
            if !isRenewed, let token = try String.fetchOne(db, sql: known, arguments: [server]) { return token }
            try db.execute(
                sql: "INSERT OR REPLACE INTO device_tokens (server, token) VALUES (?, ?)",
                arguments: [server, new]
            )
            return new
        }
    }
}
