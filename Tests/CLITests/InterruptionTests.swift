import Synchronization
import Testing

@testable import MediaCLI

@Suite struct InterruptionTests {
    private final class Log: Sendable {
        let entries = Mutex<[String]>([])
        func add(_ entry: String) { entries.withLock { $0.append(entry) } }
        var all: [String] { entries.withLock { $0 } }
    }

    @Test func unhandledSignalEndsTheProgram() {
        let log = Log()
        let interruption = Interruption()
        interruption.onEnd { request, isHandled in log.add("end \(request.signal.name) \(isHandled)") }
        interruption.receive(.hangup)
        #expect(log.all == ["end SIGHUP false"])
        #expect(interruption.signal == .hangup)
    }

    @Test func firstSignalGoesToTheHandlerAndTheSecondEndsTheProgram() async {
        let log = Log()
        let clock = Clock()
        let interruption = Interruption(now: { clock.now })
        interruption.onEnd { request, isHandled in log.add("end \(request.signal.name) \(isHandled)") }
        await interruption.handling({ log.add("\($0.signal.name) \($0.count)") }) {
            interruption.receive(.interrupt)
            #expect(log.all == ["SIGINT 1"])
            clock.advance(.seconds(1))
            interruption.receive(.interrupt)
        }
        #expect(log.all == ["SIGINT 1", "SIGINT 2", "end SIGINT true"])
    }

    @Test func earlierSignalReachesALaterHandler() async {
        let log = Log()
        let interruption = Interruption()
        interruption.receive(.terminate)
        await interruption.handling({ log.add("\($0.signal.name) \($0.count)") }) {}
        #expect(log.all == ["SIGTERM 1"])
    }

    @Test func signalAtAPromptEndsTheProgram() async {
        let log = Log()
        let interruption = Interruption()
        interruption.onEnd { _, isHandled in log.add("end \(isHandled)") }
        await interruption.handling({ _ in log.add("handler") }) {
            await interruption.prompting { interruption.receive(.interrupt) }
        }
        #expect(log.all == ["end false"])
    }

    /// A clock set by the test.
    private final class Clock: Sendable {
        private let time = Mutex(ContinuousClock.now)
        var now: ContinuousClock.Instant { time.withLock { $0 } }
        func advance(_ duration: Duration) { time.withLock { $0 += duration } }
    }

    /// The signals with the seconds before each, and the values that the handlers and the exit receive.
    @Test(
        arguments: [
            // The end of a session, and a shutdown.
            ([(0, .terminate), (0, .hangup)], ["SIGTERM 1"]),
            ([(0, .hangup), (0.5, .terminate), (5, .alarm)], ["SIGHUP 1"]),
            // `timeout -s INT` sends SIGINT to the process and to its group.
            ([(0, .interrupt), (0, .interrupt)], ["SIGINT 1"]),
            ([(0, .interrupt), (0.099, .interrupt)], ["SIGINT 1"]),
            ([(0, .interrupt), (0.1, .interrupt)], ["SIGINT 1", "SIGINT 2", "end SIGINT"]),
            ([(0, .interrupt), (0.05, .interrupt), (0.05, .interrupt)], ["SIGINT 1", "SIGINT 2", "end SIGINT"]),
            ([(0, .terminate), (0.9, .terminate)], ["SIGTERM 1"]),
            ([(0, .terminate), (1, .terminate)], ["SIGTERM 1", "SIGTERM 2", "end SIGTERM"]),
            ([(0, .terminate), (0.5, .terminate), (0.5, .terminate)], ["SIGTERM 1", "SIGTERM 2", "end SIGTERM"]),
            ([(0, .terminate), (5, .interrupt), (0.1, .interrupt)], ["SIGTERM 1", "SIGINT 2", "end SIGTERM"]),
            // Ctrl-C waits without a limit; a signal from the system sets one.
            ([(0, .interrupt), (5, .terminate), (0, .hangup)], ["SIGINT 1", "SIGTERM 1"]),
            ([(0, .user2), (0, .cpuLimit)], ["SIGUSR2 1"]),
        ] as [([(Double, StopSignal)], [String])]
    )
    func onlyARepeatedSignalAbandonsTheWait(_ signals: [(Double, StopSignal)], _ expected: [String]) async {
        let log = Log()
        let clock = Clock()
        let interruption = Interruption(now: { clock.now })
        interruption.onEnd { request, _ in log.add("end \(request.signal.name)") }
        await interruption.handling({ log.add("\($0.signal.name) \($0.count)") }) {
            for (pause, signal) in signals {
                clock.advance(.milliseconds(Int(pause * 1000)))
                interruption.receive(signal)
            }
        }
        #expect(log.all == expected)
        #expect(interruption.signal == signals[0].1)
    }

    @Test(
        arguments: [
            (StopSignal.user2, 12), (.alarm, 14), (.cpuLimit, 24), (.hangup, 1), (.terminate, 15),
        ] as [(StopSignal, Int32)]
    )
    func theExitCodeIs128PlusTheSignal(_ signal: StopSignal, _ number: Int32) {
        #expect(signal.exitCode.rawValue == 128 + number)
    }
}
