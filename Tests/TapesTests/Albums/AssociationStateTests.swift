import Foundation
import MediaStore
import Testing

@testable import Tapes

/// Contract 2.1 and 2.2: every transition of the two state machines.
@Suite struct AssociationStateTests {
    /// One transition between two states of a tape.
    struct Arrow: Sendable, CustomTestStringConvertible {
        var before: String
        var event: String
        var after: String
        /// Causes the event, given a tape's ID.
        var happens: @Sendable (AlbumBench, String) async throws -> Void

        var testDescription: String { "\(before) --\(event)--> \(after)" }

        init(
            _ before: String,
            _ event: String,
            _ after: String,
            _ happens: @escaping @Sendable (AlbumBench, String) async throws -> Void
        ) {
            self.before = before
            self.event = event
            self.after = after
            self.happens = happens
        }
    }

    private static let ofTapes: [Arrow] = [
        Arrow("none", "no clip", "none") { bench, id in _ = try await bench.service().associate(id) },
        Arrow("none", "first clip", "pending_association never_tried") { bench, id in try bench.add(["a"], to: id) },
        Arrow("pending_association never_tried", "album created", "associated") { bench, id in
            _ = try await bench.service().associate(id)
        },
        Arrow("pending_association never_tried", "access refused", "pending_association access_denied") { bench, id in
            bench.library.configure { $0.addOnly = AlbumAccess(.denied, fingerprint: "1") }
            _ = try await bench.service().associate(id)
        },
        Arrow("pending_association never_tried", "refused otherwise", "pending_association access_limited") {
            bench,
            id in
            bench.library.configure { $0.addOnly = AlbumAccess(.denied, fingerprint: "1") }
            _ = try await bench.service().associate(id)
            bench.library.configure {
                $0.addOnly = AlbumAccess(.limited(missing: ["x"]), fingerprint: "2")
                $0.failures["create"] = [AlbumError(.insufficient(["x"]))]
            }
            _ = try await bench.service().associate(id)
        },
        Arrow("pending_association never_tried", "no response", "pending_association unreachable") { bench, id in
            bench.library.configure { $0.failures["identity"] = [AlbumError(.unreachable(retryAfter: nil))] }
            _ = try await bench.service().associate(id)
        },
        Arrow("associated", "next clip", "associated") { bench, id in
            try bench.add(["b"], to: id)
            _ = try await bench.service().associate(id)
        },
        Arrow("associated", "no response", "associated") { bench, id in
            try bench.add(["b"], to: id)
            bench.library.configure { $0.failures["identity"] = [AlbumError(.unreachable(retryAfter: nil))] }
            _ = try await bench.service().associate(id)
        },
        Arrow("associated", "album found missing", "pending_association album_missing") { bench, id in
            bench.library.meddle { $0.albums = [:] }
            _ = try await bench.service().verifyAlbums { _, _ in }
        },
        Arrow("associated", "found missing, and created again", "associated") { bench, id in
            bench.library.meddle { $0.albums = [:] }
            _ = try await bench.service().verifyAlbums { _, _ in }
            _ = try await bench.service().associate(id)
        },
        Arrow("associated", "found missing, creation fails", "pending_association create_failed") { bench, id in
            bench.library.meddle { $0.albums = [:] }
            bench.library.configure { $0.failures["create"] = [AlbumError(.rejected(status: 400))] }
            try bench.add(["b"], to: id)
            _ = try await bench.service().associate(id)
        },
        Arrow("associated", "library differs", "pending_association library_changed") { bench, id in
            bench.library.configure { $0.identity.libraryID = "test:two" }
            try bench.add(["b"], to: id)
            _ = try await bench.service().associate(id)
        },
        Arrow("associated", "library not recognized", "pending_association library_changed") { bench, id in
            bench.library.configure { $0.failures["identity"] = [AlbumError(.libraryChanged)] }
            try bench.add(["b"], to: id)
            _ = try await bench.service().associate(id)
        },
        Arrow("associated", "renamed", "associated") { bench, id in
            _ = try bench.store.changeTape(id, at: bench.clock.now) { $0.title = "Other" }
        },
        Arrow("associated", "last clip removed", "associated") { bench, id in
            let clips = try bench.store.clips(of: id).map(\.id)
            _ = try await bench.service(AlbumBench.deleting).removeClips(clips, of: id)
        },
    ]

    @Test("2.1: states of a tape", arguments: ofTapes)
    func tape(_ arrow: Arrow) async throws {
        let (bench, id) = try AlbumBench.withTape("Summer", arrow.before == "none" ? [] : ["a"])
        if arrow.before == "associated" { _ = try await bench.service().associate(id) }
        #expect(try bench.state(id) == arrow.before)
        let link = try bench.link(id)
        try await arrow.happens(bench, id)
        #expect(try bench.state(id) == arrow.after)
        // The row is kept regardless of the album.
        if let link { #expect(try bench.store.albumLinks(of: id).contains { $0.libraryID == link.libraryID }) }
        // All clips are still stored, in order.
        #expect(try bench.store.clips(of: id).map(\.position) == Array(0..<bench.store.clips(of: id).count))
    }

    private static let ofClips: [Arrow] = [
        Arrow("pending", "added", "linked") { bench, id in _ = try await bench.service().associate(id) },
        Arrow("pending", "no response", "pending unreachable") { bench, id in
            bench.library.configure { $0.failures["add"] = [AlbumError(.unreachable(retryAfter: nil))] }
            _ = try await bench.service().associate(id)
        },
        Arrow("pending", "refused permanently", "failed asset_rejected") { bench, id in
            bench.library.configure { $0.resolutions["/a"] = .rejected("") }
            _ = try await bench.service().associate(id)
        },
        Arrow("pending", "its album recreated", "linked") { bench, id in
            _ = try await bench.service().associate(id)
            bench.library.meddle { $0.albums = [:] }
            _ = try await bench.service().associate(id, isRequested: true)
        },
        // R5: a new album must be complete, so its result for a clip may differ.
        Arrow("pending", "refused, then its album recreated", "linked") { bench, id in
            bench.library.configure { $0.resolutions["/a"] = .rejected("") }
            _ = try await bench.service().associate(id)
            bench.library.meddle { $0.albums = [:] }
            bench.library.configure { $0.resolutions = [:] }
            _ = try await bench.service().associate(id, isRequested: true)
        },
        Arrow("pending", "recreated, but empty", "pending unreachable") { bench, id in
            _ = try await bench.service().associate(id)
            bench.library.meddle { $0.albums = [:] }
            bench.library.configure { $0.failures["resolve"] = [AlbumError(.unreachable(retryAfter: nil))] }
            _ = try await bench.service().associate(id, isRequested: true)
        },
    ]

    @Test("2.2: states of a clip", arguments: ofClips)
    func clip(_ arrow: Arrow) async throws {
        let (bench, id) = try AlbumBench.withTape("Summer", ["a"])
        #expect(try bench.clips(id) == ["a \(arrow.before)"])
        try await arrow.happens(bench, id)
        #expect(try bench.clips(id) == ["a \(arrow.after)"])
    }
}
