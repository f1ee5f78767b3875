import Foundation
import MediaStore
import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import PhotoSync

/// Only one listing of a server runs at a time, and a full one runs often enough.
@Suite(.prompt) struct PullLockTests {
    private func pull(_ account: SyncAccount, _ change: (inout Pull.Options) -> Void) -> Pull {
        var options = Pull.Options(pageSize: 3)
        change(&options)
        return Pull(account, options: options)
    }

    @Test func aSecondListingReportsTheProcessOfTheFirst() async throws {
        let bench = try PullBench(ServerPhotos(7))
        let lock = try #require(try bench.account.index.lock(.listing, of: bench.account.server))
        let error = await photoSyncError {
            _ = try await pull(bench.account) { ($0.isFull, $0.lockTimeout) = (true, .milliseconds(50)) }.run()
        }
        #expect(error?.code == .busy && error?.isRetryable == true)
        #expect(error?.detail == "process \(getpid()) is listing its photos")
        #expect(bench.server.requests.isEmpty)
        lock.release()
    }

    @Test func aSecondListingWaitsForTheFirst() async throws {
        let bench = try PullBench(ServerPhotos(7))
        let lock = try #require(try bench.account.index.lock(.listing, of: bench.account.server))
        let owner = Mutex<Int32?>(nil)
        let result = try await pull(bench.account) { $0.isFull = true }
            .run { progress in
                guard let process = progress.waitsForProcess else { return }
                owner.withLock { $0 = process }
                lock.release()
            }
        #expect(result.photos == 7)
        #expect(owner.withLock { $0 } == getpid())
    }

    // The first listing used to fail at its next page, since the second had renumbered the run.
    @Test func twoFullListingsBothFinish() async throws {
        let bench = try PullBench(ServerPhotos(40))
        let other = try PullBench.account(
            bench.server.address,
            in: bench.directory.path,
            device: ServerPhotos.device.id
        )
        async let first = pull(bench.account) { $0.isFull = true }.run()
        async let second = pull(other) { $0.isFull = true }.run()
        let results = try await [first, second]
        #expect(results.map(\.photos) == [40, 40] && results.allSatisfy { $0.isFull })
    }

    @Test func aStopEndsTheWait() async throws {
        let bench = try PullBench(ServerPhotos(1))
        let lock = try #require(try bench.account.index.lock(.listing, of: bench.account.server))
        let control = TransferControl()
        control.stop()
        let error = await photoSyncError { _ = try await pull(bench.account) { _ in }.run(control: control) }
        #expect(error?.code == .cancelled)
        lock.release()
    }

    // New fact 4: a late row from before the watermark and a deletion keep the total unchanged, so only a full listing
    // finds them.
    @Test(arguments: [(6, false), (8, true)])
    func anOldListingIsRefreshed(days: Int, isFound: Bool) async throws {
        let bench = try PullBench(ServerPhotos(7))
        var account = bench.account
        let start = Date(timeIntervalSince1970: 1_800_000_000)
        account.now = { start }
        _ = try await pull(account) { $0.fullInterval = .seconds(7 * 86_400) }.run()
        let late = ServerPhotos.photo(100, uploadedAt: -10_000)
        bench.server.change { state in
            state.serverPhotos.remove(state.serverPhotos.photos[0].id)
            state.serverPhotos.insert(late)
        }
        account.now = { start.addingTimeInterval(Double(days) * 86_400) }
        let result = try await pull(account) { $0.fullInterval = .seconds(7 * 86_400) }.run()
        #expect(result.isFull == isFound)
        #expect(result.changes.gone == (isFound ? 1 : 0))
        #expect(try bench.listed.contains { $0.id == late.id } == isFound)
    }

    @Test func aClockThatWasWrongDoesNotPreventAFullListing() async throws {
        let bench = try PullBench(ServerPhotos(2))
        var account = bench.account
        let future = Date(timeIntervalSince1970: 2_800_000_000)
        account.now = { future }
        _ = try await pull(account) { _ in }.run()
        account.now = { Date(timeIntervalSince1970: 1_800_000_000) }
        #expect(try await pull(account) { $0.fullInterval = .seconds(86_400) }.run().isFull)
        #expect(try await !pull(account) { _ in }.run().isFull)
    }
}
