import Foundation
import MediaStore
import MediaTransport
import Synchronization
import Testing

@testable import PhotoSync

/// The requests, index and reports of a pull over HTTP.
@Suite struct PullTests {
    @Test func theFirstPullListsEverything() async throws {
        let bench = try PullBench(ServerPhotos(8))
        let steps = Mutex<[PullProgress]>([])
        let result = try await bench.pull().run { step in steps.withLock { $0.append(step) } }

        #expect(try bench.listed == bench.server.serverPhotos.photos)
        #expect(result.isFull)
        #expect((result.photos, result.pages, result.restarts) == (8, 3, 0))
        #expect(result.changes.added == 8)
        #expect(result.counts.otherDevices == 8)
        #expect(result.status == SyncStatus(totalPhotos: 8, devicePhotos: 0, legacyPhotos: 0, otherDevicePhotos: 8))
        #expect(!result.advisesFull)
        #expect(try bench.state()?.lastFullAt != nil)
        let ids = bench.server.serverPhotos.photos.map(\.id)
        let device = ServerPhotos.device.id
        #expect(
            bench.server.requests == [
                ServerPhotos.Request(cursor: nil, since: nil, device: device),
                ServerPhotos.Request(cursor: ids[2], since: nil, device: device),
                ServerPhotos.Request(cursor: ids[5], since: nil, device: device),
            ]
        )
        #expect(
            steps.withLock { $0 } == [
                PullProgress(photos: 3, pages: 1, expected: 8, attempt: 1),
                PullProgress(photos: 6, pages: 2, expected: 8, attempt: 1),
                PullProgress(photos: 8, pages: 3, expected: 8, attempt: 1),
            ]
        )
    }

    @Test(arguments: [0, 1, 3, 6]) func everyNumberOfPhotosTerminates(_ count: Int) async throws {
        let bench = try PullBench(ServerPhotos(count))
        let result = try await bench.pull().run()
        #expect(result.photos == Int64(count))
        #expect(bench.server.requests.count == max(1, count / 3 + (count % 3 == 0 ? 0 : 1)))
        #expect(try bench.state()?.lastCompleteAt != nil)
    }

    /// Contract section 5 and traps 3, 4, 22: five minutes back, in UTC, and repeated photos count once.
    @Test func anIncrementalPullOverlapsByFiveMinutes() async throws {
        let bench = try await PullBench(ServerPhotos(4)).pulled()
        bench.server.change { state in
            // Late: uploaded before the watermark, but visible only now.
            state.serverPhotos.insert(ServerPhotos.photo(50, uploadedAt: -100))
            state.serverPhotos.insert(ServerPhotos.photo(51, uploadedAt: 9))
            state.requests = []
        }
        let result = try await bench.pull().run()
        #expect(!result.isFull)
        #expect(result.changes.added == 2)
        #expect(try bench.listed == bench.server.serverPhotos.photos)
        // The last of four was uploaded at second 1,000,001 after 2024-01-01.
        #expect(bench.server.requests.first?.since == Int64(1_704_067_200 + 1_000_001 - 300) * 1_000_000)
        #expect(bench.server.requests.first?.cursor == nil)
    }

    /// Deletions and changed origins are never reported to an incremental run (contract section 5).
    @Test func onlyAFullPullDetectsDeletionsAndClaims() async throws {
        let bench = try await PullBench(ServerPhotos(5)).pulled()
        let old = bench.server.serverPhotos.photos[0]
        bench.server.change { state in
            state.serverPhotos.remove(old.id)
            state.serverPhotos.insert(ServerPhotos.photo(9, uploadedAt: 600))
        }
        let incremental = try await bench.pull().run()
        // One photo was deleted and one was uploaded: the server's count is the same as before (trap 21).
        #expect(incremental.advisesFull)
        #expect(incremental.changes == .of(added: 1))

        bench.server.change { $0.serverPhotos.setOrigin(ServerPhotos.device, of: $0.serverPhotos.photos[1].id) }
        let full = try await bench.pull(full: true).run()
        #expect(full.changes == .of(changed: 1, gone: 1))
        #expect(full.counts.gone == 1)
        #expect(!full.advisesFull)
        #expect(try bench.listed == bench.server.serverPhotos.photos)
    }

    @Test func claimsElsewhereSuggestAFullPull() async throws {
        var serverPhotos = ServerPhotos(2)
        serverPhotos.insert(ServerPhotos.photo(7, origin: nil))
        let bench = try PullBench(serverPhotos)
        #expect(try await !bench.pull().run().advisesFull)
        bench.server.change { state in
            // The photo was uploaded long ago, so that the overlap does not list it again.
            state.serverPhotos.insert(ServerPhotos.photo(8, uploadedAt: 2000))
        }
        _ = try await bench.pull().run()
        bench.server.change { $0.serverPhotos.setOrigin(ServerPhotos.phone, of: ServerPhotos.photo(7).id) }
        #expect(try await bench.pull().run().advisesFull)
    }

    @Test func aStopKeepsTheReceivedPage() async throws {
        let bench = try PullBench(ServerPhotos(8))
        let control = TransferControl()
        await expectFailure(.cancelled) {
            _ = try await bench.pull().run(control: control) { _ in control.stop() }
        }
        // The first page, and the second, which arrived while the first was being stored.
        #expect(try bench.listed.count == 6)
        #expect(try bench.state()?.lastCompleteAt == nil)

        let requested = bench.server.requests.count
        let result = try await bench.pull().run()
        #expect(result.isResumed)
        #expect(bench.server.requests[requested].cursor == bench.server.serverPhotos.photos[5].id)
        #expect(try bench.listed == bench.server.serverPhotos.photos)
    }

    @Test func aStopBeforeTheFirstRequestSendsNone() async throws {
        let bench = try PullBench(ServerPhotos(8))
        let control = TransferControl()
        control.stop()
        await expectFailure(.cancelled) {
            _ = try await bench.pull().run(control: control)
        }
        #expect(bench.server.requests.isEmpty)
    }

    @Test func aDryRunStoresNothingAndUpdatesNoDevice() async throws {
        let bench = try PullBench(ServerPhotos(8))
        let first = try await bench.pull(dry: true).run()
        #expect(first.isFull)
        #expect(first.changes == .of(added: 8))
        #expect(try bench.listed.isEmpty)
        #expect(try bench.state() == nil)
        #expect(bench.server.requests.allSatisfy { $0.device == nil })

        _ = try await bench.pull().run()
        bench.server.change { state in
            state.serverPhotos.remove(state.serverPhotos.photos[0].id)
            state.serverPhotos.setOrigin(ServerPhotos.device, of: state.serverPhotos.photos[0].id)
            state.serverPhotos.insert(ServerPhotos.photo(20))
        }
        let before = try bench.listed
        #expect(try await bench.pull(full: true, dry: true).run().changes == .of(added: 1, changed: 1, gone: 1))
        #expect(try bench.listed == before)
    }

    /// A login by another user registers a different device.
    @Test func anotherUserStartsANewIndex() async throws {
        let bench = try await PullBench(ServerPhotos(4)).pulled()
        let other = bench.account.with(deviceID: ServerPhotos.phone.id)
        let result = try await Pull(other).run()
        #expect(result.isFull)
        #expect(result.changes.added == 4)
        #expect(try bench.state()?.account == ServerPhotos.phone.id)
    }

    /// Without a device the key identifies the user, and no data of one user is reported as another's.
    @Test func anotherKeyWithoutDeviceStartsANewIndex() async throws {
        let bench = try await PullBench(ServerPhotos(4), device: nil).pulled()
        #expect(try await !bench.pull().run().isFull)
        let server = bench.account.client.server
        let other = SyncAccount(
            client: bench.account.client.authorized(.apiKey("another", for: server.origin)),
            deviceID: nil,
            index: bench.account.index,
            library: bench.account.library
        )
        #expect(try other.state() == nil)
        #expect(try await SyncReport.make(of: other).counts == PhotoCounts())
        let digest = ServerPhotos.photo(1).sha256
        #expect(try await OwnPhotos(other).known([digest]).isEmpty)
        #expect(try await OwnPhotos(bench.account).known([digest]).count == 1)
        let dry = try await Pull(other, options: Pull.Options(isDryRun: true)).run()
        #expect((dry.changes, dry.counts) == (.of(added: 4), PhotoCounts()))
        let result = try await Pull(other).run()
        #expect(result.isFull)
        #expect(result.changes == .of(added: 4))
        #expect(try bench.account.state() == nil)
        // The index records the user, but not the key.
        #expect(try bench.state()?.account.contains("another") == false)
    }

    /// A server's clock was wrong once. With a watermark in 2100, no upload would be new until then.
    @Test func aPhotoOfTheFarFutureHidesNoUpload() async throws {
        var serverPhotos = ServerPhotos(4)
        serverPhotos.insert(ServerPhotos.photo(40, uploadedAt: 2_400_000_000))
        let bench = try await PullBench(serverPhotos).pulled()
        #expect(try bench.state()?.watermark == ServerPhotos.photo(3).uploadedAt)
        bench.server.change { state in
            // The number of photos is unchanged, so only the listing shows it.
            state.serverPhotos.remove(ServerPhotos.photo(0).id)
            state.serverPhotos.insert(ServerPhotos.photo(50, uploadedAt: 9))
        }
        let result = try await bench.pull().run()
        #expect(!result.isFull)
        #expect(result.changes == .of(added: 1))
    }

    @Test func aResumedRunReportsStoredPhotos() async throws {
        let bench = try PullBench(ServerPhotos(8))
        let control = TransferControl()
        await expectFailure(.cancelled) {
            _ = try await bench.pull().run(control: control) { _ in control.stop() }
        }
        let steps = Mutex<[PullProgress]>([])
        let stopped = TransferControl()
        stopped.stop()
        await expectFailure(.cancelled) {
            _ = try await bench.pull().run(control: stopped) { step in steps.withLock { $0.append(step) } }
        }
        #expect(steps.withLock { $0 } == [PullProgress(photos: 6, pages: 2, expected: 8, attempt: 1)])
    }

    @Test func aPullIsCompleteWithoutTheServersCounts() async throws {
        let bench = try PullBench(ServerPhotos(4))
        bench.server.change { $0.statusCode = 404 }
        let result = try await bench.pull().run()
        #expect(result.status == nil)
        #expect(!result.advisesFull)
        #expect(try bench.state()?.lastFullAt != nil)
    }
}
