import Foundation
import Glibc
import MediaStore
import TestSupport
import Testing

@testable import Tapes

@Suite struct FolderAddingTests {
    private static let manifest = ".mediactl-album.json"

    @Test("R1: an album is a folder with a manifest") func album() async throws {
        let (fixture, album) = try await FolderFixture.withAlbum()
        #expect(UUID(uuidString: album.id) != nil && album.id == album.id.lowercased())
        #expect(album.title == "Tapes – Summer" && album.ownerID == nil)
        #expect(album.hint == Array((fixture.root + "/Tapes – Summer").utf8))
        let manifest = try fixture.manifest()
        #expect(manifest["format"] as? String == "mediactl.album" && manifest["version"] as? Int == 1)
        #expect(manifest["id"] as? String == album.id && manifest["tapeId"] as? String == FolderFixture.tapeID)
        #expect(manifest["title"] as? String == "Tapes – Summer" && manifest["nextSequence"] as? Int == 1)
        let library = try await fixture.library.identity().libraryID
        #expect(manifest["libraryId"] as? String == String(library.dropFirst("folder:".count)))
        #expect((manifest["entries"] as? [Any])?.isEmpty == true)
        #expect(ISO8601DateFormatter().date(from: try #require(manifest["createdAt"] as? String)) != nil)
    }

    @Test("R3: a folder with the right name is never adopted, not even an empty one") func taken() async throws {
        let fixture = try await FolderFixture.ready()
        try makeDirectory(fixture.root + "/Tapes – Summer")
        try fixture.write("x", to: fixture.root + "/Tapes – Summer (3)")
        let first = try await fixture.album()
        let second = try await fixture.album()
        #expect(first.hint == Array((fixture.root + "/Tapes – Summer (2)").utf8))
        #expect(second.hint == Array((fixture.root + "/Tapes – Summer (4)").utf8) && second.id != first.id)
        #expect(try fixture.names().isEmpty)
        #expect(second.title == "Tapes – Summer")
    }

    @Test("R6, R7: originals are linked in their order, and adding again changes nothing") func links() async throws {
        let fixture = try await FolderFixture.ready()
        let paths = [try fixture.original("IMG_2041.jpg"), try fixture.original("clip.mov")]
        let third = try fixture.original("c.jpg")
        let witness = try fixture.witness()
        let album = try await fixture.album()
        #expect(try await fixture.add(paths, to: album) == [.added, .added])
        #expect(try fixture.names() == [Self.manifest, "0001-IMG_2041.jpg", "0002-clip.mov"])
        #expect(try fixture.target("0001-IMG_2041.jpg") == "../../2024/IMG_2041.jpg")
        let content = try String(contentsOfFile: fixture.path("0002-clip.mov"), encoding: .utf8)
        #expect(content == "clip.mov")
        let entries = try #require(try fixture.manifest()["entries"] as? [[String: Any]])
        #expect(entries.map { $0["seq"] as? Int } == [1, 2])
        #expect(entries.map { $0["link"] as? String } == ["0001-IMG_2041.jpg", "0002-clip.mov"])
        #expect(entries[0]["target"] as? String == "../../2024/IMG_2041.jpg")
        let manifest = try Data(contentsOf: URL(fileURLWithPath: fixture.path(Self.manifest)))
        #expect(try await fixture.add(paths, to: album) == [.alreadyInAlbum, .alreadyInAlbum])
        #expect(try Data(contentsOf: URL(fileURLWithPath: fixture.path(Self.manifest))) == manifest)
        // Twice in one request, as two clips of one original.
        #expect(try await fixture.add([third, third], to: album) == [.added, .alreadyInAlbum])
        let found = try await fixture.library.album(album.id, hint: album.hint)
        #expect(found == .found(title: "Tapes – Summer", hint: album.hint))
        try witness.check()
    }

    @Test("R6: targets are absolute if originals or root are not in the pictures directory")
    func absolute() async throws {
        let fixture = try await FolderFixture.ready()
        let elsewhere = fixture.temporary.file("elsewhere.jpg")
        try fixture.write("x", to: elsewhere)
        let album = try await fixture.album()
        _ = try await fixture.add([Array(elsewhere.utf8)], to: album)
        #expect(try fixture.target("0001-elsewhere.jpg") == elsewhere)

        let outside = try await FolderFixture.ready(root: fixture.temporary.file("Albums"))
        let path = try outside.original("a.jpg")
        _ = try await outside.add([path], to: try await outside.album())
        #expect(try outside.target("0001-a.jpg") == String(decoding: path, as: UTF8.self))
    }

