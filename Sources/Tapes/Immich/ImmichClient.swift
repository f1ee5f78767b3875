internal import MediaCore
internal import MediaCrypto
internal import MediaTransport
internal import Outcomes
internal import Synchronization

/// Sends requests to one Immich server (tapes contract 6.1) and parses the responses. Stateless.
///
/// Every request contains the key and no other credentials: the server would prefer a session and ignore the key's
/// permissions. The key is sent only to the server's own origin; redirects are not followed.
struct ImmichClient: Sendable {
    /// Large, since version 2 may list the assets of an album in the response.
    private static let longestResponse = 64 << 20
    /// If `Retry-After` is longer, it is passed to the caller, and the client does not wait.
    private static let longestWait = Duration.seconds(5)

    let base: ServerURL
    let http: HTTPClient
    let authorization: Authorization?
    let timeouts: TransferTimeouts

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
            destination: .memory(limit: Self.longestResponse)
        )
    }

    /// Sends a request and parses its JSON; `.null` for a response without content.
    func json(_ request: HTTPRequest) async throws(AlbumError) -> JSONValue {
        let response: HTTPResponse
        do {
            response = try await http.execute(request)
        } catch {
            throw AlbumError(error)
        }
        guard (200..<300).contains(response.status) else { throw ImmichRefusal(response).error }
        if response.body.isEmpty { return .null }
        guard let value = JSONReader.value(of: response.body[...]) else {
            let type = response.head.mediaType.map(ServerText.sentence) ?? "of unknown type"
            throw AlbumError(.unreachable(retryAfter: nil), detail: "the response is \(type), not JSON")
        }
        return value
    }

    /// Within a command, a retry may take seconds but not minutes.
    private static func verdict(_ response: HTTPResponse) -> ResponseVerdict {
        (response.head.retryAfter ?? .zero) > longestWait ? .final : .byStatus
    }
}

extension AlbumError {
    init(_ error: TransportError) {
        self.init(
            error.kind == .cancelled ? .cancelled : .unreachable(retryAfter: error.head?.retryAfter),
            detail: ServerText.sentence(error.detail)
        )
    }

    /// The error for an ID that no Immich server creates: a caller error.
    static func malformed(_ id: String) -> AlbumError {
        AlbumError(.rejected(status: nil), detail: "not the ID of an album or asset: \(ServerText.sentence(id))")
    }
}

/// The owner and permissions of a key, as reported by the server (tapes contract 4.3, 6.1).
struct ImmichGrant: Sendable, Equatable {
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

    /// The ID of the key, not the key itself.
    var keyID: String
    /// Names of permissions; `all` grants every permission.
    var permissions: Set<String>
    /// The account; nil if the key lacks `user.read`.
    var accountID: String?
    var accountName: String?

    /// Parses the response of `GET /api-keys/me`.
    init?(key value: JSONValue) {
        guard let id = value.members?["id"]?.text, let names = value.members?["permissions"] else { return nil }
        keyID = id
        permissions = Set(names.elements.compactMap(\.text))
    }

    /// Adds the response of `GET /users/me`.
    mutating func add(user value: JSONValue) {
        accountID = value.members?["id"]?.text
        accountName = value.members?["name"]?.text
    }

    func allows(_ permission: Permission) -> Bool {
        permissions.contains("all") || permissions.contains(permission.rawValue)
    }

    func state(of level: AccessLevel) -> AlbumAccess.State {
        var needed: [Permission] = [.createAlbum, .addAsset]
        // One way to identify an asset is sufficient; the permission that also allows uploads is reported as missing.
        needed.append(allows(.readAsset) ? .readAsset : .upload)
        if level == .readWrite { needed += [.readAlbum, .deleteAlbum, .removeAsset] }
        let missing = needed.filter { !allows($0) }
        if missing.isEmpty { return .authorized }
        return missing.count == needed.count ? .denied : .limited(missing: missing.map(\.rawValue))
    }

    /// The fingerprint, which changes with the key, account and permissions (rule R10).
    func fingerprint(at address: String) -> String {
        [address, "key:" + keyID, accountID ?? "-", permissions.sorted().joined(separator: ",")].joined(separator: " ")
    }

