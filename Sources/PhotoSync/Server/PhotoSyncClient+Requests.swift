internal import MediaTransport

extension PhotoSyncClient {
    /// Photos on one page, at most (contract section 5): more are clamped silently (trap 18).
    static let largestPage = 500
    /// Digests in one `/check`, at most (contract 3.7).
    static let largestCheck = 1000

    /// Longest listing that is read, in bytes: 500 photos are some 250 KB.
    private static let longestAnswer = 16 << 20

    /// A request with the user's key; the body is a JSON text.
    func request(
        _ method: HTTPMethod,
        _ path: String,
        body: String? = nil,
        headers: [HTTPHeader] = [],
        repeatability: Repeatability = .safe
    ) throws(PhotoSyncError) -> HTTPRequest {
        guard let authorization else {
            throw PhotoSyncError(.notLoggedIn, detail: "no API key for \(server)")
        }
        var request = openRequest(method, path, body: body, repeatability: repeatability)
        request.headers += headers
        request.authorization = authorization
        return request
    }

    /// A request without a key.
    func openRequest(
        _ method: HTTPMethod,
        _ path: String,
        body: String? = nil,
        repeatability: Repeatability = .safe
    ) -> HTTPRequest {
        var headers = [HTTPHeader("Accept", "application/json")]
        if body != nil { headers.append(HTTPHeader("Content-Type", "application/json")) }
        return HTTPRequest(
            method,
            server.resource(path),
            headers: headers,
            body: body.map { BytesBody($0) },
            repeatability: repeatability,
            verdict: ServerRefusal.verdict,
            timeouts: timeouts,
            destination: .memory(limit: Self.longestAnswer)
        )
    }

    /// Sends a request and waits for its answer, whatever its status.
    func answer(
        to request: HTTPRequest,
        control: TransferControl = TransferControl(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(PhotoSyncError) -> HTTPResponse {
        do {
            return try await http.execute(request, control: control, progress: progress)
        } catch {
            throw PhotoSyncError(error)
        }
    }

    /// Sends a request and waits for the JSON of a 200.
    func json(
        of request: HTTPRequest,
        call: ServerRefusal.Call = .ordinary,
        control: TransferControl = TransferControl(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(PhotoSyncError) -> [UInt8] {
        let response = try await answer(to: request, control: control, progress: progress)
        return try Self.json(in: response, to: call)
    }

    /// The JSON of a 200.
    static func json(in response: HTTPResponse, to call: ServerRefusal.Call) throws(PhotoSyncError) -> [UInt8] {
        guard response.status == 200 else { throw ServerRefusal(response).error(of: call) }
        guard response.head.mediaType == "application/json" else {
            let type = response.head.mediaType.map(ServerText.sentence) ?? "of no type"
            throw PhotoSyncError(.unexpectedAnswer, detail: "the answer is \(type), not JSON", httpStatus: 200)
        }
        return response.body
    }
}
