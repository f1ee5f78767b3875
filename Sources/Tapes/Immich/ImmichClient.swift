internal import MediaCore
internal import MediaCrypto
public import MediaTransport
internal import Outcomes
internal import Synchronization

/// Requests to one Immich server (tapes contract 6.1), and what their answers say. No state.
///
/// Every call carries the key and nothing else that proves who we are: beside a session the server would use that one, and
/// the key's permissions would not count. The key goes to the server's own origin only; redirects are not followed.
struct ImmichClient: Sendable {
    /// Version 2 may list the assets of an album with it.
    private static let longestAnswer = 64 << 20
    /// A longer `Retry-After` is handed on instead of being waited for.
    private static let patience = Duration.seconds(5)

    let base: ServerURL
    let http: HTTPClient
    let authorization: Authorization?
    let timeouts: TransferTimeouts

    /// A request for JSON.
    func request(
        _ method: HTTPMethod,
        _ path: String,
        query: [(name: String, value: String)] = [],
        body: JSONObject? = nil,
        repeatability: Repeatability = .safe
    ) -> HTTPRequest {
        var headers = [HTTPHeader("Accept", "application/json")]
        if body != nil { headers.append(HTTPHeader("Content-Type", "application/json")) }
        return HTTPRequest(
            method,
            base.resource(path, query: query),
            headers: headers,
            body: body.map { BytesBody($0.json()) },
            authorization: authorization,
            repeatability: repeatability,
            verdict: Self.verdict,
            timeouts: timeouts,
            destination: .memory(limit: Self.longestAnswer)
        )
    }

    /// Sends a request and reads its JSON; `.null` for an answer without content.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - level: What is said to be missing when the key is refused.
    /// - Returns: The value.
    /// - Throws: `AlbumError`.
    func json(_ request: HTTPRequest, needing level: AccessLevel) async throws(AlbumError) -> JSONValue {
        let response: HTTPResponse
        do {
            response = try await http.execute(request)
        } catch {
            throw AlbumError(error)
        }
        return try json(in: response, needing: level)
    }

    /// The JSON of an answer of success.
    func json(in response: HTTPResponse, needing level: AccessLevel) throws(AlbumError) -> JSONValue {
        guard (200..<300).contains(response.status) else { throw refusal(response).error(needing: level) }
        if response.body.isEmpty { return .null }
        guard let value = JSONReader.value(of: response.body[...]) else {
            let type = response.head.mediaType.map(ServerText.sentence) ?? "of no type"
            throw AlbumError(.unreachable(retryAfter: nil), detail: "the answer is \(type), not JSON")
        }
        return value
    }

    /// What an answer without success says.
    func refusal(_ response: HTTPResponse) -> ImmichRefusal {
        ImmichRefusal(response)
    }

    /// Trying again within a command is worth a moment, not minutes.
    private static func verdict(_ response: HTTPResponse) -> AnswerVerdict {
        (response.head.retryAfter ?? .zero) > patience ? .final : .byStatus
    }
}

extension AlbumError {
    /// Why there is no answer.
    init(_ error: TransportError) {
        self.init(
            error.kind == .cancelled ? .cancelled : .unreachable(retryAfter: error.head?.retryAfter),
            detail: ServerText.sentence(error.detail)
        )
    }

    /// An id that no server of this kind makes: a mistake of the caller's.
    static func malformed(_ id: String) -> AlbumError {
        AlbumError(.rejected(status: nil), detail: "no id of an album or asset: \(ServerText.sentence(id))")
    }
}

extension ImmichLibrary {
    /// Asks the host of an address where its server's base is (contract 6.1): `/.well-known/immich`. Without a key.
    ///
    /// - Parameters:
    ///   - server: The user's address. One with a path says itself where the server is, and nobody is asked.
    ///   - http: Talks to it.
    ///   - timeouts: Silence limits.
    /// - Returns: The base; the address itself where there is no answer to the point. A base on another host is none:
    ///   the key belongs to the host that the user named.
    public static func discover(
        _ server: ServerURL,
        http: HTTPClient,
        timeouts: TransferTimeouts
    ) async -> ServerURL {
        guard server.basePath.isEmpty else { return server }
        let request = HTTPRequest(
            .get,
            server.resource("/.well-known/immich"),
            repeatability: .safe,
            timeouts: timeouts,
            destination: .memory(limit: ImmichRefusal.longestBody)
        )
        guard let response = try? await http.execute(request), response.status == 200,
            let endpoint = JSONValue.object(in: response.body[...])?["api"]?.members?["endpoint"]?.text
        else { return server }
        let text = endpoint.hasPrefix("/") ? server.origin.description + endpoint : endpoint
        guard let base = try? ServerURL(text, allowingPath: true), base.origin == server.origin else { return server }
        return base
    }
}

/// What the server says of a key: whose it is, and what it may (tapes contract 4.3, 6.1).
struct ImmichGrant: Sendable, Equatable {
    /// One thing that a key may do, by the server's name.
    enum Permission: String {
        case createAlbum = "album.create"
        case readAlbum = "album.read"
        case deleteAlbum = "album.delete"
        case addAsset = "albumAsset.create"
        case removeAsset = "albumAsset.delete"
        case upload = "asset.upload"
        case readAsset = "asset.read"
        case readUser = "user.read"
    }

    /// Id of the key; not the key.
    var keyID: String
    /// Names of permissions; `all` stands for all of them.
    var permissions: Set<String>
    /// The account; nil when the key may not read its user.
    var accountID: String?
    /// What the account is called.
    var accountName: String?

    /// Reads the answer to `GET /api-keys/me`.
    init?(key value: JSONValue) {
        guard let id = value.members?["id"]?.text, let names = value.members?["permissions"] else { return nil }
        keyID = id
        permissions = Set(names.elements.compactMap(\.text))
    }

