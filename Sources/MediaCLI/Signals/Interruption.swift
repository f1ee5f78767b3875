internal import Synchronization

/// The signals that ask a program to end.
enum StopSignal: Sendable, CaseIterable {
    case interrupt
    case terminate
    case hangup
    case user2
    case alarm
    /// The limit of CPU time is reached; the hard limit kills.
    case cpuLimit
    /// Ctrl-\: leave at once, as it is.
    case quit

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

    /// Its name, as in `kill -l`.
    var name: String {
        switch self {
        case .interrupt: "SIGINT"
        case .terminate: "SIGTERM"
        case .hangup: "SIGHUP"
        case .user2: "SIGUSR2"
        case .alarm: "SIGALRM"
        case .cpuLimit: "SIGXCPU"
        case .quit: "SIGQUIT"
        }
    }
}

/// What the user wants stopped, and who listens. Work that must not be torn in the middle registers a handler; while
/// there is none, a signal ends the program at once.
final class Interruption: Sendable {
    /// A request to stop, and how often it has been made: 1 stops, 2 gives up, 3 leaves at once.
    ///
    /// The end of a session or a shutdown sends different signals right after each other, and some programs send one twice
    /// (`timeout -s INT`: to the process and to its group). Only the same signal again, later than
    /// ``repeatAfter(_:)``, therefore counts as a repeat.
    struct Request: Sendable, Equatable {
        var signal: StopSignal
        var count: Int

        /// Whether it has been repeated: give up now.
        var isFinal: Bool { count > 1 }
    }

    /// The time after which the same signal is a repeat. SIGINT comes from a key, which nobody presses twice in 0.1 s.
    static func repeatAfter(_ signal: StopSignal) -> Duration {
        signal == .interrupt ? .milliseconds(100) : .seconds(1)
    }

    private struct State {
        var first: StopSignal?
        var count = 0
        /// When each signal last counted.
        var arrivals: [StopSignal: ContinuousClock.Instant] = [:]
        var nextKey = 0
        var handlers: [Int: @Sendable (Request) -> Void] = [:]
        /// Questions that are open: a signal then ends the program whatever the handlers.
        var questions = 0
        var endProgram: (@Sendable (Request, _ isHandled: Bool) -> Void)?
        var showStatus: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    private let now: @Sendable () -> ContinuousClock.Instant

    /// - Parameter now: The monotonic clock.
    init(now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.now = now
    }

    /// The first signal received; nil as long as there was none.
    var signal: StopSignal? {
        state.withLock { $0.first }
    }

    /// Whether a question to the user is open.
    var isAsking: Bool {
        state.withLock { $0.questions > 0 }
    }

    /// Sets what ends the program: at once when nobody handled the request, after a grace otherwise.
    func onEnd(_ endProgram: @escaping @Sendable (Request, _ isHandled: Bool) -> Void) {
        state.withLock { $0.endProgram = endProgram }
    }

    /// Sets what SIGUSR1 does; nil for nothing.
    func onStatusRequest(_ showStatus: (@Sendable () -> Void)?) {
        state.withLock { $0.showStatus = showStatus }
    }

    /// A stop signal has arrived. SIGQUIT ends the program at once, whatever is in flight: the journal is right.
    func receive(_ signal: StopSignal) {
        let arrival = now()
        let isCounted = state.withLock { state in
            let earlier = state.arrivals[signal]
            let isRepeat = earlier.map { arrival - $0 >= Self.repeatAfter(signal) } ?? false
            // After Ctrl-C, which waits as long as it takes, another signal sets a limit.
            let setsLimit = earlier == nil && state.arrivals.keys.allSatisfy { $0 == .interrupt }
            if earlier == nil || isRepeat { state.arrivals[signal] = arrival }
            if isRepeat || state.first == nil { state.count += 1 }
            return isRepeat || setsLimit || signal == .quit || state.questions > 0
        }
        if isCounted { handOver(signal) }
    }

    /// The time to wait after a signal is over: as if it had been repeated.
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

    /// SIGUSR1 has arrived.
    func receiveStatusRequest() {
        let showStatus = state.withLock { $0.showStatus }
        showStatus?()
    }

    /// Runs `body` with a handler. A signal that came before is handed over at once.
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

    /// Runs `body`, a question to the user: a signal is an answer to it, and ends the program.
    func asking<Value>(_ body: () async -> Value) async -> Value {
        state.withLock { $0.questions += 1 }
        defer { state.withLock { $0.questions -= 1 } }
        return await body()
    }

    /// Runs `body` in a task of its own, which a signal cancels.
    func cancelling<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let work = Task { try await body() }
        return try await handling({ _ in work.cancel() }) { try await work.value }
    }
}
