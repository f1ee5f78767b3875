internal import Foundation
internal import MediaCore
public import MediaStore
public import MediaTransport

/// Albums of an Immich server, major version 2 or later (tapes contract section 6).
///
/// What server, key and account are is asked once for each value made by `init`, and again after a refusal. Requests that
/// change no more when they come twice are tried again as the client's retry policy says; making an album and sending a
/// file are not.
public struct ImmichLibrary: AlbumLibrary {
    /// The base of every call: the user's address, with `/api` unless it ends with it.
    public let base: ServerURL
    /// Whether a key is known.
    public var hasKey: Bool { client.authorization != nil }
    let client: ImmichClient
    let session = ImmichSession()
    let store: LibraryStore
    /// Prefixes of local paths, as bytes, and what the server calls them (contract 6.3, 3).
    let pathMap: [(local: [UInt8], server: String)]
    /// Gets the path of a file that is being sent, the bytes sent and their total, on another thread.
    let progress: (@Sendable (_ path: [UInt8], _ sent: Int64, _ total: Int64) -> Void)?

    /// Makes a library.
    ///
    /// - Parameters:
    ///   - server: The user's address.
    ///   - http: Talks to it.
    ///   - key: API key; nil when none is known.
    ///   - timeouts: Silence limits.
    ///   - store: Keeps checksums, and knows which account was at the address.
    ///   - pathMap: Prefixes of local paths, as bytes, and what the server calls them.
    ///   - progress: Gets the path of a file that is being sent, the bytes sent and their total, on another thread.
    public init(
        server: ServerURL,
        http: HTTPClient,
        key: String?,
        timeouts: TransferTimeouts,
        store: LibraryStore,
        pathMap: [(local: [UInt8], server: String)] = [],
        progress: (@Sendable (_ path: [UInt8], _ sent: Int64, _ total: Int64) -> Void)? = nil
    ) {
        base = Self.base(of: server)
        client = ImmichClient(
            base: base,
            http: http,
            authorization: key.map { .apiKey($0, header: "x-api-key", for: server.origin) },
            timeouts: timeouts
        )
        self.store = store
        self.pathMap = pathMap
        self.progress = progress
    }

    /// The address with `/api`.
    static func base(of server: ServerURL) -> ServerURL {
        guard !server.basePath.hasSuffix("/api") else { return server }
        // What is appended cannot make an address wrong.
        return (try? ServerURL("\(server)/api", allowingPath: true)) ?? server
    }

    /// `immich`.
    public var kind: String { "immich" }

    /// The base of every call.
    public var address: String { "\(base)" }

    // MARK: Access

    /// Server, account and key (contract 4.2).
    ///
    /// - Throws: `AlbumError`: `.libraryChanged` when neither account nor key is known to be that of before.
    public func identity() async throws(AlbumError) -> AlbumLibraryIdentity {
        let grant = try await grant()
        let host = base.origin.scope
        var identity = AlbumLibraryIdentity(
            libraryID: "immich:\(address)#" + (grant.accountID ?? "key:" + grant.keyID),
            accountID: grant.accountID,
            keyID: grant.keyID,
            name: grant.accountName.map { "Immich at \(host), \($0)" } ?? "Immich at \(host)"
        )
        guard let record = try record(), record.libraryID != nil else { return identity }
        if let known = identity.knownID(record) {
            identity.libraryID = known
            identity.accountID = identity.accountID ?? record.accountID
        } else if identity.accountID == nil {
            throw AlbumError(.libraryChanged, detail: "another API key, which may not say whose it is (user.read)")
        }
        return identity
    }

    /// What the key may, as the server says.
    ///
    /// - Throws: `AlbumError` when the server cannot be asked; a key that it does not take is `.denied`.
    public func access(_ level: AccessLevel) async throws(AlbumError) -> AlbumAccess {
        guard hasKey else {
            return AlbumAccess(.notDetermined, fingerprint: ImmichGrant.fingerprint(ofRefused: nil, at: address))
        }
        do {
            let grant = try await grant()
            return AlbumAccess(
                grant.state(of: level),
                fingerprint: grant.fingerprint(at: address),
                forbidsNewAlbums: grant.state(of: .addOnly) != .authorized
            )
        } catch {
            switch error.kind {
            case .unauthorized, .insufficient:
                let fingerprint = ImmichGrant.fingerprint(ofRefused: client.authorization, at: address)
                return AlbumAccess(.denied, fingerprint: fingerprint, detail: error.detail)
            default: throw error
            }
        }
    }

