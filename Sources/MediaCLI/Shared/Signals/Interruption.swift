internal import Dispatch
internal import Foundation
internal import Synchronization

enum StopSignal: String, Sendable, CaseIterable {
    case interrupt = "SIGINT"
    case terminate = "SIGTERM"
    case hangup = "SIGHUP"
    case user2 = "SIGUSR2"
    case alarm = "SIGALRM"
    /// Soft limit on CPU time; the hard limit kills the process.
    case cpuLimit = "SIGXCPU"
    /// Ctrl-\: exit immediately.
    case quit = "SIGQUIT"

    var exitCode: ExitCode {
        switch self {
        case .interrupt: .interrupt
        case .terminate: .terminate
        case .hangup: .hangup
        case .user2: .user2
        case .alarm: .alarm
        case .cpuLimit: .cpuLimit
        case .quit: .quit
        }
    }

    var name: String { rawValue }
}

/// Distributes stop signals. Work that must not be interrupted halfway registers a handler; without one, a signal stops
/// the program immediately.
final class Interruption: Sendable {
    /// A stop request and its count: 1 stops, 2 abandons, 3 exits immediately.
    ///
    /// The end of a session or a shutdown sends different signals in quick succession, and some programs send a signal
    /// twice (`timeout -s INT`: to the process and to its group). Therefore only the same signal, later than
    /// ``repeatAfter(_:)``, counts as a repeat.
    struct Request: Sendable, Equatable {
        var signal: StopSignal
        var count: Int

        /// Whether the request was repeated: the work is then abandoned immediately.
        var isFinal: Bool { count > 1 }
    }

    /// The time after which the same signal is a repeat. SIGINT comes from a key, which cannot be pressed twice in 0.1
    /// s.
    static func repeatAfter(_ signal: StopSignal) -> Duration {
        signal == .interrupt ? .milliseconds(100) : .seconds(1)
    }

    private struct State {
        var first: StopSignal?
        var count = 0
        /// The time when each signal was last counted.
        var arrivals: [StopSignal: ContinuousClock.Instant] = [:]
        var nextKey = 0
        var handlers: [Int: @Sendable (Request) -> Void] = [:]
        /// Number of open prompts. While a prompt is open, a signal terminates the program regardless of handlers.
        var questions = 0
        var endProgram: (@Sendable (Request, _ isHandled: Bool) -> Void)?
        var showStatus: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    private let now: @Sendable () -> ContinuousClock.Instant

    init(now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.now = now
    }

    /// The first signal received, or SIGQUIT; nil if there was none.
    var signal: StopSignal? {
        state.withLock { $0.first }
    }

    var isPrompting: Bool {
        state.withLock { $0.questions > 0 }
    }

    /// Sets the closure that exits the program: immediately if the request is not handled, otherwise after a grace
    /// period.
    func onEnd(_ endProgram: @escaping @Sendable (Request, _ isHandled: Bool) -> Void) {
        state.withLock { $0.endProgram = endProgram }
    }

    /// Sets the action of SIGUSR1.
    func onStatusRequest(_ showStatus: (@Sendable () -> Void)?) {
        state.withLock { $0.showStatus = showStatus }
    }

    /// Handles a stop signal. SIGQUIT terminates the program immediately, even during a request: the journal is
    /// consistent.
    func receive(_ signal: StopSignal) {
        let arrival = now()
        let isCounted = state.withLock { state in
            let earlier = state.arrivals[signal]
            let isRepeat = earlier.map { arrival - $0 >= Self.repeatAfter(signal) } ?? false
            // Ctrl-C waits without a limit; a different signal after it sets a limit.
            let setsLimit = earlier == nil && state.arrivals.keys.allSatisfy { $0 == .interrupt }
            if earlier == nil || isRepeat { state.arrivals[signal] = arrival }
            if isRepeat || state.first == nil { state.count += 1 }
            return isRepeat || setsLimit || signal == .quit || state.questions > 0
        }
        if isCounted { handOver(signal) }
    }

    /// Ends the wait after a signal, as if the signal had been repeated.
    func giveUp(after signal: StopSignal) {
        state.withLock { $0.count += 1 }
        handOver(signal)
    }