    /// The fingerprint for a key that the server refuses. It changes with the key, but contains only a short digest of
    /// it.
    static func fingerprint(ofRefused key: Authorization?, at address: String) -> String {
        guard let text = key?.apiKey else { return address + " no key" }
        guard var hasher = try? SHA256Hasher() else { return address + " refused" }
        Array(text.utf8).withUnsafeBytes { hasher.update($0) }
        let digest = (try? hasher.snapshot().hex) ?? ""
        return "\(address) refused \(digest.prefix(16))"
    }
}

/// Facts about a server, queried once per run.
final class ImmichSession: Sendable {
    struct Knowledge {
        var majorVersion: Int?
        var grant: ImmichGrant?
        /// Extensions that the server accepts, lowercase, including the dot.
        var extensions: Set<String>?
        /// The account is full: nothing more is uploaded (tapes contract 6.4).
        var isFull = false
        /// Size of the smallest file that was refused as too large; files of this size or larger are not uploaded.
        var refusedByteCount: Int64?
    }

    private let knowledge = Mutex(Knowledge())

    var known: Knowledge { knowledge.withLock { $0 } }

    func learn(_ change: (inout Knowledge) -> Void) {
        knowledge.withLock { change(&$0) }
    }
}

/// An error response (tapes contract 6.4). Parsed leniently: version 3 sends a string, version 2 a string or an array
/// of strings, and a proxy sends HTML.
struct ImmichRefusal {
    let status: Int
    /// The server's message; may be empty.
    let sentence: String
    let retryAfter: Duration?
    /// Whether the port is for HTTPS.
    private let needsHTTPS: Bool
    private let correlation: String?
    private let mediaType: String?
    private let place: String?

    /// The response may have any status except success.
    init(_ response: HTTPResponse) {
        status = response.status
        retryAfter = response.head.retryAfter
        mediaType = response.head.mediaType.map(ServerText.sentence)
        place = response.head.value(of: "Location").map(ServerText.sentence)
        let members = JSONValue.object(in: response.body.prefix(BodyPrefix.limit)) ?? [:]
        sentence = ServerText.cut(Self.sentence(of: members))
        needsHTTPS = sentence.isEmpty && HTTPSPort.isRefusal(response.body)
        correlation = (response.head.value(of: "X-Correlation-ID") ?? members["correlationId"]?.text).map {
            String(ServerText.sentence($0).prefix(64))
        }
    }

    /// `message`, with the details of a failed validation.
    private static func sentence(of members: JSONObject) -> String {
        guard let message = members["message"] else { return "" }
        let texts = message.text.map { [$0] } ?? message.elements.compactMap(\.text)
        let details = members["errors"]?.elements.compactMap { $0.text ?? $0.members?["message"]?.text } ?? []
        return (texts + details).joined(separator: "; ")
    }

    var error: AlbumError { AlbumError(kind, detail: detail, httpStatus: status) }

    /// `.albumMissing` is used only for messages that state it (trap 2).
    private var kind: AlbumError.Kind {
        switch OutcomeTable.outcome(of: status, from: .immich, mark: sentence).code {
        case .albumNotFound: .albumMissing
        case .quotaExceeded: .quota
        case .unauthorized: .unauthorized
        case .forbidden: missingPermission.map { .insufficient([$0]) } ?? .unauthorized
        // The server never returns 404 for a missing album: this is a different or an outdated server. A proxy's limit
        // may be raised, and a lock is temporary.
        case .redirected, .notFound, .requestTimeout, .rateLimited, .serverError, .payloadTooLarge, .locked:
            .unreachable(retryAfter: retryAfter)
        default: .rejected(status: status)
        }
    }

    /// Whether the server itself refuses the request because of its content. Any other refusal may come from a proxy,
    /// whose settings may change.
    var isOfContent: Bool { [400, 415, 422].contains(status) && !sentence.isEmpty }

    private var missingPermission: String? {
        let prefix = "Missing required permission: "
        return sentence.hasPrefix(prefix) ? String(sentence.dropFirst(prefix.count)) : nil
    }

    var detail: String {
        if needsHTTPS { return HTTPSPort.detail }
        var text =
            sentence.isEmpty ? "status \(status), \(mediaType ?? "without content")" : KnownSecrets.masked(sentence)
        if (300..<400).contains(status), let place { text += ": redirected to \(place)" }
        if status == 404 { text += ": wrong address, or an outdated server" }
        return correlation.map { "\(text) (correlation ID \($0))" } ?? text
    }
}
