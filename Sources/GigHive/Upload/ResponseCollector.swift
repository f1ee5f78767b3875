internal import MediaCore
internal import MediaStore
internal import MediaSystem
internal import MediaTransport
internal import Synchronization

/// Writes the bytes of a response to the rescue log as they arrive, and keeps them for the parser.
///
/// A failing disk does not stop the transfer: the bytes in memory may still be stored.
final class ResponseCollector: ResponseReceiver {
    /// Larger than any response to an upload, with any surrounding whitespace.
    static let limit = 8 << 20

    private struct State {
        var body: [UInt8] = []
        var rescueError: StoreError?
    }

    private let rescue: RescueRecord
    private let state = Mutex(State())

    init(_ rescue: RescueRecord) {
        self.rescue = rescue
    }

    func begin(_ head: HTTPResponseHead) {
        state.withLock { state in
            state = State()
            attempt(&state) { () throws(StoreError) in try rescue.begin(status: head.status) }
        }
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws {
        let isTooLarge = state.withLock { state in
            let room = Self.limit - state.body.count
            let kept = UnsafeRawBufferPointer(rebasing: bytes.prefix(room))
            state.body.append(contentsOf: kept)
            attempt(&state) { () throws(StoreError) in try rescue.append(kept) }
            return bytes.count > room
        }
        if isTooLarge {
            throw ResponseTooLarge()
        }
    }

    /// Waits until the response is on disk, and returns its bytes.
    func finished() async -> (body: [UInt8], rescueError: StoreError?) {
        let (body, error) = state.withLock { ($0.body, $0.rescueError) }
        guard error == nil else { return (body, error) }
        do {
            try await rescue.synchronize()
            return (body, nil)
        } catch {
            return (body, error)
        }
    }

    private func attempt(_ state: inout State, _ write: () throws(StoreError) -> Void) {
        guard state.rescueError == nil else { return }
        do {
            try write()
        } catch {
            state.rescueError = error
        }
    }
}

struct ResponseTooLarge: Error {}

/// A response to a request that stores a file. It is on disk, in the rescue log, before it is parsed.
struct RescuedResponse: Sendable {
    indirect enum Outcome: Sendable {
        case complete(UploadResponse, HTTPResponse)
        /// A missing or truncated response, with the part that was received; nil if no response began.
        case failed(TransportError, UploadResponse?)
    }

    let outcome: Outcome
    /// Why the rescue log does not contain the whole response.
    let rescueError: StoreError?

    /// The content; nil if no response began.
    var response: UploadResponse? {
        switch outcome {
        case .complete(let response, _): response
        case .failed(_, let response): response
        }
    }

    var metrics: TransferMetrics {
        switch outcome {
        case .complete(_, let response): response.metrics
        case .failed(let failure, _): failure.metrics
        }
    }
}

extension Uploader {
    /// Sends a request once, and releases the upload's slot when its response has arrived.
    func execute(
        _ request: HTTPRequest,
        rescue: RescueRecord,
        control: TransferControl,
        progress: @escaping @Sendable (TransferProgress) -> Void
    ) async -> RescuedResponse {
        let collector = ResponseCollector(rescue)
        var request = request
        request.destination = .receiver(collector)
        let result = await Result(awaiting: { () async throws(TransportError) in
            try await client.http.execute(request, control: control, progress: progress)
        })
        permit?.end()
        let (body, rescueError) = await collector.finished()
        UploadFailpoint.responseInRescueFile.reach()
        let outcome: RescuedResponse.Outcome =
            switch result {
            case .success(let response):
                .complete(UploadResponse.parse(status: response.status, body: body, isComplete: true), response)
            case .failure(let failure):
                .failed(failure, failure.head.map { UploadResponse.parse(status: $0.status, body: body) })
            }
        return RescuedResponse(outcome: outcome, rescueError: rescueError)
    }
}
