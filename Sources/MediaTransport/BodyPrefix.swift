internal import Synchronization

/// Keeps the first bytes of a response, even if an error follows: as many as are searched for a server's message.
package final class BodyPrefix: ResponseReceiver {
    package static let limit = 65_536

    private let bytes = Mutex<[UInt8]>([])

    package init() {}

    package func begin(_ head: HTTPResponseHead) {}

    package func receive(_ bytes: UnsafeRawBufferPointer) {
        self.bytes.withLock { $0 += bytes.prefix(Self.limit - $0.count) }
    }

    /// The response with these bytes as its body.
    package func completed(_ response: HTTPResponse) -> HTTPResponse {
        var response = response
        response.body = bytes.withLock { $0 }
        return response
    }
}
