import Foundation
import Glibc
import MediaStore
import TestSupport
import Testing

@testable import Tapes

/// Which folder belongs to which album (contract section 5, finding): the manifest decides, never the name.
@Suite struct FolderFindingTests {
    @Test("R3: an album that was renamed by hand is still found", arguments: [true, false]) func renamed(hint: Bool)
        async throws
    {
        let (fixture, album) = try await FolderFixture.withAlbum()
        let path = try fixture.original("a.jpg")
        _ = try await fixture.add([path], to: album)
        try FileManager.default.moveItem(
            atPath: fixture.root + "/Tapes – Summer",
            toPath: fixture.root + "/Italy \u{1F1EE}\u{1F1F9}"
        )
        // Another folder gets the name.
        _ = try await fixture.album(tapeID: UUID().uuidString.lowercased())
        let found = try await fixture.library.album(album.id, hint: hint ? album.hint : nil)
        let place = Array((fixture.root + "/Italy \u{1F1EE}\u{1F1F9}").utf8)
        #expect(found == .found(title: "Tapes – Summer", hint: place))
        #expect(try await fixture.add([path], to: album) == [.alreadyInAlbum])
        #expect(try await fixture.library.albumMarked(FolderFixture.tapeID)?.hint == place)
    }

    /// A folder with the title but without a manifest, with the manifest of another album, or with an invalid one.
    @Test(
        "R3: a folder with only the right name is not the album",
        arguments: ["none", "other", "broken", "directory", "fifo"]
    )
    func lookalikes(manifest: String) async throws {
        let fixture = try await FolderFixture.ready()
        let id = UUID().uuidString.lowercased()
        let folder = fixture.root + "/Tapes – Summer"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let file = folder + "/.mediactl-album.json"
        switch manifest {
        case "other": try fixture.write(#"{"format":"mediactl.album","version":1,"id":"\#(UUID())"}"#, to: file)
        case "broken": try fixture.write("{", to: file)
        case "directory": try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
        case "fifo": try #require(mkfifo(file, 0o600) == 0)
        default: break
        }
        #expect(try await fixture.library.album(id, hint: nil) == .missing)
        #expect(try await fixture.library.albumMarked(FolderFixture.tapeID) == nil)
    }

    @Test("R5: a damaged manifest at the album's path is an error, not a missing album") func damaged() async throws {
        let (fixture, album) = try await FolderFixture.withAlbum()
        try fixture.write("{", to: fixture.path(".mediactl-album.json"))
        let kind = try await albumErrorKind { try await fixture.library.album(album.id, hint: album.hint) }
        #expect(kind == .albumDamaged)
        // As the message states: without the file the album is missing, and a new one gets a separate folder.
        try FileManager.default.removeItem(atPath: fixture.path(".mediactl-album.json"))
        #expect(try await fixture.library.album(album.id, hint: album.hint) == .missing)
        _ = try await fixture.album()
        #expect(fixture.exists(fixture.path(".mediactl-album.json", in: "Tapes – Summer (2)")))
    }

    @Test("trap 18: a directory that is a link is not searched") func linkedDirectory() async throws {
        let (fixture, album) = try await FolderFixture.withAlbum()
        let path = try fixture.original("a.jpg")
        _ = try await fixture.add([path], to: album)
        // The folder is moved out, and replaced by a link to it.
        let outside = fixture.temporary.file("outside")
        try FileManager.default.moveItem(atPath: fixture.root + "/Tapes – Summer", toPath: outside)
        try makeLink(fixture.root + "/Tapes – Summer", to: outside)
        let witness = try OriginalsWitness(outside)
        #expect(try await fixture.library.album(album.id, hint: album.hint) == .missing)
        #expect(try await fixture.library.deleteAlbum(album.id, hint: album.hint) == .alreadyGone)
        let added = try await albumErrorKind { try await fixture.add([path], to: album) }
        #expect(added == .albumMissing)
        try witness.check()
    }

    @Test("a copy of an album does not replace it") func copied() async throws {
        let (fixture, album) = try await FolderFixture.withAlbum()
        let copy = fixture.root + "/A copy"
        try FileManager.default.copyItem(atPath: fixture.root + "/Tapes – Summer", toPath: copy)
        _ = try await fixture.add([try fixture.original("a.jpg")], to: album)
        #expect(try FileManager.default.contentsOfDirectory(atPath: copy) == [".mediactl-album.json"])
        #expect(try fixture.names().contains("0001-a.jpg"))
    }

    @Test("R4: an album is found by the mark of its tape, regardless of its name") func marked() async throws {
        let fixture = try await FolderFixture.ready()
        #expect(try await fixture.library.albumMarked(FolderFixture.tapeID) == nil)
        // This album has the same title, and is the first by name.
        _ = try await fixture.album(tapeID: UUID().uuidString.lowercased())
        let album = try await fixture.album()
        #expect(try await fixture.library.albumMarked(FolderFixture.tapeID.uppercased()) == album)
    }

    @Test("trap 18: a manifest that is a link is ignored") func linkedManifest() async throws {
        let (fixture, album) = try await FolderFixture.withAlbum()
        let outside = fixture.temporary.file("manifest.json")
        try FileManager.default.moveItem(atPath: fixture.path(".mediactl-album.json"), toPath: outside)
        try makeLink(fixture.path(".mediactl-album.json"), to: outside)
        #expect(try await fixture.library.album(album.id, hint: album.hint) == .missing)
        #expect(try await fixture.library.deleteAlbum(album.id, hint: album.hint) == .alreadyGone)
        #expect(fixture.exists(outside) && fixture.exists(fixture.path(".mediactl-album.json")))
    }

    /// Adding does not require read permission: the hint is sufficient, and if it is not, nothing is reported missing
    /// (trap 3).
    @Test(
        "R5: without permission to list the root, no album is reported missing",
        .enabled(if: OtherUser.isAvailable, OtherUser.requirement)
    )
    func unreadableRoot() async throws {
        let (fixture, album) = try await FolderFixture.withAlbum()
        chmod(fixture.temporary.path, 0o711)
        chmod(fixture.root, 0o711)
        let library = fixture.library
        let other = UUID().uuidString.lowercased()
        try OtherUser.run {
            let root = try library.open()
            #expect(try root.album(album.id, hint: album.hint)?.name == Array("Tapes – Summer".utf8))
            for id in [album.id, other] {
                do throws(AlbumError) {
                    _ = try root.album(id, hint: nil)
                    Issue.record("a root that cannot be listed was searched")
                } catch {
                    #expect(error.kind == .insufficient(["read"]))
                }
            }
        }
    }

    @Test(
        "R5: an inaccessible folder created by mediactl is an error; a foreign one is ignored",
        .enabled(if: OtherUser.isAvailable, OtherUser.requirement)
    )
    func unreadableFolders() async throws {
        let fixture = try await FolderFixture.ready()
        chmod(fixture.temporary.path, 0o711)
        // The root of a disk contains such a folder.
        let lost = fixture.root + "/lost+found"
        try FileManager.default.createDirectory(atPath: lost, withIntermediateDirectories: false)
        chmod(lost, 0o700)
        let library = fixture.library
        let id = UUID().uuidString.lowercased()
        try OtherUser.run {
            let root = try library.open()
            #expect(try root.album(id, hint: nil) == nil)
        }
        chown(lost, OtherUser.id, OtherUser.id)
        chmod(lost, 0)
        try OtherUser.run {
            let root = try library.open()
            #expect(throws: AlbumError.self) { _ = try root.album(id, hint: nil) }
        }
    }
}
