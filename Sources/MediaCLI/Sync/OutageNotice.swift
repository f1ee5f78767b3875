internal import MediaStore
internal import MediaTransport
internal import PhotoSync
internal import Synchronization

/// Shows that a command waits for a photo server that restarts, or whose database is down.
final class OutageNotice: Sendable {
    static let policy = RetryPolicy.photoOutage

    private struct State {
        var began: Duration?
        var lastLine: Duration?
    }

    private let console: Console
    private let state = Mutex(State())

    init(_ console: Console) {
        self.console = console
    }

    /// A retry after a second of failures is an outage; a single lost response is not.
    func retrying(_ notice: RetryNotice) {
        guard let reason = Self.reason(notice.outcome) else { return }
        let now = console.context.elapsed()
        let isDue = state.withLock { state in
            let began = state.began ?? now
            state.began = began
            guard now - began >= .seconds(1), state.lastLine.map({ now - $0 >= .seconds(30) }) ?? true else {
                return false
            }
            state.lastLine = now
            return true
        }
        guard isDue else { return }
        let limit = Formats.span(Self.policy.timeLimit ?? .zero)
        console.note("\(reason); waiting up to \(limit) for the server")
    }

    /// A response of a working server ends the outage.
    func exchanged(_ exchange: ExchangeRecord) {
        guard case .success(let status) = exchange.outcome, status < 500 else { return }
        let wasShown = state.withLock { state in
            defer { state = State() }
            return state.lastLine != nil
        }
        if wasShown { console.note("the server responds again") }
    }

    private static func reason(_ outcome: Result<Int, TransportError>) -> String? {
        switch outcome {
        case .success(let status): status >= 500 ? "the server failed (\(status))" : nil
        case .failure(let error): ErrorCatalogue.diagnosis(ofMissingAnswer: error, isRetryable: true).message
        }
    }
}

extension SyncSession {
    /// The same session for a command that waits for a server in an outage, visibly and with a limit. `retries` in the
    /// settings, if set, takes precedence.
    func waiting() -> SyncSession {
        guard settings.settings.retries.origin == .builtIn else { return self }
        var session = self
        session.outage = OutageNotice(console)
        return session
    }

    /// When uploads and downloads are retried.
    var retryPolicy: RetryPolicy { outage == nil ? settings.retryPolicy : OutageNotice.policy }

    /// - Throws: `PhotoSyncError` `.neverSynchronized` before the first listing is complete.
    func completeState() throws -> SyncState {
        guard let state = try index.state(of: address) else { throw PhotoSyncError(.neverSynchronized) }
        guard state.lastCompleteAt == nil else { return state }
        let photos = try index.counts(of: address, device: nil).total
        throw PhotoSyncError(.neverSynchronized, value: "\(photos)")
    }
}
