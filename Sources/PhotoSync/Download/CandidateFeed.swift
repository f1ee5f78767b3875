internal import Foundation
internal import MediaStore
internal import Synchronization

/// Blocks of candidates, read on a thread of its own and only as fast as they are taken, so that memory stays flat.
final class CandidateFeed: Sendable {
    typealias Block = [DownloadCandidates.Candidate]
    private typealias Taker = CheckedContinuation<Result<Block?, any Error>, Never>

    private struct Stopped: Error {}

    private struct State {
        var taker: Taker?
        var end: Result<Block?, any Error>?
        var isStopped = false
    }

    private let state = Mutex(State())
    private let demand = DispatchSemaphore(value: 0)

    /// Begins to read when the first block is asked for.
    init(_ candidates: DownloadCandidates) {
        Thread.detachNewThread { [self] in
            let end = Result {
                try waitForDemand()
                try candidates.forEachBlock { block in
                    answer(.success(block))
                    try waitForDemand()
                }
            }
            finish(end.map { nil })
        }
    }

    /// The next block; nil after the last. One caller at a time.
    func next() async throws -> Block? {
        let result = await withCheckedContinuation { (continuation: Taker) in
            let end = state.withLock { state in
                if state.end == nil { state.taker = continuation }
                return state.end
            }
            if let end {
                continuation.resume(returning: end)
            } else {
                demand.signal()
            }
        }
        return try result.get()
    }

    /// Ends the thread. Nothing is asked for after that.
    func stop() {
        state.withLock { $0.isStopped = true }
        demand.signal()
    }

    private func waitForDemand() throws {
        demand.wait()
        if state.withLock({ $0.isStopped }) { throw Stopped() }
    }

    private func answer(_ result: Result<Block?, any Error>) {
        let taker = state.withLock { state in
            defer { state.taker = nil }
            return state.taker
        }
        taker?.resume(returning: result)
    }

    private func finish(_ end: Result<Block?, any Error>) {
        state.withLock { $0.end = end }
        answer(end)
    }
}