    private func handOver(_ signal: StopSignal) {
        let (request, handlers, endProgram) = state.withLock { state in
            let first = signal == .quit ? signal : state.first ?? signal
            state.first = first
            let isAtOnce = state.questions > 0 || signal == .quit
            let request = Request(signal: signal, count: state.count)
            return (request, isAtOnce ? [] : Array(state.handlers.values), state.endProgram)
        }
        for handler in handlers {
            handler(request)
        }
        if handlers.isEmpty || request.isFinal {
            endProgram?(Request(signal: self.signal ?? signal, count: request.count), !handlers.isEmpty)
        }
    }

    /// Handles SIGUSR1.
    func receiveStatusRequest() {
        let showStatus = state.withLock { $0.showStatus }
        showStatus?()
    }

    /// Runs `body` with a handler, which is also called immediately for an earlier signal.
    func handling<Value>(
        _ handler: @escaping @Sendable (Request) -> Void,
        _ body: () async throws -> Value
    ) async rethrows -> Value {
        let (key, earlier) = state.withLock { state in
            state.nextKey += 1
            state.handlers[state.nextKey] = handler
            return (state.nextKey, state.first.map { Request(signal: $0, count: state.count) })
        }
        defer { state.withLock { _ = $0.handlers.removeValue(forKey: key) } }
        if let earlier {
            handler(earlier)
        }
        return try await body()
    }

    /// Runs `body`, which prompts the user. In the meantime, a signal terminates the program.
    func prompting<Value>(_ body: () async -> Value) async -> Value {
        state.withLock { $0.questions += 1 }
        defer { state.withLock { $0.questions -= 1 } }
        return await body()
    }

    /// Runs `body` in a task that a signal cancels.
    func canceling<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let work = Task { try await body() }
        return try await handling({ _ in work.cancel() }) { try await work.value }
    }
}

/// Passes the process's signals to an `Interruption`. Must exist as long as the process runs.
final class SignalMonitor: Sendable {
    private let queue = DispatchQueue(label: "mediactl.signals")
    // Never accessed after `init`; it only retains the sources. DispatchSource objects can be used from any thread.
    nonisolated(unsafe) private let sources: [any DispatchSourceSignal]

    init(_ interruption: Interruption) {
        signal(SIGPIPE, SIG_IGN)
        // SIGUSR1 requests the status.
        var watched: [(Int32, StopSignal?)] = [
            (SIGINT, .interrupt), (SIGTERM, .terminate), (SIGUSR2, .user2), (SIGALRM, .alarm), (SIGXCPU, .cpuLimit),
            (SIGQUIT, .quit), (SIGUSR1, nil),
        ]
        // A program started by nohup(1) must keep ignoring SIGHUP.
        if !Self.isIgnored(SIGHUP) { watched.append((SIGHUP, .hangup)) }
        sources = watched.map { [queue] number, stop in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                if let stop { interruption.receive(stop) } else { interruption.receiveStatusRequest() }
            }
            source.resume()
            return source
        }
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}

extension Console {
    /// Applies a signal to a request that must not be interrupted: the first Ctrl-C waits for its response (`what`),
    /// other signals wait at most `finishTimeout`, and a repeated signal abandons it.
    func outlast(_ request: Interruption.Request, for what: String, finishTimeout: Duration) {
        guard !request.isFinal else { return }
        let limit = request.signal == .interrupt ? nil : finishTimeout
        announce([WaitingMessage.text(for: what, limit: limit)])
        guard let limit else { return }
        let interruption = context.interruption
        DispatchQueue.global().asyncAfter(deadline: .now() + (limit / .seconds(1))) {
            interruption.giveUp(after: request.signal)
        }
    }
}

/// The message while a stopped command still waits for a response.
enum WaitingMessage {
    /// One line; `limit` is nil for Ctrl-C, since the user can press it again.
    static func text(for what: String, limit: Duration?) -> String {
        guard let limit else { return "mediactl: waiting for \(what); press Ctrl-C again to abandon it" }
        let seconds = limit / .seconds(1)
        let number = Int(exactly: seconds).map(String.init) ?? String(seconds)
        return "mediactl: waiting up to \(number) s for \(what)"
    }
}
