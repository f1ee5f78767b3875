internal import MediaTransport
internal import Synchronization

/// Prints a note about each long wait for a server; parallel requests share the same wait, which is reported once.
final class WaitReport: Sendable {
    /// A shorter wait does not need an explanation.
    private static let shortest = Duration.seconds(5)

    private let console: Console
    /// The end of the longest reported wait.
    private let reportedUntil = Mutex(Duration.zero)

    init(_ console: Console) {
        self.console = console
    }

    func report(_ notice: WaitNotice) {
        guard notice.delay > Self.shortest else { return }
        let end = console.context.elapsed() + notice.delay
        let isNew = reportedUntil.withLock { until in
            guard end > until + Self.shortest else { return false }
            until = end
            return true
        }
        if isNew { console.note(Self.message(notice)) }
    }

    static func message(_ notice: WaitNotice) -> String {
        let delay = "retrying in \(Formats.span(notice.delay))"
        guard let status = notice.status else { return "no response; \(delay)" }
        guard let requested = notice.requested, requested >= shortest else {
            return "the server failed (\(status)); \(delay)"
        }
        let wait = "the server requests a wait of \(Formats.span(requested)) (\(status))"
        return requested > notice.delay + shortest ? "\(wait); \(delay)" : wait
    }
}
