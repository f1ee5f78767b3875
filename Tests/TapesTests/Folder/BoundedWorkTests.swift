import Dispatch
import Synchronization
import Testing

@testable import Tapes

@Suite struct BoundedWorkTests {
    @Test("R14: a file system that does not respond is unreachable after the timeout") func hanging() async throws {
        let gate = DispatchSemaphore(value: 0)
        let laterStep = DispatchSemaphore(value: 0)
        let second = Mutex<AlbumError.Kind?>(nil)
        let kind = try await albumErrorKind {
            try await BoundedWork.run(stallLimit: .milliseconds(20)) { steps throws(AlbumError) in
                gate.wait()
                defer { laterStep.signal() }
                do throws(AlbumError) {
                    try steps.next()
                } catch {
                    second.withLock { $0 = error.kind }
                    throw error
                }
            }
        }
        #expect(kind == .unreachable(retryAfter: nil))
        // If it responds later, nothing more is done.
        gate.signal()
        laterStep.wait()
        #expect(second.withLock { $0 } == .cancelled)
    }

    @Test("R14: the timeout applies to each step, not to the whole operation") func slowButSteady() async throws {
        let value = try await BoundedWork.run(stallLimit: .milliseconds(100)) { steps throws(AlbumError) in
            let end = ContinuousClock.now + .milliseconds(250)
            var count = 0
            while ContinuousClock.now < end {
                try steps.next()
                count += 1
            }
            return count
        }
        #expect(value > 1)
    }

    @Test func cancelingEndsItAtTheNextStep() async throws {
        let started = DispatchSemaphore(value: 0)
        let task = Task {
            try await BoundedWork.run(stallLimit: .seconds(30)) { steps throws(AlbumError) in
                started.signal()
                while true { try steps.next() }
            }
        }
        await Task.detached { wait(for: started) }.value
        task.cancel()
        #expect(try await albumErrorKind { try await task.value } == .cancelled)
    }

    @Test func cancelingDoesNotWaitForAStepThatHangs() async throws {
        let started = DispatchSemaphore(value: 0)
        let gate = DispatchSemaphore(value: 0)
        let task = Task {
            try await BoundedWork.run(stallLimit: .seconds(600)) { _ throws(AlbumError) in
                started.signal()
                gate.wait()
            }
        }
        await Task.detached { wait(for: started) }.value
        task.cancel()
        #expect(try await albumErrorKind { try await task.value } == .cancelled)
        gate.signal()
    }

    @Test func workCanceledBeforeDoesNotStart() async throws {
        let begun = Atomic(false)
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            try await BoundedWork.run(stallLimit: .seconds(30)) { _ throws(AlbumError) in
                begun.store(true, ordering: .relaxed)
            }
        }
        task.cancel()
        #expect(try await albumErrorKind { try await task.value } == .cancelled)
        let hasBegun = begun.load(ordering: .relaxed)
        #expect(!hasBegun)
    }
}

private func wait(for semaphore: DispatchSemaphore) { semaphore.wait() }
