import Foundation
import GRDB

/// `library.sqlite`: what cannot be fetched again from a server: logins, which local file is which photo, captures and
/// devices, tapes and their albums. Safe for many processes and tasks at once.
///
/// Every method that changes something returns only when the change has reached the disk (`synchronous=FULL`). The
/// methods without `async` block their thread while another process has locked the database, 30 seconds at most.
public final class LibraryStore: Sendable {
    /// What was repaired while opening.
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

/// How this machine is known to a photo server.
public struct Login: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// Address of the server.
    public var server: String
    /// The user's API key. Secret.
    public var apiKey: String
    /// The server's id of this machine; nil when it is not registered.
    public var deviceID: String?
    /// The name it is registered under.
    public var deviceName: String?
    /// The user's e-mail address, where it is known.
    public var email: String?

    /// Makes a login.
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
    /// Without the key, so that `dump` does not show it either.
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
    /// The login of a server; nil when there is none.
    public func login(for server: String) throws(StoreError) -> Login? {
        try connection.read { db in try Stored<Login>.fetchOne(db, key: server)?.value }
    }

    /// All logins, by server.
    public func logins() throws(StoreError) -> [Login] {
        try connection.read { db in try Stored<Login>.values(db, where: "true ORDER BY server") }
    }

    /// Keeps a login, in place of the server's earlier one, whose key is removed from the disk.
    ///
    /// - Throws: `StoreError`; `.busy` also when the login is kept but the log could not be emptied.
    public func keep(_ login: Login) throws(StoreError) {
        try connection.write { db in try Stored(login).insert(db, onConflict: .replace) }
        try connection.truncateLog()
    }

    /// Forgets key and device id of a server, also on the disk. The device token stays, so that a later login is the same
    /// device again.
    ///
    /// - Returns: Whether there was a login.
    /// - Throws: `StoreError`; `.busy` also when the login is gone but the log could not be emptied.
    public func removeLogin(for server: String) throws(StoreError) -> Bool {
        let isRemoved = try connection.write { db in try Stored<Login>.deleteOne(db, key: server) }
        try connection.truncateLog()
        return isRemoved
    }

    /// The token under which this machine is registered with a server; a new one (`mediactl-` and a random UUID) is
    /// created and stored when there is none, or in place of one that belongs to another user (photosync contract 1.3).
    /// Not a secret as the key is, but a machine that sends it is taken for this one.
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
