import Foundation
import Glibc
import TestSupport
import Testing

@testable import Tapes

/// Removing and deleting: only files in the manifest, and only if they are links (trap 18).
@Suite struct FolderDeletingTests {
    @Test("R6, R12: removing deletes the link, never the original") func removing() async throws {
        let fixture = try await FolderFixture.ready()
        let paths = try ["a.jpg", "b.jpg", "c.jpg"].map { try fixture.original($0) }
        let witness = try fixture.witness()
        let album = try await fixture.album()
        _ = try await fixture.add(paths, to: album)
        let never = Array("/never/added".utf8)
        let results = try await fixture.library.remove([paths[1], never], from: album.id, hint: album.hint)
        #expect(results == [.removed, .removed])
        #expect(try fixture.names() == [".mediactl-album.json", "0001-a.jpg", "0003-c.jpg"])
        let entries = try #require(try fixture.manifest()["entries"] as? [[String: Any]])
        #expect(entries.map { $0["seq"] as? Int } == [1, 3])
        // Removing an absent link succeeds.
        #expect(try await fixture.library.remove([paths[1]], from: album.id, hint: nil) == [.removed])
        try witness.check()
    }

    @Test("trap 18: a file in place of a link is kept") func removingAFileInPlaceOfALink() async throws {
        let (fixture, album) = try await FolderFixture.withAlbum()
        let paths = try ["a.jpg", "b.jpg"].map { try fixture.original($0) }
        _ = try await fixture.add(paths, to: album)
        for name in ["0001-a.jpg", "0002-b.jpg"] { try FileManager.default.removeItem(atPath: fixture.path(name)) }
        try fixture.write("mine", to: fixture.path("0001-a.jpg"))
        let directory = fixture.path("0002-b.jpg")
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        try fixture.write("mine", to: directory + "/note")
        #expect(try await fixture.library.remove(paths, from: album.id, hint: album.hint) == [.removed, .removed])
        #expect(try fixture.names() == [".mediactl-album.json", "0001-a.jpg", "0002-b.jpg"])
        #expect(fixture.exists(directory + "/note"))
    }

    @Test("R6, R11: deleting an album keeps every original") func deleting() async throws {
        let fixture = try await FolderFixture.ready()
        let paths = try ["a.jpg", "b.mov"].map { try fixture.original($0) }
        let witness = try fixture.witness()
        let album = try await fixture.album()
        let other = try await fixture.album(tapeID: UUID().uuidString.lowercased())
        for album in [album, other] { _ = try await fixture.add(paths, to: album) }
        let clips = paths.map { fixture.clip($0) }
        try await fixture.library.arrange(album.id, hint: album.hint, tape: fixture.tape(), clips: clips)
        #expect(try await fixture.library.deleteAlbum(album.id, hint: album.hint) == .deleted)
        #expect(!fixture.exists(fixture.root + "/Tapes – Summer"))
        // The other album of the same originals is complete.
        #expect(try fixture.names(in: "Tapes – Summer (2)").count == 3)
        #expect(try await fixture.library.deleteAlbum(album.id, hint: album.hint) == .alreadyGone)
        try witness.check()
    }

    /// A file, a user's link, a directory with files, a link to a directory, and a name of the program's that is no
    /// longer a link.
    @Test("trap 18: a folder with foreign files is kept, and the files are unchanged") func keptForeign() async throws {
        let (fixture, album) = try await FolderFixture.withAlbum()
        let paths = try ["a.jpg", "b.jpg"].map { try fixture.original($0) }
        _ = try await fixture.add(paths, to: album)
        let files = FileManager.default
        try fixture.write("mine", to: fixture.path("note.txt"))
        try files.createSymbolicLink(atPath: fixture.path("my link"), withDestinationPath: "/etc/hostname")
        try files.createSymbolicLink(atPath: fixture.path("0009-all"), withDestinationPath: fixture.originals)
        try files.createDirectory(atPath: fixture.path("more/deep"), withIntermediateDirectories: true)
        try fixture.write("mine", to: fixture.path("more/deep/x"))
        try files.removeItem(atPath: fixture.path("0002-b.jpg"))
        try files.createDirectory(atPath: fixture.path("0002-b.jpg"), withIntermediateDirectories: false)
        try fixture.write("mine", to: fixture.path("0002-b.jpg/kept"))
        // A playlist created by another program.
        try fixture.write("my own list", to: fixture.path("tape.m3u8"))
        let originals = try fixture.witness()
        #expect(try await fixture.library.deleteAlbum(album.id, hint: album.hint) == .keptForeign(6))
        #expect(try fixture.names() == ["0002-b.jpg", "0009-all", "more", "my link", "note.txt", "tape.m3u8"])
        #expect(fixture.exists(fixture.path("more/deep/x")) && fixture.exists(fixture.path("0002-b.jpg/kept")))
        try originals.check()
        #expect(try await fixture.library.deleteAlbum(album.id, hint: album.hint) == .alreadyGone)
    }

    /// The manifest of an album is read from a directory that others may write to.
    @Test(
        "trap 18: paths in a malicious manifest are not followed",
        arguments: ["../../2024/a.jpg", "../note", "..", "more/x"]
    )
    func wickedManifest(name: String) async throws {
        let fixture = try await FolderFixture.ready()
        try makeLink(fixture.originals + "/a.jpg", to: "elsewhere")
        try makeLink(fixture.root + "/note", to: "elsewhere")
        let album = try await fixture.album()
        try FileManager.default.createDirectory(atPath: fixture.path("more"), withIntermediateDirectories: false)
        try makeLink(fixture.path("more/x"), to: "elsewhere")
        let file = fixture.path(".mediactl-album.json")
        let text = try String(contentsOfFile: file, encoding: .utf8)
        let entry = #"{"seq":1,"link":"\#(name)","target":"elsewhere"}"#
        try fixture.write(text.replacingOccurrences(of: "\"entries\": [", with: "\"entries\": [\(entry)"), to: file)
        let witness = try fixture.witness()
        #expect(try await fixture.library.deleteAlbum(album.id, hint: nil) == .keptForeign(1))
        #expect(fixture.exists(fixture.root + "/note") && fixture.exists(fixture.path("more/x")))
        try witness.check()
    }

    @Test(
        "an album that cannot be removed from the root is kept for the next attempt",
        .enabled(if: OtherUser.isAvailable, OtherUser.requirement)
    )
    func rootNotWritable() async throws {
        let (fixture, album) = try await FolderFixture.withAlbum()
        let path = try fixture.original("a.jpg")
        _ = try await fixture.add([path], to: album)
        chmod(fixture.temporary.path, 0o711)
        let folder = fixture.root + "/Tapes – Summer"
        for path in [folder, folder + "/.mediactl-album.json"] { chown(path, OtherUser.id, OtherUser.id) }
        let library = fixture.library
        try OtherUser.run {
            do throws(AlbumError) {
                let found = try library.open().album(album.id, hint: album.hint)
                _ = try found?.delete(WorkSteps())
                Issue.record("the folder was removed from a root that is not writable")
            } catch {
                #expect(error.kind == .unauthorized)
            }
        }
        #expect(try fixture.names() == [".mediactl-album.json"])
        #expect(try await library.deleteAlbum(album.id, hint: album.hint) == .deleted)
    }
}
