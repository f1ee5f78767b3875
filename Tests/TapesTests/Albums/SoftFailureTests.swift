import Foundation
import MediaStore
import MediaTransport
import Testing

@testable import Tapes

/// R9, R14, R15 and trap 5: failures are stored in the tape, clip by clip, and retried.
@Suite struct SoftFailureTests {
    private static let unreachable = AlbumError(.unreachable(retryAfter: nil))

    @Test(
        "R9: any failure leaves the clips pending, with a reason and a time for the next attempt",
        arguments: ["access", "identity", "create", "resolve", "add"],
        [
            (AlbumError.Kind.unreachable(retryAfter: nil), AssociationReason.unreachable), (.quota, .quota),
            (.unauthorized, .accessDenied), (.insufficient(["x"]), .accessLimited),
            (.libraryChanged, .libraryChanged),
        ]
    )
    func soft(_ place: String, _ failure: (AlbumError.Kind, AssociationReason)) async throws {
        let (bench, id) = try AlbumBench.withTape("Summer", ["a", "b"])
        bench.library.configure { $0.failures[place] = [AlbumError(failure.0, detail: "words")] }
        let outcome = try await bench.service().associate(id)
        #expect(outcome.reason == failure.1 && outcome.detail == "words" && outcome.pendingClips == 2)
        #expect(try bench.clips(id) == ["a pending \(failure.1.rawValue)", "b pending \(failure.1.rawValue)"])
        // The next run after the repair completes the album.
        try bench.add(["c"], to: id)
        let next = try await bench.service().associate(id, isRequested: failure.1.isOfAccess)
        #expect(next.state == .associated)
        #expect(try bench.assets(id) == ["/a", "/b", "/c"])
        #expect(bench.library.albums.count == 1)
    }

    @Test("R9: backoff starts at one minute and doubles up to a day, or is the longer delay that the library requests")
    func backoff() {
        let minutes = (1...13).map { RetryPolicy.album.delay(after: $0) / .seconds(60) }
        #expect(minutes == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1440, 1440])
        #expect(RetryPolicy.album.delay(after: 2000) == .seconds(86_400))
        #expect(RetryPolicy.album.delay(after: 1, retryAfter: .seconds(30)) == .seconds(60))
        #expect(RetryPolicy.album.delay(after: 1, retryAfter: .seconds(300)) == .seconds(300))
    }

    @Test("R9: nothing is retried automatically before it is due; everything is retried on request or by an add")
    func waiting() async throws {
        let (bench, id) = try AlbumBench.withTape("Summer", ["a"])
        bench.library.configure {
            $0.failures["create"] = [AlbumError(.unreachable(retryAfter: .seconds(90))), Self.unreachable]
        }
        _ = try await bench.service().associate(id)
        let clip = try #require(try bench.store.clips(of: id).first)
        #expect(clip.attempts == 1 && clip.nextAttemptAt == bench.clock.now + 90)
        bench.library.forgetCalls()

        bench.clock.advance(89)
        let early = try await bench.service().associate(id)
        #expect(early.state == .pending && early.reason == .unreachable && bench.library.calls.isEmpty)
        bench.clock.advance(1)
        _ = try await bench.service().associate(id)
        #expect(try bench.store.clips(of: id).first?.nextAttemptAt == bench.clock.now + 120)
        #expect(try await bench.service().associate(id, isRequested: true).state == .associated)
        #expect(try bench.store.clips(of: id).first?.attempts == 0)
    }

    @Test("R9, trap 5: a partial response is stored per asset; successes are not repeated")
    func partial() async throws {
        let (bench, id) = try AlbumBench.withTape("Summer", ["a", "b", "c", "d"])
        bench.library.configure { $0.results = ["/b": [.failed("busy")], "/d": [.alreadyInAlbum]] }
        let outcome = try await bench.service().associate(id)
        #expect(outcome.state == .partly && outcome.addedClips == 3 && outcome.pendingClips == 1)
        #expect(outcome.reason == .internalError && outcome.detail == "busy")
        #expect(try bench.clips(id) == ["a linked", "b pending internal", "c linked", "d linked"])
        // The tape has its album: that does not hide the clip (trap 5).
        #expect(try bench.state(id) == "associated")
        #expect(try bench.service().reconcilePlan().tapes.map(\.id) == [id])

        bench.library.forgetCalls()
        bench.clock.advance(60)
        #expect(try await bench.service().associate(id).state == .associated)
        #expect(bench.library.calls.contains(.add(["/b"], to: "album-1")))
    }

    @Test("an asset that the library cannot hold is refused permanently, without another attempt")
    func rejected() async throws {
        let (bench, id) = try AlbumBench.withTape("Summer", ["a", "b"])
        bench.library.configure { $0.results = ["/a": [.rejected("its name is too long")]] }
        let outcome = try await bench.service().associate(id)
        #expect(try bench.clips(id) == ["a failed asset_rejected", "b linked"])
        #expect(outcome.reason == .assetRejected && outcome.detail == "its name is too long")
        #expect(bench.library.work == ["create", "resolve", "add", "arrange"])
        #expect(try bench.service().reconcilePlan().tapes.isEmpty)
    }

