internal import MediaCore
internal import MediaTransport

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
        body: String? = nil,
        repeatability: Repeatability = .safe
    ) -> HTTPRequest {
        var headers = [HTTPHeader("Accept", "application/json")]
        if body != nil { headers.append(HTTPHeader("Content-Type", "application/json")) }
        return HTTPRequest(
            method,
            base.resource(path, query: query),
            headers: headers,
            body: body.map { BytesBody($0) },
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
