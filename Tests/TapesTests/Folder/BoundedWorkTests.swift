import Synchronization
import TestSupport
import Testing

@testable import Tapes

@Suite struct BoundedWorkTests {
    @Test("R14: a file system that does not respond is unreachable after the timeout") func hanging() async throws {
        let gate = Gate()
        let laterStep = Gate()
        let second = Mutex<AlbumError.Kind?>(nil)
        let kind = try await albumErrorKind {
            try await BoundedWork.run(stallLimit: .milliseconds(20)) { steps throws(AlbumError) in
                gate.wait()
                defer { laterStep.open() }
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
        gate.open()
        #expect(await laterStep.opened())
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
        let started = Gate()
        let task = Task {
            try await BoundedWork.run(stallLimit: .seconds(30)) { steps throws(AlbumError) in
                started.open()
                while true { try steps.next() }
            }
        }
        #expect(await started.opened())
        task.cancel()
        #expect(try await albumErrorKind { try await task.value } == .cancelled)
    }

    @Test func cancelingDoesNotWaitForAStepThatHangs() async throws {
        let started = Gate()
        let gate = Gate()
        let task = Task {
            try await BoundedWork.run(stallLimit: .seconds(600)) { _ throws(AlbumError) in
                started.open()
                gate.wait()
            }
        }
        #expect(await started.opened())
        task.cancel()
        #expect(try await albumErrorKind { try await task.value } == .cancelled)
        gate.open()
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
