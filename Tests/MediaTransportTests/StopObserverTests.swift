import Synchronization
import Testing

@testable import MediaTransport

@Suite struct StopObserverTests {
    @Test(.timeLimit(.minutes(4)), arguments: [false, true])
    func aStopIsReportedToTheObserver(isRequestedBefore: Bool) async {
        let control = TransferControl()
        if isRequestedBefore { control.stop() }
        await withCheckedContinuation { continuation in
            _ = control.observeStop { continuation.resume() }
            if !isRequestedBefore { control.stop() }
        }
    }

    @Test(.timeLimit(.minutes(4))) func aStopIsReportedOnceAndNotToRemovedObservers() async {
        let control = TransferControl()
        let calls = Mutex<[Int]>([])
        let gone = control.observeStop { calls.withLock { $0.append(1) } }
        control.endObserving(gone)
        await withCheckedContinuation { continuation in
            _ = control.observeStop {
                calls.withLock { $0.append(2) }
                continuation.resume()
            }
            control.stop()
            control.abandon()
        }
        #expect(calls.withLock { $0 } == [2])
    }
}
