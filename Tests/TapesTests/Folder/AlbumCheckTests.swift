import Foundation
import Glibc
import MediaStore
import TestSupport
import Testing

@testable import Tapes

/// Manual changes in the folder of an album are found, and repaired on request.
@Suite struct AlbumCheckTests {
    private let bench: Bench

    init() async throws { bench = try await Bench() }

    private struct Bench {
        let fixture: FolderFixture
        let tape: String
        let witness: OriginalsWitness

        init() async throws {
            let fixture = try await FolderFixture.ready()
            let paths = try ["a.jpg", "b.jpg", "c.jpg"].map { try fixture.original($0) }
            self.fixture = fixture
            tape = try fixture.store.makeTape("Summer", paths)
            witness = try fixture.witness()
            #expect(try await service.associate(tape).state == .associated)
        }

        var service: AlbumService {
            AlbumService(store: fixture.store, directory: fixture.data, library: fixture.library)
        }

        func findings() async throws -> [String] {
            try await service.verify(tape).findings.map { Self.words($0) }.sorted()
        }

        /// `show` performs these checks.
        func seen() async throws -> [String]? {
            let record = try #require(try fixture.store.tape(tape))
            return try await service.look(at: record, try fixture.store.clips(of: tape))?.map { Self.words($0) }
        }

        static func words(_ finding: AlbumFinding) -> String {
            let names = [finding.path, finding.other].compactMap { $0 }
                .map { String(decoding: $0.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self) }
            return ([finding.kind.rawValue] + names).joined(separator: " ")
        }

        /// Expects a complete album, with these other files.
        func expectWhole(_ others: [String] = []) throws {
            let names = [".mediactl-album.json", "0001-a.jpg", "0002-b.jpg", "0003-c.jpg", "tape.m3u8"] + others
            #expect(try fixture.names() == names.sorted())
            for name in ["0001-a.jpg", "0002-b.jpg", "0003-c.jpg"] {
                #expect(try fixture.target(name) == "../../2024/" + name.dropFirst(5))
            }
            try witness.check()
        }
    }

    @Test("an album that matches its tape has no findings") func whole() async throws {
        #expect(try await bench.findings().isEmpty)
        #expect(try await bench.seen() == [])
        let folder = try OriginalsWitness(bench.fixture.root)
        #expect(try await bench.service.repair(bench.tape).repaired.isEmpty)
        try folder.check()
        // Rule R8: a rename does not change any album, and is not a finding.
        _ = try bench.fixture.store.changeTape(bench.tape, at: Date()) { $0.title = "Winter" }
        #expect(try await bench.findings().isEmpty)
    }

    /// A manual change.
    enum Change: String, CaseIterable {
        case deleted, renamed, replaced, deletedPlaylist, editedPlaylist, unfinishedWrite, swapped, forgotten
    }

