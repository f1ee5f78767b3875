import Foundation
import MediaStore
import MediaTransport
import Synchronization
import Testing

@testable import PhotoSync

/// Claiming legacy photos, verified by counting (photosync contract section 7).
@Suite struct ClaimTests {
    /// `legacy` photos without a device, two from a phone and one from this device.
    private func bench(legacy: Int, device: String? = ServerPhotos.device.id) throws -> PullBench {
        var serverPhotos = ServerPhotos(0, pageSize: 400)
        for number in 0..<legacy { serverPhotos.insert(ServerPhotos.photo(number, origin: nil)) }
        serverPhotos.insert(ServerPhotos.photo(5001))
        serverPhotos.insert(ServerPhotos.photo(5002))
        serverPhotos.insert(ServerPhotos.photo(5003, origin: ServerPhotos.device))
        return try PullBench(serverPhotos, device: device)
    }

    private func legacyIDs(_ bench: PullBench) -> [String] {
        bench.server.serverPhotos.photos.filter { $0.originDevice == nil }.map(\.id)
    }

    /// `legacy-photos` never returns more than 500, and has no cursor; the listing has one.
    @Test func theListContainsMoreThanFiveHundred() async throws {
        let bench = try bench(legacy: 1203)
        let listed = Mutex<[PhotoRecord]>([])
        let count = try await LegacyClaim(bench.account).list { block in listed.withLock { $0 += block } }
        #expect(count == 1203)
        #expect(listed.withLock { $0.map(\.id) } == legacyIDs(bench))
        // The query does not change `lastSyncAt`.
        #expect(bench.server.requests.allSatisfy { $0.device == nil })
        struct Enough: Error {}
        await #expect(throws: Enough.self) {
            _ = try await LegacyClaim(bench.account).list { _ in throw Enough() }
        }
    }

    @Test func aPlanSeparatesClaimedFromUnknownAndSendsNoClaim() async throws {
        let bench = try bench(legacy: 3)
        let legacy = legacyIDs(bench)
        let phone = ServerPhotos.photo(5001).id
        let plan = try await LegacyClaim(bench.account)
            .plan(.ids([legacy[1], "no-such-photo", phone, legacy[0], legacy[1]]))
        #expect(plan.ids == [legacy[1], legacy[0]])
        #expect(plan.count == 2)
        #expect(plan.alreadyClaimed == [phone])
        #expect(plan.unknown == ["no-such-photo"])
        #expect(plan.before.legacyPhotos == 3)
        let all = try await LegacyClaim(bench.account).plan(.all)
        #expect((all.count, all.ids) == (3, []))
        #expect(bench.server.claims.isEmpty)
    }

    /// The server would claim any ID of any user: only IDs from the user's own listing are sent, 500 per request.
    @Test func idsAreClaimedInBlocksAndThenCounted() async throws {
        let bench = try bench(legacy: 1203)
        _ = try await bench.pull().run()
        let legacy = legacyIDs(bench)
        let claim = LegacyClaim(bench.account)
        let plan = try await claim.plan(.ids(Array(legacy.prefix(1100)) + ["foreign", ServerPhotos.photo(5001).id]))
        let result = try await claim.run(plan)
        #expect(bench.server.claims.map { $0?.count } == [500, 500, 100])
        #expect(bench.server.claims.flatMap { $0 ?? [] } == Array(legacy.prefix(1100)))
        #expect(result.claimed == 1100)
        #expect(result.alreadyClaimed == 1)
        #expect(result.failed == 1)
        #expect(result.remaining == 103)
        #expect(result.after.devicePhotos == 1101)
        // The index is updated immediately.
        #expect(try bench.listed == bench.server.serverPhotos.photos)

        // The plan is run again, although every photo already has a device.
        let again = try await claim.run(try await claim.plan(.ids(Array(legacy.prefix(1100)))))
        #expect((again.claimed, again.alreadyClaimed, again.failed) == (0, 1100, 0))
        #expect(bench.server.claims.count == 3)
    }

    @Test func allAreClaimedInOneStep() async throws {
        let bench = try bench(legacy: 700)
        _ = try await bench.pull().run()
        let claim = LegacyClaim(bench.account)
        let plan = try await claim.plan(.all)
        #expect(plan.count == 700)
        // Two more photos appear between the plan and the claim: they are claimed and counted as well.
        bench.server.change { state in
            for number in 800..<802 { state.serverPhotos.insert(ServerPhotos.photo(number, origin: nil)) }
        }
        let result = try await claim.run(plan)
        #expect(bench.server.claims == [nil])
        #expect((result.claimed, result.alreadyClaimed, result.failed, result.remaining) == (702, 0, 0, 0))
        _ = try await bench.pull().run()
        #expect(try bench.listed == bench.server.serverPhotos.photos)
        let again = try await claim.run(try await claim.plan(.all))
        #expect((again.claimed, again.failed) == (0, 0))
    }

    /// The `claimed` count from the server is not trusted.
    @Test(arguments: [LegacyClaim.Selection.all, .ids([ServerPhotos.photo(0).id, ServerPhotos.photo(1).id])])
    func aClaimWithoutEffectHasFailed(_ selection: LegacyClaim.Selection) async throws {
        let bench = try bench(legacy: 2)
        bench.server.change { $0.ignoresClaims = true }
        let claim = LegacyClaim(bench.account)
        let result = try await claim.run(try await claim.plan(selection))
        #expect((result.claimed, result.alreadyClaimed, result.failed, result.remaining) == (0, 0, 2, 2))
    }

    @Test func photosClaimedByAnotherDeviceAreReported() async throws {
        let bench = try bench(legacy: 3)
        let claim = LegacyClaim(bench.account)
        let ids = legacyIDs(bench)
        let plan = try await claim.plan(.ids(ids))
        bench.server.change { state in
            state.serverPhotos.setOrigin(ServerPhotos.phone, of: ids[0])
            state.serverPhotos.remove(ids[1])
        }
        let result = try await claim.run(plan)
        #expect((result.claimed, result.alreadyClaimed, result.failed, result.remaining) == (1, 1, 1, 0))
    }

    /// Trap 10.
    @Test func aDeviceOfAnotherUserIsInvalid() async throws {
        let bench = try bench(legacy: 2, device: ServerPhotos.phone.id)
        let claim = LegacyClaim(bench.account)
        let plan = try await claim.plan(.all)
        await expectFailure(.invalidDevice) { _ = try await claim.run(plan) }
        let none = try self.bench(legacy: 2, device: nil)
        await expectFailure(.noDevice) { _ = try await LegacyClaim(none.account).run(plan) }
        #expect(none.server.requests.isEmpty)
    }

    @Test func aStopBeforeTheFirstBlockSendsNoClaim() async throws {
        let bench = try bench(legacy: 600)
        let claim = LegacyClaim(bench.account)
        let plan = try await claim.plan(.ids(legacyIDs(bench)))
        let control = TransferControl()
        control.stop()
        await expectFailure(.cancelled) { _ = try await claim.run(plan, control: control) }
        #expect(bench.server.claims.isEmpty)
    }
}
