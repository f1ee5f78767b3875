import Foundation
import MediaStore
import TestSupport
import Testing

@testable import PhotoSync

/// The process is killed at each failpoint of a pull; another one continues with the same data directory.
@Suite struct PullKillTests {
    private func pull(dyingAt point: SyncFailpoint, after passes: Int, _ bench: PullBench, full: Bool) async throws {
        let place = [point.rawValue, "\(passes)", bench.server.address, bench.directory.path, full ? "full" : ""]
        await #expect(processExitsWith: .signal(SIGKILL)) { [place = place as [String]] in
            setenv("MEDIACTL_KILL_AT", place[0], 1)
            setenv("MEDIACTL_KILL_AFTER", place[1], 1)
            let account = try PullBench.account(place[2], in: place[3], device: ServerPhotos.device.id)
            _ = try await Pull(account, options: Pull.Options(isFull: place[4] == "full", pageSize: 3)).run()
        }
    }

    @Test(arguments: SyncFailpoint.ofPull, [0, 2])
    func aDeadPullIsResumedWithTheSameResult(_ point: SyncFailpoint, _ passes: Int) async throws {
        // The last two are reached once per pull.
        let passes = [.beforeFinish, .afterFinish].contains(point) ? 0 : passes
        let bench = try PullBench(ServerPhotos(14))
        let undisturbed = try PullBench(ServerPhotos(14))
        _ = try await undisturbed.pull().run()
        try await pull(dyingAt: point, after: passes, bench, full: false)

        let wasComplete = try bench.state()?.lastCompleteAt != nil
        #expect(wasComplete == (point == .afterFinish))
        _ = try await bench.pull().run()
        #expect(try bench.listed == undisturbed.listed)
        #expect(
            try bench.account.index.counts(of: bench.account.server, device: nil)
                == undisturbed.account.index.counts(of: undisturbed.account.server, device: nil)
        )
        let (state, expected) = (try bench.state(), try undisturbed.state())
        #expect(state?.watermark == expected?.watermark)
        #expect(state?.totalCount == expected?.totalCount)
        #expect(state?.lastFullAt != nil)
        #expect(state?.hasUnfinishedRun == false)

        // Nothing is skipped, and at most two pages of the full listing are requested twice: the one in progress, and
        // the one that was requested ahead.
        let requested = Dictionary(grouping: bench.server.requests.filter { $0.since == nil }) { $0.cursor ?? "" }
        #expect(requested.count == 5)
        #expect(requested.values.allSatisfy { $0.count <= 2 })
        #expect(requested.values.filter { $0.count == 2 }.count <= 2)
    }

    /// An incremental run, and a full one that marks deleted photos.
    @Test(arguments: SyncFailpoint.ofPull, [false, true])
    func aDeadSecondPullIsResumedWithTheSameResult(_ point: SyncFailpoint, _ full: Bool) async throws {
        let bench = try PullBench(ServerPhotos(14))
        _ = try await bench.pull().run()
        bench.server.change { state in
            if full { state.serverPhotos.remove(ServerPhotos.photo(1).id) }
            for number in 20..<28 { state.serverPhotos.insert(ServerPhotos.photo(number, uploadedAt: 1000 + number)) }
        }
        try await pull(dyingAt: point, after: 0, bench, full: full)
        let result = try await bench.pull(full: full).run()
        #expect(try bench.listed == bench.server.serverPhotos.photos)
        #expect(!result.advisesFull)
        #expect(result.counts.gone == (full ? 1 : 0))
        #expect(try bench.state()?.hasUnfinishedRun == false)
    }
}
