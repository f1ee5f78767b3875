internal import Synchronization

/// Counts what the parts of one upload send.
final class TransferTally: Sendable {
    private struct State {
        var offsets: [Int: Int64] = [:]
        var bytesSent: Int64 = 0
    }

    private let state = Mutex(State())

    /// Body bytes that went over the wire in this call, those sent again included.
    var bytesSent: Int64 { state.withLock { $0.bytesSent } }

    func add(bytesSent count: Int64) {
        state.withLock { $0.bytesSent += count }
    }

    /// Notes how far a part has got.
    ///
    /// - Returns: How far all parts have got together.
    @discardableResult
    func reached(_ offset: Int64, in part: Int) -> Int64 {
        state.withLock { state in
            state.offsets[part] = offset
            return state.offsets.values.reduce(0, +)
        }
    }

    func reset(_ part: Int) {
        state.withLock { $0.offsets[part] = 0 }
    }
}