    /// Adds what `GET /users/me` says.
    mutating func add(user value: JSONValue) {
        accountID = value.members?["id"]?.text
        accountName = value.members?["name"]?.text
    }

    /// Whether something may be done.
    func allows(_ permission: Permission) -> Bool {
        permissions.contains("all") || permissions.contains(permission.rawValue)
    }

    /// How much of a level is allowed.
    func state(of level: AccessLevel) -> AlbumAccess.State {
        var needed: [Permission] = [.createAlbum, .addAsset]
        // One way to name an asset is enough; the one that can also send is asked for.
        needed.append(allows(.readAsset) ? .readAsset : .upload)
        if level == .readWrite { needed += [.readAlbum, .deleteAlbum, .removeAsset] }
        let missing = needed.filter { !allows($0) }
        if missing.isEmpty { return .authorized }
        return missing.count == needed.count ? .denied : .limited(missing: missing.map(\.rawValue))
    }

    /// Changes when key, account or permissions do (rule R10).
    func fingerprint(at address: String) -> String {
        [address, "key:" + keyID, accountID ?? "-", permissions.sorted().joined(separator: ",")].joined(separator: " ")
    }

    /// Of a key that the server does not take: another key has another one. Holds no more of the key than a digest says.
    static func fingerprint(ofRefused key: Authorization?, at address: String) -> String {
        guard let text = key?.apiKey else { return address + " no key" }
        guard var hasher = try? SHA256Hasher() else { return address + " refused" }
        Array(text.utf8).withUnsafeBytes { hasher.update($0) }
        let digest = (try? hasher.snapshot().hex) ?? ""
        return "\(address) refused \(digest.prefix(16))"
    }
}

/// What was learnt of a server in this run, so that it is asked once.
final class ImmichSession: Sendable {
    /// What is known.
    struct Knowledge {
        /// Major version.
        var majorVersion: Int?
        /// What the key may.
        var grant: ImmichGrant?
        /// Extensions that the server takes, lower case, with their dot.
        var extensions: Set<String>?
        /// The account is full: nothing is sent any more (tapes contract 6.4).
        var isFull = false
    }

    private let knowledge = Mutex(Knowledge())

    /// What is known now.
    var known: Knowledge { knowledge.withLock { $0 } }

    /// Adds to it.
    func learn(_ change: (inout Knowledge) -> Void) {
        knowledge.withLock { change(&$0) }
    }

    /// Forgets what the key may: the server has shown that it is otherwise, or the user asks for a new look.
    func forgetGrant() {
        learn { $0.grant = nil }
    }
}

/// What an answer without success says (tapes contract 6.4). Read leniently: version 3 sends a text, version 2 a text or an
/// array of texts, and what stands before the server sends HTML.
struct ImmichRefusal {
    /// Bytes of an answer that are looked at for its sentence.
    static let longestBody = 65_536

    /// The status code.
    let status: Int
    /// The server's sentence; empty when there is none.
    let sentence: String
    private let retryAfter: Duration?
    private let correlation: String?
    private let mediaType: String?
    private let place: String?

    /// Reads a response of any status but success.
    init(_ response: HTTPResponse) {
        status = response.status
        retryAfter = response.head.retryAfter
        mediaType = response.head.mediaType.map(ServerText.sentence)
        place = response.head.value(of: "Location").map(ServerText.sentence)
        let members = JSONValue.object(in: response.body.prefix(Self.longestBody)) ?? [:]
        sentence = ServerText.cut(Self.sentence(of: members))
        correlation = (response.head.value(of: "X-Correlation-ID") ?? members["correlationId"]?.text).map {
            String(ServerText.sentence($0).prefix(64))
        }
    }

    /// `message`, with what a failed validation adds to it.
    private static func sentence(of members: JSONObject) -> String {
        guard let message = members["message"] else { return "" }
        let texts = message.text.map { [$0] } ?? message.elements.compactMap(\.text)
        let details = members["errors"]?.elements.compactMap { $0.text ?? $0.members?["message"]?.text } ?? []
        return (texts + details).joined(separator: "; ")
    }

    /// The refusal as an error.
    ///
    /// - Parameter level: What was needed.
    /// - Returns: The error; `.albumMissing` only for the sentences that say so (trap 2).
    func error(needing level: AccessLevel) -> AlbumError {
        AlbumError(kind(level), detail: detail, httpStatus: status)
    }

    private func kind(_ level: AccessLevel) -> AlbumError.Kind {
        switch OutcomeTable.outcome(of: status, from: .immich, mark: sentence).code {
        case .albumNotFound: .albumMissing
        case .quotaExceeded: .quota
        case .unauthorized: .unauthorized(level)
        case .forbidden: missingPermission.map { .insufficient([$0]) } ?? .unauthorized(level)
        // The server has no 404 for what is missing: this is another server, or one that is too old.
        case .redirected, .notFound, .requestTimeout, .rateLimited, .serverError:
            .unreachable(retryAfter: retryAfter)
        default: .rejected(status: status)
        }
    }

    private var missingPermission: String? {
        let prefix = "Missing required permission: "
        return sentence.hasPrefix(prefix) ? String(sentence.dropFirst(prefix.count)) : nil
    }

    /// For people and logs.
    var detail: String {
        var text =
            sentence.isEmpty ? "status \(status), \(mediaType ?? "without content")" : KnownSecrets.masked(sentence)
        if (300..<400).contains(status), let place { text += ": redirected to \(place)" }
        if status == 404 { text += ": wrong address, or too old" }
        return correlation.map { "\(text) (correlation id \($0))" } ?? text
    }
}