    /// A key cannot be widened from here: this looks again, and says what the key lacks and where keys are made.
    ///
    /// - Throws: `AlbumError` when the server cannot be asked.
    public func requestAccess(_ level: AccessLevel) async throws(AlbumError) -> AlbumAccess {
        session.forgetGrant()
        var access = try await access(level)
        switch access.state {
        case .limited(let missing):
            access.detail = "the key lacks \(missing.joined(separator: ", ")); \(Self.whereKeysAreMade)"
        case .denied, .notDetermined:
            access.detail =
                access.detail.isEmpty ? Self.whereKeysAreMade : "\(access.detail); \(Self.whereKeysAreMade)"
        case .restricted, .authorized: break
        }
        return access
    }

    private static let whereKeysAreMade = "keys are made in the server's web page: Account Settings, API Keys"

    // MARK: Assets

    /// The server's names for originals, by checksum in one question for all; what it has not is sent (contract 6.3).
    ///
    /// - Parameters:
    ///   - clips: Of one tape.
    ///   - mayUpload: Whether what the server has not may be sent to it.
    /// - Returns: One for each clip. A file that cannot be read now, or is refused, keeps no other one back.
    /// - Throws: `AlbumError` of what concerns all: no answer to the question, a refused key, `.cancelled`.
    public func resolveAssets(
        _ clips: [ClipRecord],
        mayUpload: Bool
    ) async throws(AlbumError) -> [AssetResolution] {
        guard !clips.isEmpty else { return [] }
        var search = ImmichAssetSearch(self, grant: try await grant(), clips: clips)
        return try await search.run(mayUpload: mayUpload)
    }

    // MARK: Order

    /// Nothing: the server sorts by date, and the tape's order lives with us (trap 11).
    public func arrange(
        _ albumID: String,
        hint: [UInt8]?,
        tape: TapeRecord,
        clips: [ClipRecord]
    ) async throws(AlbumError) {}
}

extension ImmichLibrary {
    /// What the key may; asked once.
    func grant() async throws(AlbumError) -> ImmichGrant {
        if let grant = session.known.grant { return grant }
        guard hasKey else { throw AlbumError(.unauthorized(.addOnly), detail: "no API key is known") }
        _ = try await majorVersion()
        let answer = try await client.json(client.request(.get, "/api-keys/me"), needing: .addOnly)
        guard var grant = ImmichGrant(key: answer) else {
            throw AlbumError(.unreachable(retryAfter: nil), detail: "the answer describes no API key")
        }
        if grant.allows(.readUser) {
            do {
                grant.add(user: try await client.json(client.request(.get, "/users/me"), needing: .addOnly))
            } catch {
                // The account is of use, not needed (contract 4.2).
                guard case .insufficient = error.kind else { throw error }
            }
        }
        session.learn { $0.grant = grant }
        return grant
    }

    /// The server's major version, 2 at least; asked once.
    func majorVersion() async throws(AlbumError) -> Int {
        if let version = session.known.majorVersion { return version }
        let answer = try await client.json(client.request(.get, "/server/version"), needing: .addOnly)
        guard let major = answer.members?["major"]?.wholeNumber else {
            throw AlbumError(.unreachable(retryAfter: nil), detail: "the answer is not that of an Immich server")
        }
        guard major >= 2 else {
            throw AlbumError(.unreachable(retryAfter: nil), detail: "Immich \(major) is too old; 2 or later is needed")
        }
        session.learn { $0.majorVersion = Int(clamping: major) }
        return Int(clamping: major)
    }

    /// Who was here at the last success.
    private func record() throws(AlbumError) -> AlbumLibraryRecord? {
        do {
            return try store.albumLibrary(kind: kind, address: address)
        } catch {
            throw AlbumError(.libraryChanged, detail: "what was here before cannot be read: \(error)")
        }
    }

    /// Sends a request of which the key's permissions decide, and reads its JSON. After a refusal the next look at the
    /// permissions asks the server anew.
    func json(_ request: HTTPRequest, needing level: AccessLevel) async throws(AlbumError) -> JSONValue {
        do {
            return try await client.json(request, needing: level)
        } catch {
            noteRefusal(error)
            throw error
        }
    }

    /// Forgets what the key may when the server has shown that it is otherwise.
    func noteRefusal(_ error: AlbumError) {
        switch error.kind {
        case .unauthorized, .insufficient: session.forgetGrant()
        default: break
        }
    }
}