    @Test("a rejected asset is resolved again once; then it is refused permanently")
    func notAllowed() async throws {
        let (bench, id) = try AlbumBench.withTape("Summer", ["a", "b", "c"])
        bench.library.configure {
            $0.results = ["/a": [.notAllowed], "/b": [.notAllowed, .notAllowed], "/c": [.notFound]]
        }
        let outcome = try await bench.service().associate(id)
        #expect(try bench.clips(id) == ["a linked", "b failed asset_rejected", "c linked"])
        #expect(outcome.state == .partly && outcome.reason == .assetRejected)
        #expect(bench.library.work == ["create", "resolve", "add", "resolve", "add", "arrange"])
        // A permanent refusal is not retried, even on request, and is not pending work.
        bench.library.forgetCalls()
        _ = try await bench.service().associate(id, isRequested: true)
        #expect(!bench.library.work.contains("add"))
        #expect(try bench.service().reconcilePlan().tapes.isEmpty)
    }

    @Test(
        "R14, R15, 2.2: a library's result for an original, and the state of its clip",
        arguments: [
            (AssetResolution.unavailable("not mounted"), "pending original_unavailable", true),
            (.unidentified, "pending asset_unidentified", true), (.rejected("a text"), "failed asset_rejected", false),
            (.failed(AlbumError(.unreachable(retryAfter: nil))), "pending unreachable", true),
            (.failed(AlbumError(.quota)), "pending quota", true),
            (.failed(AlbumError(.insufficient(["asset.upload"]))), "pending access_limited", true),
            (.failed(AlbumError(.rejected(status: 400))), "failed asset_rejected", false),
            (.asset(Array("/x".utf8), isHidden: true), "linked", false),
        ]
    )
    func resolution(_ response: AssetResolution, _ state: String, _ isRetried: Bool) async throws {
        let (bench, id) = try AlbumBench.withTape("Summer", ["a", "b"])
        bench.library.configure { $0.resolutions["/a"] = response }
        let outcome = try await bench.service().associate(id)
        #expect(try bench.clips(id) == ["a \(state)", "b linked"])
        #expect(outcome.hiddenClips == (state == "linked" ? 1 : 0))
        #expect(try bench.state(id) == "associated")
        #expect(try bench.store.clips(of: id).map { $0.nextAttemptAt != nil } == [isRetried, false])
        bench.library.configure { $0.resolutions = [:] }
        bench.clock.advance(60)
        _ = try await bench.service().associate(id)
        #expect(try bench.clips(id).first == (state.hasPrefix("failed") ? "a \(state)" : "a linked"))
    }

    @Test("R14: an add waits for an unavailable original only when it is due")
    func away() async throws {
        let (bench, id) = try AlbumBench.withTape("Summer", ["a"])
        bench.library.configure { $0.resolutions["/a"] = .unavailable("not mounted") }
        _ = try await bench.service().associate(id)
        try bench.add(["b"], to: id)
        bench.library.forgetCalls()
        _ = try await bench.service().associate(id)
        #expect(bench.library.calls.contains(.resolve(["/b"])))
        bench.clock.advance(60)
        _ = try await bench.service().associate(id)
        #expect(bench.library.calls.contains(.resolve(["/a"])))
    }

    @Test("R15: an unidentified clip is retried with the next clip, and one without a path cannot be identified")
    func unidentified() async throws {
        let (bench, id) = try AlbumBench.withTape("Summer", ["a"])
        let bare = ClipRecord(id: UUID().uuidString.lowercased(), tapeID: id, kind: .image, source: nil)
        _ = try bench.store.addClips([bare], to: id, at: nil, now: bench.clock.now)
        bench.library.configure { $0.resolutions["/a"] = .unidentified }
        _ = try await bench.service().associate(id)
        #expect(try bench.clips(id) == ["a pending asset_unidentified", " unlinkable asset_unidentified"])
        bench.library.configure { $0.resolutions = [:] }
        try bench.add(["b"], to: id)
        _ = try await bench.service().associate(id)
        #expect(try bench.assets(id) == ["/a", "/b"])
    }

    @Test("responses that do not match the request are invalid")
    func misfit() async throws {
        let (bench, id) = try AlbumBench.withTape("Summer", ["a"])
        bench.library.configure { $0.failures["resolve"] = [AlbumError(.rejected(status: 400), detail: "our defect")] }
        let outcome = try await bench.service().associate(id)
        // R5 never applies, and nothing is retried for a day.
        #expect(outcome.reason == .rejected && bench.library.albums.count == 1)
        #expect(try bench.store.clips(of: id).first?.nextAttemptAt == bench.clock.now + 86_400)
    }

    @Test("trap 8: an original that occurs twice is one asset and two clips")
    func twice() async throws {
        let (bench, id) = try AlbumBench.withTape("Summer", ["a", "a"])
        let outcome = try await bench.service().associate(id)
        #expect(outcome.addedClips == 2 && bench.library.calls.contains(.add(["/a"], to: "album-1")))
        #expect(try bench.clips(id) == ["a linked", "a linked"])
    }
}
