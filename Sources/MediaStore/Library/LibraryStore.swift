/// `library.sqlite`: what cannot be had again from a server: logins, and which local file is which photo. Safe for many
/// processes and tasks at once.
///
/// Every method that changes something returns only when the change has reached the disk (`synchronous=FULL`).
public final class LibraryStore: Sendable {
    /// What was put right while opening.
    public let warnings: [String]

    /// Opens, migrates and proves the store writable.
    ///
    /// - Throws: `StoreError`. A corrupt, empty or newer store is refused and left as it is.
    public init(in directory: DataDirectory) throws(StoreError) {
        throw StoreError(.other, path: directory.path)
    }

    // MARK: Logins

    /// The login of a server; nil when there is none.
    public func login(for server: String) throws(StoreError) -> Login? { nil }

    /// All logins, by server.
    public func logins() throws(StoreError) -> [Login] { [] }

    /// Keeps a login, in place of the server's earlier one.
    public func keep(_ login: Login) throws(StoreError) {}

    /// Forgets key and device id of a server. The device token stays, so that a later login is the same device again.
    ///
    /// - Returns: Whether there was a login.
    public func removeLogin(for server: String) throws(StoreError) -> Bool { false }

    /// The token under which this machine is registered at a server; a new one (`mediactl-` and a random UUID) is made and
    /// kept when there is none.
    ///
    /// - Parameter isRenewed: Makes a new one in place of the old, which belongs to another user (photosync contract 1.3).
    public func deviceToken(for server: String, isRenewed: Bool) throws(StoreError) -> String { "" }

    // MARK: Copies

    /// The copies of these photos on this machine, in no particular order.
    public func copies(ofPhotos ids: [String], server: String) throws(StoreError) -> [PhotoCopy] { [] }

    /// The copies with these digests of their own (64 lower-case hexadecimal characters).
    public func copies(withDigests digests: [String], server: String) throws(StoreError) -> [PhotoCopy] { [] }

    /// The copies that are at these paths, or will be.
    public func copies(at paths: [[UInt8]], server: String) throws(StoreError) -> [PhotoCopy] { [] }

    /// Calls `body` with all copies of a server's photos, by path, a block of up to 500 at a time.
    public func forEachBlockOfCopies(of server: String, _ body: ([PhotoCopy]) throws -> Void) throws {}

    /// Keeps copies, each in place of an earlier one of the same photo and path. Many callers at once share one commit.
    public func keep(_ copies: [PhotoCopy]) async throws(StoreError) {}

    /// Forgets that files are copies; the files stay.
    public func remove(_ copies: [PhotoCopy]) throws(StoreError) {}
}

/// How this machine is known to a photo server.
public struct Login: Sendable, Equatable, CustomStringConvertible {
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
}

/// A file of this machine that is a photo of a server.
public struct PhotoCopy: Sendable, Equatable {
    /// How far it has got.
    public enum State: String, Sendable, CaseIterable {
        /// The name is taken for a download that has not ended.
        case planned
        /// Downloaded and checked under the temporary name; about to get its own.
        case written
        /// Under its name.
        case present
    }

    /// Where a copy came from.
    public enum Source: String, Sendable, CaseIterable {
        /// The server's file.
        case downloaded
        /// The file that was sent, or was found to be on the server.
        case pushed
    }

    /// Address of the server.
    public var server: String
    /// The server's id of the photo.
    public var photoID: String
    /// Absolute path, as bytes.
    public var path: [UInt8]
    /// Name of the temporary file beside `path`, for one that is not `present`.
    public var temporaryName: String?
    /// How far it has got.
    public var state: State
    /// Where it came from.
    public var source: Source
    /// SHA-256 of the local bytes, 64 lower-case hexadecimal characters; nil before they are all there. A server rewrites
    /// files, so this may differ from `serverSHA256` (photosync contract section 6).
    public var sha256: String?
    /// SHA-256 that the server tells for the photo.
    public var serverSHA256: String
    /// The local file when it was last known to have these bytes.
    public var identity: FileIdentity?
    /// What the server said of the file when its download began, for resuming: `Last-Modified`, and the whole length.
    public var lastModified: String?
    /// Length of the server's file in bytes, as the download was told.
    public var totalBytes: Int64?

    /// Makes a copy.
    public init(
        server: String,
        photoID: String,
        path: [UInt8],
        temporaryName: String? = nil,
        state: State,
        source: Source,
        sha256: String? = nil,
        serverSHA256: String,
        identity: FileIdentity? = nil,
        lastModified: String? = nil,
        totalBytes: Int64? = nil
    ) {
        self.server = server
        self.photoID = photoID
        self.path = path
        self.temporaryName = temporaryName
        self.state = state
        self.source = source
        self.sha256 = sha256
        self.serverSHA256 = serverSHA256
        self.identity = identity
        self.lastModified = lastModified
        self.totalBytes = totalBytes
    }
}
