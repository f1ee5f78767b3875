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

    @Test func firstSignalGoesToTheHandlerAndTheSecondEndsAfterIt() async {
        let log = Log()
        let interruption = Interruption()
        interruption.onEnd { request, isHandled in log.add("end \(request.signal.name) \(isHandled)") }
        await interruption.handling({ log.add("\($0.signal.name) \($0.count)") }) {
            interruption.receive(.interrupt)
            #expect(log.all == ["SIGINT 1"])
            interruption.receive(.terminate)
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

    @Test func signalDuringAQuestionEndsTheProgram() async {
        let log = Log()
        let interruption = Interruption()
        interruption.onEnd { _, isHandled in log.add("end \(isHandled)") }
        await interruption.handling({ _ in log.add("handler") }) {
            await interruption.asking { interruption.receive(.interrupt) }
        }
        #expect(log.all == ["end false"])
    }
}
