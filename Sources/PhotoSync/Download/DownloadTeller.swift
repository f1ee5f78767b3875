internal import Synchronization

/// Tells what happens to whoever called, one call at a time, and keeps the tally.
final class DownloadTeller: Sendable {
    private struct State {
        var result = DownloadResult()
        var progress = DownloadProgress()
    }

    private let state = Mutex(State())
    private let onItem: @Sendable (DownloadItem) -> Void
    private let progress: (@Sendable (DownloadProgress) -> Void)?

    init(
        onItem: @escaping @Sendable (DownloadItem) -> Void,
        progress: (@Sendable (DownloadProgress) -> Void)?
    ) {
        self.onItem = onItem
        self.progress = progress
    }

    /// Whether anybody wants to know how much there is to do.
    var wantsProgress: Bool { progress != nil }

    var result: DownloadResult { state.withLock { $0.result } }

    /// What there is to fetch.
    func expect(photos: Int64, bytes: Int64) {
        tell { progress in
            progress.photos = photos
            progress.bytes = bytes
        }
    }

    /// Bytes that have come.
    func received(_ byteCount: Int64) {
        guard byteCount > 0 else { return }
        tell { $0.bytesReceived += byteCount }
    }

    /// The end of a photo.
    ///
    /// - Parameters:
    ///   - item: The end.
    ///   - isCounted: Whether it is one of those that were to be fetched.
    func ended(_ item: DownloadItem, isCounted: Bool) {
        state.withLock { state in
            state.result.counts[item.state, default: 0] += 1
            state.result.bytesReceived += item.bytesReceived
            onItem(item)
            guard isCounted else { return }
            state.progress.photosDone += 1
            progress?(state.progress)
        }
    }

    /// The lock is held while the caller is told: that is what makes it one call at a time.
    private func tell(_ change: (inout DownloadProgress) -> Void) {
        state.withLock { state in
            change(&state.progress)
            progress?(state.progress)
        }
    }
}