    /// `..` of a folder reached by a link leads to the folder's real parent.
    @Test func targetsAreAbsoluteIfALinkIsInThePath() async throws {
        let fixture = try FolderFixture()
        let real = fixture.temporary.file("real")
        try FileManager.default.createDirectory(atPath: real, withIntermediateDirectories: false)
        try makeLink(fixture.root, to: real)
        _ = try await fixture.library.requestAccess(.addOnly)
        let path = try fixture.original("a.jpg")
        _ = try await fixture.add([path], to: try await fixture.album())
        #expect(try fixture.target("0001-a.jpg") == String(decoding: path, as: UTF8.self))
        let content = try String(contentsOfFile: fixture.path("0001-a.jpg"), encoding: .utf8)
        #expect(content == "a.jpg")
    }

    @Test("R6: an original that is itself a link is not resolved") func originalThatIsALink() async throws {
        let fixture = try await FolderFixture.ready()
        try fixture.original("real.jpg")
        try makeLink(fixture.originals + "/favorite.jpg", to: "real.jpg")
        let witness = try fixture.witness()
        _ = try await fixture.add([Array((fixture.originals + "/favorite.jpg").utf8)], to: try await fixture.album())
        #expect(try fixture.target("0001-favorite.jpg") == "../../2024/favorite.jpg")
        try witness.check()
    }

    @Test("trap 17: names that are not text, that contain a line break, or that have the maximum length") func names()
        async throws
    {
        let fixture = try await FolderFixture.ready()
        let long = String(repeating: "é", count: 125) + ".jpg"
        let paths = [
            try fixture.original([0x66, 0xff, 0xfe], "1"), try fixture.original("line\nbreak.jpg", "2"),
            try fixture.original(long, "3"),
        ]
        let witness = try fixture.witness()
        let album = try await fixture.album()
        #expect(try await fixture.add(paths, to: album) == [.added, .added, .added])
        let names = try fixture.names()
        #expect(names.dropFirst().prefix(2) == ["0001-f__", "0002-line_break.jpg"])
        #expect(names.last?.utf8.count == 254 || names.last?.utf8.count == 255)
        for (name, content) in zip(names.dropFirst(), ["1", "2", "3"]) {
            #expect(try String(contentsOfFile: fixture.path(name), encoding: .utf8) == content)
        }
        let entries = try #require(try fixture.manifest()["entries"] as? [[String: Any]])
        let raw = Data(Array("../../2024/f".utf8) + [0xff, 0xfe])
        #expect(entries[0]["target"] == nil)
        #expect((entries[0]["targetBase64"] as? String).flatMap { Data(base64Encoded: $0) } == raw)
        // Names that are not text are recognized by their bytes.
        #expect(try await fixture.add(paths, to: album) == [.alreadyInAlbum, .alreadyInAlbum, .alreadyInAlbum])
        try witness.check()
    }

    /// No byte of the original is needed: it may be on an unmounted disk, be unreadable, or have a name of 300 bytes
    /// there.
    @Test("R14: a missing original can be linked") func dangling() async throws {
        let fixture = try await FolderFixture.ready()
        let away = "/media/away/" + String(repeating: "x", count: 296) + ".jpg"
        let clips = [fixture.clip(Array(away.utf8)), fixture.clip(Array((fixture.originals + "/gone.jpg").utf8))]
        let resolved = try await fixture.library.resolveAssets(clips, mayUpload: false)
        #expect(resolved == clips.map { .asset($0.source ?? []) })
        let album = try await fixture.album()
        #expect(try await fixture.add(clips.compactMap(\.source), to: album) == [.added, .added])
        let name = try #require(try fixture.names().first { $0.hasPrefix("0001-") })
        #expect(name.utf8.count == 255 && name.hasSuffix(".jpg"))
        #expect(try fixture.target(name) == away)
        #expect(try fixture.target("0002-gone.jpg") == "../../2024/gone.jpg")
    }

