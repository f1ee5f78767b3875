internal import Foundation
internal import MediaStore
internal import MediaTransport
internal import PhotoSync
internal import Synchronization

/// Shows that a command waits for a photo server that is restarting or whose database is down.
final class OutageNotice: Sendable {
    static let policy = RetryPolicy.restart

    private struct State {
        var began: Duration?
        var lastLine: Duration?
        /// Whether the server has responded to this command.
        var hasResponded = false
    }

    private let console: Console
    /// Whether an earlier command has listed photos on the server, so its address is known to be correct.
    private let isKnown: Bool
    private let state = Mutex(State())

    init(_ console: Console, isKnown: Bool) {
        self.console = console
        self.isKnown = isKnown
    }

    /// Whether to wait after a failed attempt. Until the server has responded, a host name that cannot be resolved is
    /// assumed to be wrong, and so is an unreachable address unless an earlier command has listed photos.
    func mayRetry(_ outcome: Result<Int, TransportError>) -> Bool {
        guard case .failure(let error) = outcome, !state.withLock({ $0.hasResponded }) else { return true }
        if error.kind == .unknownHost { return false }
        return isKnown || !error.isBeforeRequest
    }

    /// Failures that last longer than a second are an outage; a single lost response is not.
    func retrying(_ notice: RetryNotice) {
        guard let reason = Self.reason(notice.outcome) else { return }
        let now = console.context.elapsed()
        let began = state.withLock { state -> Duration? in
            let began = state.began ?? now
            state.began = began
            guard now - began >= .seconds(1), state.lastLine.map({ now - $0 >= .seconds(30) }) ?? true else {
                return nil
            }
            state.lastLine = now
            return began
        }
        guard let began else { return }
        let limit = Self.policy.timeLimit ?? .zero
        let end = console.context.now() + Double((began + limit - now).components.seconds)
        console.note(
            "\(reason); waiting up to \(Formats.span(limit)) for the server, until \(Formats.timestamp(end))"
                + (console.context.terminal.isErrorTerminal ? "; Ctrl-C stops" : "")
        )
    }

    /// A response from a working server ends the outage.
    func exchanged(_ exchange: ExchangeRecord) {
        guard case .success(let status) = exchange.outcome else { return }
        let wasShown = state.withLock { state in
            let wasShown = state.lastLine != nil
            if status < 500 { (state.began, state.lastLine) = (nil, nil) }
            state.hasResponded = true
            return wasShown && status < 500
        }
        if wasShown { console.note("the server is responding again") }
    }

    private static func reason(_ outcome: Result<Int, TransportError>) -> String? {
        switch outcome {
        case .success(let status): status >= 500 ? "the server failed (\(status))" : nil
        case .failure(let error): ErrorCatalog.userFacingError(ofMissingResponse: error, isRetryable: true).message
        }
    }
}

extension SyncSession {
    /// This session for a command that waits during a server outage, with a notice and a limit. `retries` in the
    /// settings, if set, takes precedence.
    func waiting() -> SyncSession {
        guard settings.settings.retries.origin == .builtIn else { return self }
        var session = self
        session.outage = OutageNotice(console, isKnown: isServerKnown)
        return session
    }

    /// Whether an earlier command has listed photos on the server. The index has an entry for a server even before its
    /// first response.
    private var isServerKnown: Bool {
        guard let state = try? index.state(of: address) else { return false }
        if state.lastCompleteAt != nil { return true }
        return ((try? index.counts(of: address, device: nil)).map { $0.total + $0.gone > 0 }) ?? false
    }

    /// Policy for retrying uploads and downloads.
    var retryPolicy: RetryPolicy { outage == nil ? settings.retryPolicy : OutageNotice.policy }

    /// - Throws: `PhotoSyncError` `.neverSynchronized` before the first listing is complete.
    func completeState() throws -> SyncState {
        guard let state = try index.state(of: address) else { throw PhotoSyncError(.neverSynchronized) }
        guard state.lastCompleteAt == nil else { return state }
        let photos = try index.counts(of: address, device: nil).total
        throw PhotoSyncError(.neverSynchronized, value: "\(photos)")
    }
}
