import Foundation
import MediaStore
import Testing

@testable import Tapes

/// R10, R18, R19 and trap 22: what access allows, how long a refusal is trusted, the setting that disables albums,
/// and what is logged.
@Suite struct AlbumAccessTests {
    private static func denied(_ fingerprint: String) -> AlbumAccess {
        AlbumAccess(.denied, fingerprint: fingerprint, detail: "no")
    }

    @Test(
        "R10: refused access leaves the tape pending with its reason, and is not requested by every command (trap 22)",
        arguments: [
            (AlbumAccess.State.denied, AssociationReason.accessDenied), (.restricted, .accessDenied),
            (.notDetermined, .accessNotDetermined),
        ]
    )
    func refused(_ state: AlbumAccess.State, _ reason: AssociationReason) async throws {
        let (bench, id) = try AlbumBench.withTape("Summer", ["a"])
        bench.library.configure { $0.addOnly = AlbumAccess(state, fingerprint: "f1", detail: "no") }
        let outcome = try await bench.service().associate(id)
        #expect(outcome.state == .pending && outcome.reason == reason && outcome.detail == "no")
        #expect(try bench.state(id) == "pending_association \(reason.rawValue)")
        #expect(try bench.clips(id) == ["a pending \(reason.rawValue)"])
        #expect(try bench.store.albumLibrary(kind: "test", address: "/one")?.refusedFingerprint == "f1")

        // An unchanged grant is only checked, and the attempt does not count.
        bench.library.forgetCalls()
        try bench.add(["b"], to: id)
        #expect(try await bench.service().associate(id).reason == reason)
        #expect(bench.library.calls == [.access("add_only")])
        #expect(try bench.store.clips(of: id).map(\.attempts) == [1, 0])

        // After a new grant, the tape is retried automatically, at once.
        bench.library.configure { $0.addOnly = AlbumAccess(.authorized, fingerprint: "f2") }
        #expect(try await bench.service().associate(id).state == .associated)
        #expect(try bench.store.albumLibrary(kind: "test", address: "/one")?.refusedFingerprint == nil)
    }

    @Test("a library written by a newer version is used as soon as this version supports it, without another grant")
    func newerVersion() async throws {
        let (bench, id) = try AlbumBench.withTape("Summer", ["a"])
        bench.library.configure {
            $0.addOnly = AlbumAccess(.restricted, fingerprint: "f1", detail: "newer")
            $0.addOnly.obstacle = .newerVersion
        }
        let outcome = try await bench.service().associate(id)
        #expect(outcome.reason == .accessDenied && outcome.obstacle == .newerVersion)
        bench.library.configure { $0.addOnly = AlbumAccess(.authorized, fingerprint: "f1") }
        #expect(try await bench.service().associate(id).state == .associated)
    }

    @Test("R10: an explicit request retries regardless of the fingerprint", arguments: [false, true])
    func requestedExplicitly(_ isGrant: Bool) async throws {
        let (bench, id) = try AlbumBench.withTape("Summer", ["a"])
        bench.library.configure { $0.failures["create"] = [AlbumError(.unauthorized)] }
        #expect(try await bench.service().associate(id).reason == .accessDenied)
        #expect(try await bench.service().associate(id).reason == .accessDenied)
        #expect(bench.library.work == ["create"])
        if isGrant { _ = try await bench.service().requestAccess(.addOnly) }
        #expect(try await bench.service().associate(id, isRequested: !isGrant).state == .associated)
    }

    @Test("R10: limited access is used where it suffices; only operations beyond it are refused")
    func limited() async throws {
        let (bench, id) = try await AlbumBench.withAlbum()
        bench.library.configure { $0.addOnly = AlbumAccess(.limited(missing: ["album.create"]), fingerprint: "less") }
        try bench.add(["b"], to: id)
        let first = try await bench.service().associate(id)
        #expect(first.state == .associated && first.missingPermissions == ["album.create"])

        let other = try bench.tape("Other", ["c"])
        bench.library.configure { $0.failures["create"] = [AlbumError(.insufficient(["album.create"]))] }
        let second = try await bench.service().associate(other)
        #expect(second.reason == .accessLimited && second.missingPermissions == ["album.create"])
        #expect(try bench.state(other) == "pending_association access_limited")
        bench.library.forgetCalls()
        #expect(try await bench.service().associate(other).reason == .accessLimited)
        #expect(bench.library.calls == [.access("add_only")])
        // Clips can still be added to an existing album.
        try bench.add(["d"], to: id)
        #expect(try await bench.service().associate(id).state == .associated)
        #expect(try await bench.service().associate(other).reason == .accessLimited)
        #expect(!bench.library.work.contains("create"))
    }

    @Test("R10: if the grant forbids new albums, none is created, and clips are added to existing ones")
    func forbidden() async throws {
        let (bench, old) = try await AlbumBench.withAlbum()
        let missing = ["asset.upload"]
        bench.library.configure {
            $0.addOnly = AlbumAccess(.limited(missing: missing), fingerprint: "less", forbidsNewAlbums: true)
        }
        let id = try bench.tape("Other", ["c"])
        let outcome = try await bench.service().associate(id)
        #expect(outcome.state == .pending && !outcome.isCreated)
        #expect(outcome.reason == .accessLimited && outcome.missingPermissions == missing)
        #expect(try bench.state(id) == "pending_association access_limited")
        #expect(bench.library.work.isEmpty)
        try bench.add(["b"], to: old)
        #expect(try await bench.service().associate(old).state == .associated)
        bench.library.configure { $0.addOnly = AlbumAccess(.authorized, fingerprint: "more") }
        #expect(try await bench.service().associate(id).state == .associated)
    }

