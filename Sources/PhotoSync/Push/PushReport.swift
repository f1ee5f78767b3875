internal import MediaTransport
internal import Synchronization

/// Counts what ends, and tells whoever watches, one call at a time.
final class PushReport: Sendable {
    private struct State {
        var result = PushResult()
        var progress = PushProgress()
    }

    private let state = Mutex(State())
    private let onItem: @Sendable (PushItem) -> Void
    private let onProgress: (@Sendable (PushProgress) -> Void)?

    init(onItem: @escaping @Sendable (PushItem) -> Void, onProgress: (@Sendable (PushProgress) -> Void)?) {
        self.onItem = onItem
        self.onProgress = onProgress
    }

    /// The tally so far.
    var result: PushResult { state.withLock { $0.result } }

    /// A file has ended.
    func end(_ item: PushItem) {
        state.withLock { state in
            state.result.counts[item.state, default: 0] += 1
            state.result.bytesSent += item.bytesSent
            onItem(item)
        }
    }

    /// Something has moved.
    func progress(_ change: (inout PushProgress) -> Void) {
        state.withLock { state in
            change(&state.progress)
            onProgress?(state.progress)
        }
    }
}
