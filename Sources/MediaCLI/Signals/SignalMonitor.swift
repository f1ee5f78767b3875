internal import Dispatch
internal import Foundation

/// Turns the process's signals into calls of an `Interruption`. Lives as long as the program.
final class SignalMonitor: Sendable {
    private let queue = DispatchQueue(label: "mediactl.signals")
    // Never touched after `init`; it only keeps the sources alive. DispatchSource objects may be used from any thread.
    nonisolated(unsafe) private let sources: [any DispatchSourceSignal]

    init(_ interruption: Interruption) {
        signal(SIGPIPE, SIG_IGN)
        var watched: [(Int32, @Sendable () -> Void)] = [
            (SIGINT, { @Sendable in interruption.receive(.interrupt) }),
            (SIGTERM, { @Sendable in interruption.receive(.terminate) }),
            (SIGUSR2, { @Sendable in interruption.receive(.user2) }),
            (SIGALRM, { @Sendable in interruption.receive(.alarm) }),
            (SIGXCPU, { @Sendable in interruption.receive(.cpuLimit) }),
            (SIGQUIT, { @Sendable in interruption.receive(.quit) }),
            (SIGUSR1, { @Sendable in interruption.receiveStatusRequest() }),
        ]
        // A program started by nohup(1) must go on ignoring SIGHUP.
        if !Self.isIgnored(SIGHUP) {
            watched.append((SIGHUP, { @Sendable in interruption.receive(.hangup) }))
        }
        var sources: [any DispatchSourceSignal] = []
        for (number, action) in watched {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler(handler: action)
            source.resume()
            sources.append(source)
        }
        self.sources = sources
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