    @Test("access that has never been requested is requested once")
    func request() async throws {
        let bench = try AlbumBench()
        bench.library.configure {
            $0.addOnly = AlbumAccess(.notDetermined, fingerprint: "none")
            $0.granted = AlbumAccess(.authorized, fingerprint: "all")
        }
        let id = try bench.tape("Summer", ["a"])
        #expect(try await bench.service().associate(id).state == .associated)
        #expect(bench.library.calls.prefix(3) == [.access("add_only"), .request("add_only"), .identity])
    }

    @Test("status sends a query and changes nothing; a request stores the result")
    func status() async throws {
        let bench = try AlbumBench()
        let status = try await bench.service().status()
        #expect(status.identity?.libraryID == "test:one" && status.addOnly?.state == .authorized)
        #expect(!bench.library.calls.map(\.name).contains("request"))
        #expect(try bench.store.albumLibrary(kind: "test", address: "/one") == nil)
        bench.library.configure {
            $0.failures["access"] = [AlbumError(.unreachable(retryAfter: nil), detail: "silent")]
        }
        let silent = try await bench.service().status()
        #expect(silent.reason == .unreachable && silent.detail == "silent" && silent.identity == nil)
        bench.library.configure { $0.addOnly = AlbumAccess(.denied, fingerprint: "none") }
        _ = try await bench.service().associate(try bench.tape("Summer", ["a"]))
        let address = ("test", "/one")
        #expect(try bench.store.albumLibrary(kind: address.0, address: address.1)?.refusedFingerprint == "none")
        // A refusal is discarded even without a response.
        bench.library.configure { $0.failures["request"] = [AlbumError(.unreachable(retryAfter: nil))] }
        #expect(try await bench.service().requestAccess(.addOnly).reason == .unreachable)
        #expect(try bench.store.albumLibrary(kind: address.0, address: address.1)?.refusedFingerprint == nil)
        bench.library.configure {
            $0.addOnly = AlbumAccess(.authorized, fingerprint: "all")
            $0.granted = AlbumAccess(.authorized, fingerprint: "all")
        }
        _ = try await bench.service().requestAccess(.readWrite)
        #expect(bench.library.calls.contains(.request("read_write")))
        #expect(try bench.store.albumLibrary(kind: "test", address: "/one")?.libraryID == "test:one")
    }

    @Test("R18: with albums disabled, the library is not called, and tapes become pending")
    func killSwitch() async throws {
        let (bench, linked) = try await AlbumBench.withAlbum()
        let policy = AlbumService.Policy(isEnabled: false, deletesAlbums: true)
        let service = bench.service(policy)
        let id = try bench.tape("Other", ["b"])
        #expect(try await service.associate(id, isRequested: true).state == .skipped)
        #expect(try await service.file(Array("/v.mp4".utf8), into: id).state == .skipped)
        #expect(try await service.rearrange(linked).state == .skipped)
        #expect(try service.reconcilePlan() == ReconcilePlan(tapes: [], tombstones: []))
        #expect(try await service.reconcile(limit: 20) { _, _ in }.done == 0)
        let off = await #expect(throws: TapesError.self) { try await service.verifyAlbums { _, _ in } }
        #expect(off?.code == .albumsOff)
        await #expect(throws: TapesError.self) { try await service.link(id, to: "album-1") }
        _ = try await service.status()
        _ = try await service.requestAccess(.readWrite)
        #expect(try bench.state(id) == "pending_association never_tried")
        let clip = try #require(try bench.store.clips(of: linked).first)
        #expect(try await service.removeClips([clip.id], of: linked).album.state == .skipped)
        _ = try await service.deleteTape(linked, keepingAlbum: false)
        #expect(bench.library.calls.isEmpty && bench.library.albums["album-1"]?.assets == ["/a"])
        // Once enabled again, the pending updates are applied.
        #expect(try await bench.service().associate(id).state == .associated)
    }

    @Test("R19: events contain the IDs of tape and album; titles and paths are only in the details")
    func events() async throws {
        let (bench, id) = try AlbumBench.withTape("Summer", ["a", "b", "c"])
        bench.library.configure { $0.results = ["/b": [.failed("/b is busy")]] }
        bench.library.configure { $0.resolutions = ["/c": .unavailable("/c is away")] }
        _ = try await bench.service().associate(id)
        _ = try await bench.service().associate(id, isRequested: true)
        bench.library.meddle { $0.albums = [:] }
        _ = try await bench.service().associate(id, isRequested: true)
        let clip = try #require(try bench.store.clips(of: id).first)
        _ = try await bench.service(AlbumBench.deleting).removeClips([clip.id], of: id)
        _ = try await bench.service(AlbumBench.deleting).deleteTape(id, keepingAlbum: false)
        let events = bench.events.all
        let kinds: Set = Set(events.map(\.kind))
        #expect(kinds == [.ensure, .create, .reuse, .add, .remove, .delete, .pending])
        #expect(events.allSatisfy { $0.tapeID == id })
        #expect(events.first { $0.kind == .create }?.albumID == "album-1")
        for event in events {
            #expect(!event.message.contains("Summer") && !event.message.contains("/"), "\(event)")
        }
        #expect(events.contains { $0.details.contains("/c is away") })
        #expect(events.contains { $0.details.contains("Tapes – Summer") })
    }
}
