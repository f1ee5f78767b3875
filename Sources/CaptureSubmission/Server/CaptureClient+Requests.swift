internal import MediaTransport

extension CaptureClient {
    /// Longest answer that is read, in bytes: a capture with its evidence is a few KB.
    package static var longestAnswer: Int { 1 << 20 }

    /// A request with a JSON body, sent at most once.
    func posting(_ body: BytesBody, to path: String) -> HTTPRequest {
        HTTPRequest(
            .post,
            server.resource(path),
            headers: [HTTPHeader("Accept", "application/json"), HTTPHeader("Content-Type", "application/json")],
            body: body,
            repeatability: .atMostOnce,
            timeouts: timeouts,
            destination: .memory(limit: Self.longestAnswer)
        )
    }

    /// Sends what may change something, and waits for its answer, whatever its status.
    func answer(
        to request: HTTPRequest,
        control: TransferControl = TransferControl()
    ) async throws(CaptureError) -> HTTPResponse {
        do {
            return try await http.execute(request, control: control)
        } catch {
            throw CaptureError(submitting: error)
        }
    }

    /// Asks something, and waits for the answer, whatever its status. A signed question goes out once, and ends at once when
    /// it is stopped.
    func question(
        _ path: String,
        _ headers: [HTTPHeader] = [],
        repeatability: Repeatability = .resumable,
        control: TransferControl = TransferControl()
    ) async throws(CaptureError) -> HTTPResponse {
        let request = HTTPRequest(
            .get,
            server.resource(path),
            headers: [HTTPHeader("Accept", "application/json")] + headers,
            repeatability: repeatability,
            timeouts: timeouts,
            destination: .memory(limit: Self.longestAnswer)
        )
        do {
            return try await http.execute(request, control: control)
        } catch {
            throw CaptureError(reading: error)
        }
    }
}
