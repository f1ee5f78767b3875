internal import MediaTransport
internal import Synchronization

/// Stands before the receiver of a download and lets only bytes of the photo through: never the page of an error, never
/// a range that was not asked for.
final class DownloadGate: ResponseReceiver {
    private struct State {
        var head: DownloadHead?
        var isOpen = false
        var refusal: [UInt8] = []
    }

    private let offset: Int64
    private let receiver: any ResponseReceiver
    private let state = Mutex(State())

    init(offset: Int64, receiver: any ResponseReceiver) {
        self.offset = offset
        self.receiver = receiver
    }

    /// The header fields that ask for the bytes from the offset on (RFC 9110 sections 13.1.5 and 14.2).
    func rangeHeaders(ifRange: String?) -> [HTTPHeader] {
        guard offset > 0 else { return [] }
        return [HTTPHeader("Range", "bytes=\(offset)-")] + (ifRange.map { [HTTPHeader("If-Range", $0)] } ?? [])
    }

    /// What the answer says of the photo; nil when it was refused.
    var head: DownloadHead? { state.withLock { $0.head } }

    /// An answer with the content that was kept from the receiver.
    func completed(_ response: HTTPResponse) -> HTTPResponse {
        var response = response
        response.body = state.withLock { $0.refusal }
        return response
    }

    func begin(_ head: HTTPResponseHead) throws {
        let isWanted = head.status == 200 || (offset > 0 && (head.status == 206 || head.status == 416))
        guard isWanted else { return }
        guard let found = DownloadHead(head), head.status != 206 || found.firstByte == offset else {
            throw PhotoSyncError(.unexpectedAnswer, detail: "not the range that was asked for", httpStatus: head.status)
        }
        let isOpen = head.status != 416
        state.withLock { state in
            state.head = found
            state.isOpen = isOpen
        }
        if isOpen { try receiver.begin(head) }
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws {
        let isOpen = state.withLock { state in
            if !state.isOpen { state.refusal += bytes.prefix(ServerRefusal.longestBody - state.refusal.count) }
            return state.isOpen
        }
        if isOpen { try receiver.receive(bytes) }
    }
}
