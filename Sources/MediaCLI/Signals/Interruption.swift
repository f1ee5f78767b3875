internal import Synchronization

/// The signals that ask a program to end.
enum StopSignal: Sendable, CaseIterable {
    case interrupt
    case terminate
    case hangup
    /// Ctrl-\: leave at once, as it is.
    case quit

    var exitCode: ExitCode {
        switch self {
        case .interrupt: .interrupt
        case .terminate: .terminate
        case .hangup: .hangup
        case .quit: .quit
        }
    }

    /// Its name, as in `kill -l`.
    var name: String {
        switch self {
        case .interrupt: "SIGINT"
        case .terminate: "SIGTERM"
        case .hangup: "SIGHUP"
        case .quit: "SIGQUIT"
        }
    }
}

/// What the user wants stopped, and who listens. Work that must not be torn in the middle registers a handler; while
/// there is none, a signal ends the program at once.
final class Interruption: Sendable {
    /// One signal, with its number in order from 1.
    struct Request: Sendable, Equatable {
        var signal: StopSignal
        var count: Int

        /// Whether it is the second or a later one: give up now.
        var isFinal: Bool { count > 1 }
    }

    private struct State {
        var first: StopSignal?
        var count = 0
        var nextKey = 0
        var handlers: [Int: @Sendable (Request) -> Void] = [:]
        /// Questions that are open: a signal then ends the program whatever the handlers.
        var questions = 0
        var endProgram: (@Sendable (Request, _ isHandled: Bool) -> Void)?
        var showStatus: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

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
        let (request, handlers, endProgram) = state.withLock { state in
            state.count += 1
            let first = signal == .quit ? signal : state.first ?? signal
            state.first = first
            let isAtOnce = state.questions > 0 || signal == .quit
            return (
                Request(signal: first, count: state.count), isAtOnce ? [] : Array(state.handlers.values),
                state.endProgram
            )
        }
        for handler in handlers {
            handler(request)
        }
        if handlers.isEmpty || request.isFinal {
            endProgram?(request, !handlers.isEmpty)
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