    @Test func pathsThatNoLinkCanHold() async throws {
        let fixture = try await FolderFixture.ready()
        let tooLong = Array(("/" + String(repeating: "a/", count: 2048)).utf8)
        let clips = [fixture.clip([0x61]), fixture.clip([0x2f, 0]), fixture.clip(tooLong)]
        for resolution in try await fixture.library.resolveAssets(clips, mayUpload: true) {
            #expect(resolution == .rejected("the path is too long or invalid for a link"))
        }
        let none = ClipRecord(id: "x", tapeID: "y", kind: .image, source: nil)
        #expect(try await fixture.library.resolveAssets([none], mayUpload: true) == [.unidentified])
        // If such a path is added anyway, the others are added.
        let path = try fixture.original("a.jpg")
        let album = try await fixture.album()
        let results = try await fixture.add([[0x61], [0x2f, 0], tooLong, path], to: album)
        #expect(results.prefix(2) == [.notFound, .notFound] && results.last == .added)
        if case .rejected = results[2] {} else { Issue.record("a target that is too long was accepted") }
    }

    // MARK: Foreign changes

    @Test func foreignFilesKeepTheirNames() async throws {
        let (fixture, album) = try await FolderFixture.withAlbum()
        try fixture.write("mine", to: fixture.path("0001-a.jpg"))
        try fixture.write("mine too", to: fixture.path("0007-note.txt"))
        #expect(try await fixture.add([try fixture.original("a.jpg")], to: album) == [.added])
        // A number that was ever used is not reused.
        #expect(try fixture.names() == [Self.manifest, "0001-a.jpg", "0007-note.txt", "0008-a.jpg"])
        let mine = try String(contentsOfFile: fixture.path("0001-a.jpg"), encoding: .utf8)
        #expect(mine == "mine")
    }

    @Test("a link that was removed by hand is created again when its original is added again") func removedByHand()
        async throws
    {
        let (fixture, album) = try await FolderFixture.withAlbum()
        let paths = [try fixture.original("a.jpg"), try fixture.original("b.jpg")]
        _ = try await fixture.add(paths, to: album)
        try FileManager.default.removeItem(atPath: fixture.path("0001-a.jpg"))
        #expect(try await fixture.add(paths, to: album) == [.added, .alreadyInAlbum])
        #expect(try fixture.names() == [Self.manifest, "0001-a.jpg", "0002-b.jpg"])
        // A different file in the link's place is kept; the original gets a new number.
        try FileManager.default.removeItem(atPath: fixture.path("0001-a.jpg"))
        try fixture.write("mine", to: fixture.path("0001-a.jpg"))
        #expect(try await fixture.add(paths, to: album) == [.added, .alreadyInAlbum])
        #expect(try fixture.names() == [Self.manifest, "0001-a.jpg", "0002-b.jpg", "0003-a.jpg"])
        #expect(try await fixture.add(paths, to: album) == [.alreadyInAlbum, .alreadyInAlbum])
        let entries = try #require(try fixture.manifest()["entries"] as? [[String: Any]])
        #expect(entries.map { $0["seq"] as? Int } == [2, 3])
    }

    @Test("numbers are never reused") func sequences() async throws {
        let (fixture, album) = try await FolderFixture.withAlbum()
        let paths = [try fixture.original("a.jpg"), try fixture.original("b.jpg")]
        _ = try await fixture.add(paths, to: album)
        _ = try await fixture.library.remove([paths[1]], from: album.id, hint: album.hint)
        _ = try await fixture.add([paths[1]], to: album)
        #expect(try fixture.names() == [Self.manifest, "0001-a.jpg", "0003-b.jpg"])
    }

    @Test("a manifest written by a newer version is read, but not written") func newerManifest() async throws {
        let (fixture, album) = try await FolderFixture.withAlbum()
        let path = try fixture.original("a.jpg")
        _ = try await fixture.add([path], to: album)
        let file = fixture.path(Self.manifest)
        let text = try String(contentsOfFile: file, encoding: .utf8)
        try fixture.write(text.replacingOccurrences(of: "\"version\": 1", with: "\"version\": 2"), to: file)
        let found = try await fixture.library.album(album.id, hint: nil)
        #expect(found == .found(title: "Tapes – Summer", hint: album.hint))
        let before = try fixture.names()
        let library = fixture.library
        let calls: [@Sendable () async throws -> Void] = [
            { _ = try await library.add(fixture.assets([[0x2f, 0x61]]), to: album.id, hint: nil) },
            { _ = try await library.remove([path], from: album.id, hint: nil) },
            { _ = try await library.deleteAlbum(album.id, hint: nil) },
            { try await library.arrange(album.id, hint: nil, tape: fixture.tape(), clips: [fixture.clip(path)]) },
        ]
        for call in calls { #expect(try await albumErrorKind(call) == .insufficient(["write"])) }
        #expect(try fixture.names() == before)
    }
}