    @Test("manual changes are found and repaired; foreign files are kept", arguments: Change.allCases)
    func changed(_ change: Change) async throws {
        let files = FileManager.default
        func path(_ name: String) -> String { bench.fixture.path(name) }
        let expected: [String]
        var seen: [String] = []
        switch change {
        case .deleted:
            try files.removeItem(atPath: path("0002-b.jpg"))
            // The playlist refers to the link.
            expected = ["link_missing 0002-b.jpg", "playlist_outdated tape.m3u8"]
            seen = ["link_missing 0002-b.jpg"]
        case .renamed:
            try files.moveItem(atPath: path("0002-b.jpg"), toPath: path("best.jpg"))
            expected = ["link_renamed 0002-b.jpg best.jpg", "playlist_outdated tape.m3u8"]
            // Only names in the manifest are checked.
            seen = ["link_missing 0002-b.jpg"]
        case .replaced:
            try files.removeItem(atPath: path("0002-b.jpg"))
            try bench.fixture.write("mine", to: path("0002-b.jpg"))
            expected = ["link_replaced 0002-b.jpg", "playlist_outdated tape.m3u8"]
            seen = ["link_replaced 0002-b.jpg"]
        case .deletedPlaylist:
            try files.removeItem(atPath: path("tape.m3u8"))
            expected = ["playlist_missing tape.m3u8"]
        case .editedPlaylist:
            try bench.fixture.write("#EXTM3U\n#PLAYLIST:Summer\n#EXTINF:4,x\n./0003-c.jpg\n", to: path("tape.m3u8"))
            expected = ["playlist_outdated tape.m3u8"]
        case .unfinishedWrite:
            try bench.fixture.write("half", to: path(".tape.m3u8.mediactl-part"))
            expected = ["temporary_file .tape.m3u8.mediactl-part"]
        case .swapped:
            // The album as 0.1.0 left it after a move: in the order in which the clips were added.
            let first = try #require(try bench.fixture.store.clips(of: bench.tape).last)
            _ = try bench.fixture.store.moveClip(first.id, of: bench.tape, to: 0, now: Date())
            expected = [
                "link_misnumbered 0001-a.jpg 0002-a.jpg", "link_misnumbered 0002-b.jpg 0003-b.jpg",
                "link_misnumbered 0003-c.jpg 0001-c.jpg", "playlist_outdated tape.m3u8",
            ]
        case .forgotten:
            let text = try String(contentsOfFile: path(".mediactl-album.json"), encoding: .utf8)
            let lines = text.split(separator: "\n").filter { !$0.contains("0003-c.jpg") }.joined(separator: "\n")
            try bench.fixture.write(
                lines.replacing("\"kind\":\"image\"", with: "\"kind\":\"image\"").replacing("},\n  ]", with: "}\n  ]"),
                to: path(".mediactl-album.json")
            )
            expected = ["link_missing", "playlist_outdated tape.m3u8"]
            seen = ["link_missing"]
        }
        #expect(try await bench.findings() == expected)
        #expect(try await bench.seen() == seen)
        let repair = try await bench.service.repair(bench.tape)
        #expect(repair.repaired.map { Bench.words($0) }.sorted() == expected && repair.remaining.isEmpty)
        #expect(try await bench.findings().isEmpty)
        switch change {
        case .swapped:
            #expect(
                try bench.fixture.names().filter { $0.hasPrefix("0") } == ["0001-c.jpg", "0002-a.jpg", "0003-b.jpg"]
            )
        case .replaced:
            #expect(try String(contentsOfFile: path("0002-b.jpg"), encoding: .utf8) == "mine")
            #expect(try bench.fixture.target("0002-b (2).jpg") == "../../2024/b.jpg")
        default: try bench.expectWhole()
        }
        try bench.witness.check()
    }

    @Test("a playlist created by another program is reported, and kept") func foreignPlaylist() async throws {
        try bench.fixture.write("mine", to: bench.fixture.path("tape.m3u8"))
        let repair = try await bench.service.repair(bench.tape)
        #expect(repair.repaired.isEmpty)
        #expect(repair.remaining.map { Bench.words($0) } == ["playlist_foreign tape.m3u8"])
        #expect(try String(contentsOfFile: bench.fixture.path("tape.m3u8"), encoding: .utf8) == "mine")
    }

    @Test(
        "a deleted link without a clip is removed from the manifest; one that only resembles a program's link is kept"
    )
    func leftovers() async throws {
        let clip = try #require(try bench.fixture.store.clips(of: bench.tape).first)
        _ = try await bench.service.removeClips([clip.id], of: bench.tape)
        #expect(try await bench.service.rearrange(bench.tape).state == .associated)
        #expect(try bench.fixture.names().contains("0003-a.jpg"))
        try FileManager.default.removeItem(atPath: bench.fixture.path("0003-a.jpg"))
        try FileManager.default.removeItem(atPath: bench.fixture.path("0001-b.jpg"))
        // Another path to the same file: not a link created by mediactl.
        let absolute = bench.fixture.originals + "/b.jpg"
        try makeLink(bench.fixture.path("mine.jpg"), to: absolute)
        #expect(try await bench.findings() == ["link_missing 0001-b.jpg", "playlist_outdated tape.m3u8"])
        #expect(try await bench.service.repair(bench.tape).remaining.isEmpty)
        let names = [".mediactl-album.json", "0001-b.jpg", "0002-c.jpg", "mine.jpg", "tape.m3u8"]
        #expect(try bench.fixture.names() == names)
        #expect((try bench.fixture.manifest()["entries"] as? [Any])?.count == 2)
    }

    @Test("an interrupted renaming is reported, and finished") func interrupted() async throws {
        let file = bench.fixture.path(".mediactl-album.json")
        let text = try String(contentsOfFile: file, encoding: .utf8)
            .replacing("\"link\":\"0001-a.jpg\"", with: "\"link\":\"0009-a.jpg\",\"renameTo\":\"0001-a.jpg\"")
        try bench.fixture.write(text, to: file)
        try FileManager.default.moveItem(
            atPath: bench.fixture.path("0001-a.jpg"),
            toPath: bench.fixture.path("0009-a.jpg")
        )
        #expect(try await bench.findings().contains("renaming_interrupted Tapes – Summer"))
        #expect(try await bench.service.repair(bench.tape).remaining.isEmpty)
        try bench.expectWhole()
    }

    @Test("an album that was deleted by hand is reported, and created again") func deletedAlbum() async throws {
        try FileManager.default.removeItem(atPath: bench.fixture.root + "/Tapes – Summer")
        #expect(try await bench.findings() == ["album_missing Tapes – Summer"])
        #expect(try await bench.seen() == ["album_missing Tapes – Summer"])
        let repair = try await bench.service.repair(bench.tape)
        #expect(repair.repaired.count == 1 && repair.remaining.isEmpty)
        try bench.expectWhole()
    }

    @Test("trap 1: without the marker nothing is reported missing, and nothing is repaired")
    func unmounted() async throws {
        try FileManager.default.moveItem(atPath: bench.fixture.root, toPath: bench.fixture.pictures + "/away")
        try FileManager.default.createDirectory(atPath: bench.fixture.root, withIntermediateDirectories: false)
        let verification = await #expect(throws: TapesError.self) { try await bench.service.verify(bench.tape) }
        #expect(verification?.code == .libraryUnusable)
        #expect((verification?.underlying as? AlbumError)?.kind == .libraryChanged)
        let repair = await #expect(throws: TapesError.self) { try await bench.service.repair(bench.tape) }
        #expect(repair?.code == .libraryUnusable)
        #expect(try await bench.seen() == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.fixture.root).isEmpty)
    }

    @Test("clips that the library refused are retried") func failedClips() async throws {
        let clip = try #require(try bench.fixture.store.clips(of: bench.tape).first)
        let link = try #require(try bench.fixture.store.albumLinks(of: bench.tape).first)
        let failed = ClipOutcome(clipID: clip.id, association: .failed, reason: .assetRejected, attempts: 3)
        try bench.fixture.store.recordOutcomes([failed], in: link.libraryID)
        #expect(try await bench.findings() == ["clip_failed"])
        #expect(try await bench.service.repair(bench.tape).repaired.map(\.kind) == [.clipFailed])
        #expect(try bench.fixture.store.clips(of: bench.tape).allSatisfy { $0.association == .linked })
    }

    @Test("a clip whose original moved is pending, and its old link is dead; both are repaired") func relinked()
        async throws
    {
        let moved = Array((bench.fixture.originals + "/moved.jpg").utf8)
        try FileManager.default.moveItem(
            atPath: bench.fixture.originals + "/b.jpg",
            toPath: bench.fixture.originals + "/moved.jpg"
        )
        let clip = try bench.fixture.store.clips(of: bench.tape)[1]
        _ = try bench.fixture.store.changeClips([clip.id], at: Date()) { $0.source = moved }
        #expect(try await bench.service.rearrange(bench.tape).state == .associated)
        #expect(try await bench.findings() == ["clip_pending", "original_missing 0004-b.jpg b.jpg"])
        let repair = try await bench.service.repair(bench.tape)
        #expect(repair.repaired.map(\.kind) == [.clipPending, .originalMissing] && repair.remaining.isEmpty)
        let links = ["0001-a.jpg", "0002-moved.jpg", "0003-c.jpg"]
        #expect(try bench.fixture.names().filter { $0.hasPrefix("0") } == links)
        #expect(try await bench.findings().isEmpty)
    }

    @Test("a missing original is reported, and its clip and link are kept") func missingOriginal() async throws {
        try FileManager.default.removeItem(atPath: bench.fixture.originals + "/c.jpg")
        #expect(try await bench.findings() == ["original_missing c.jpg"])
        let repair = try await bench.service.repair(bench.tape)
        #expect(repair.repaired.isEmpty && repair.remaining.map(\.kind) == [.originalMissing])
        #expect(try bench.fixture.target("0003-c.jpg") == "../../2024/c.jpg")
        #expect(try bench.fixture.store.clips(of: bench.tape).count == 3)
    }

    @Test(
        "an original with changed content is reported and kept as it is; one that was only touched is not reported",
        arguments: [("longer.jpg", true), ("B.jpg", true), ("", true), ("b.jpg", false)]
    )
    func changedOriginal(_ content: String, isReported: Bool) async throws {
        let store = bench.fixture.store
        let known = try await TapeEditor(store: store).checksum(try store.clips(of: bench.tape)[1])
        let path = bench.fixture.originals + "/b.jpg"
        try bench.fixture.write(content, to: path)
        let time = Date(timeIntervalSince1970: 1_700_000_000)
        try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: path)
        let expected = isReported ? ["original_changed b.jpg"] : []
        #expect(try await bench.findings() == expected)
        let repair = try await bench.service.repair(bench.tape)
        #expect(repair.repaired.isEmpty && repair.remaining.map { Bench.words($0) } == expected)
        #expect(try store.clips(of: bench.tape)[1] == known)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == content)
    }

    @Test("R13: the clips of a tape without an album are pending; a repair does not create one") func withoutAlbum()
        async throws
    {
        let (bench, tape) = try AlbumBench.withTape("Summer", ["a", "b"])
        let check = try await bench.service().verify(tape)
        #expect(!check.hasAlbum && check.findings.filter { $0.kind == .clipPending }.count == 2)
        #expect(check.findings.allSatisfy { !check.isRepairable($0) })
        let repair = try await bench.service().repair(tape)
        #expect(repair.repaired.isEmpty && repair.remaining == check.findings)
        #expect(bench.library.calls.isEmpty && bench.library.albums.isEmpty)
    }

    @Test("a server has its own copies: only clips that are not in the album need their originals")
    func serverCopies() async throws {
        let (bench, tape) = try await AlbumBench.withAlbum("Summer", ["a"])
        #expect(try await bench.service().verify(tape).findings.isEmpty)
        try bench.add(["b"], to: tape)
        let kinds = try await bench.service().verify(tape).findings.map {
            "\($0.kind.rawValue) \(($0.clip?.position ?? -1) + 1)"
        }
        #expect(kinds == ["clip_pending 2", "original_missing 2"])
    }

    /// Creates a tape and its album in a separate process, which is killed before the manifest is written.
    private func killCreation(_ title: String, _ bench: Bench) async throws {
        let id = try bench.fixture.store.makeTape(title, [try bench.fixture.original("d.jpg")])
        let place = [bench.fixture.temporary.path, id]
        await #expect(processExitsWith: .signal(SIGKILL)) { [place = place as [String]] in
            setenv("MEDIACTL_KILL_AT", TapeFailpoint.folderMade.rawValue, 1)
            _ = try await FolderFixture.service(in: place[0]).associate(place[1])
        }
    }

    @Test("empty folders left by interrupted creations are found and removed; others are kept")
    func emptyFolders() async throws {
        let root = bench.fixture.root
        let others = ["Mine", "Tapes – Full", "Tapes – Gone", "Tapes – Gone (x)", "Tapes – Made by hand"]
        for name in others + ["Tapes – Half"] {
            try FileManager.default.createDirectory(atPath: root + "/" + name, withIntermediateDirectories: false)
        }
        try bench.fixture.write("mine", to: root + "/Tapes – Gone/notes.txt")
        // The folder of the new album gets the next number.
        try await killCreation("Gone", bench)
        try bench.fixture.write("{", to: root + "/Tapes – Half/.mediactl-album.json.mediactl-part")
        try bench.fixture.write("mine", to: root + "/Tapes – Full/notes.txt")
        try makeLink(root + "/Tapes – Link", to: "Mine")
        let found = try await bench.service.leftovers()
        #expect(found.map { Bench.words($0) } == ["empty_folder Tapes – Gone (2)", "empty_folder Tapes – Half"])
        #expect(try await bench.service.removeLeftovers(found).isEmpty)
        let names = (others + ["Tapes – Link", "Tapes – Summer"]).sorted()
        let left = try FileManager.default.contentsOfDirectory(atPath: root).filter { !$0.hasPrefix(".") }
        #expect(left.sorted() == names)
    }
}
