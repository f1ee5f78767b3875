import Foundation
import Glibc
import MediaStore
import TestSupport
import Testing

@testable import Tapes

/// The identity of a library (contract 4.2), and trap 1.
@Suite struct FolderIdentityTests {
    @Test func theMarkerIdentifiesTheLibrary() async throws {
        let fixture = try await FolderFixture.ready()
        let data = try Data(contentsOf: URL(fileURLWithPath: fixture.root + "/.mediactl-library.json"))
        let marker = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect(marker["format"] as? String == "mediactl.library" && marker["version"] as? Int == 1)
        let id = try #require(marker["id"] as? String)
        #expect(UUID(uuidString: id) != nil)
        #expect(ISO8601DateFormatter().date(from: try #require(marker["createdAt"] as? String)) != nil)
        let identity = try await fixture.library.identity()
        #expect(identity.libraryID == "folder:" + id && identity.accountID == nil && identity.keyID == nil)
        // A directory that is reached by a different path is the same library.
        try makeLink(fixture.temporary.file("other"), to: fixture.root)
        #expect(try await fixture.library(at: fixture.temporary.file("other")).identity().libraryID == "folder:" + id)
    }

    @Test func aPathWithoutAMarkerIsNotALibraryYet() async throws {
        let fixture = try FolderFixture()
        let missing = try await albumErrorKind { try await fixture.library.identity() }
        #expect(missing == .unauthorized)
        try FileManager.default.createDirectory(atPath: fixture.root, withIntermediateDirectories: false)
        let empty = try await albumErrorKind { try await fixture.library.identity() }
        #expect(empty == .unauthorized)
    }

    /// Changes to a root that another program makes.
    enum Loss: String, CaseIterable {
        case unmounted, removed, replacedByFile, damagedMarker, foreignMarker, fifoMarker
    }

    private func lose(_ fixture: FolderFixture, _ loss: Loss) throws {
        let marker = fixture.root + "/.mediactl-library.json"
        let files = FileManager.default
        switch loss {
        // The mount point remains, empty.
        case .unmounted:
            try files.moveItem(atPath: fixture.root, toPath: fixture.root + "-away")
            try files.createDirectory(atPath: fixture.root, withIntermediateDirectories: false)
        case .removed: try files.moveItem(atPath: fixture.root, toPath: fixture.root + "-away")
        case .replacedByFile:
            try files.moveItem(atPath: fixture.root, toPath: fixture.root + "-away")
            try fixture.write("x", to: fixture.root)
        case .damagedMarker: try fixture.write("{\"format\":", to: marker)
        case .foreignMarker: try fixture.write("{\"format\":\"x\",\"version\":1,\"id\":\"y\"}", to: marker)
        case .fifoMarker:
            try files.removeItem(atPath: marker)
            try #require(mkfifo(marker, 0o600) == 0)
        }
    }

    @Test("trap 1: a missing root is a different library, and no album is reported missing", arguments: Loss.allCases)
    func gone(loss: Loss) async throws {
        let (fixture, album) = try await FolderFixture.withAlbum()
        let path = try fixture.original("a.jpg")
        let witness = try fixture.witness()
        try lose(fixture, loss)
        let library = fixture.library
        let calls: [@Sendable () async throws -> Void] = [
            { _ = try await library.identity() }, { _ = try await library.access(.addOnly) },
            { _ = try await library.requestAccess(.addOnly) }, { _ = try await library.album(album.id, hint: nil) },
            { _ = try await library.albumMarked(FolderFixture.tapeID) },
            { _ = try await library.createAlbum(title: "x", tapeID: FolderFixture.tapeID) },
            { _ = try await library.add(fixture.assets([path]), to: album.id, hint: album.hint) },
            { _ = try await library.remove([path], from: album.id, hint: album.hint) },
            { _ = try await library.deleteAlbum(album.id, hint: album.hint) },
            { try await library.arrange(album.id, hint: album.hint, tape: fixture.tape(), clips: []) },
        ]
        for call in calls { #expect(try await albumErrorKind(call) == .libraryChanged) }
        // Nothing was created again.
        if loss == .unmounted { #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.root).isEmpty) }
        if loss == .removed { #expect(!fixture.exists(fixture.root)) }
        try witness.check()
    }

    @Test("trap 1: a different disk at the same path has its own albums, and reports none as missing")
    func anotherLibrary() async throws {
        let (fixture, album) = try await FolderFixture.withAlbum()
        let path = try fixture.original("a.jpg")
        let known = try await fixture.library.identity().libraryID
        try lose(fixture, .unmounted)
        // The other disk has a separate library, created elsewhere.
        let other = try await FolderFixture.ready()
        try FileManager.default.copyItem(
            atPath: other.root + "/.mediactl-library.json",
            toPath: fixture.root + "/.mediactl-library.json"
        )
        // The service compares this with the stored identity.
        #expect(try await fixture.library.identity().libraryID != known)
        for hint in [album.hint, nil] {
            let found = try await albumErrorKind { try await fixture.library.album(album.id, hint: hint) }
            #expect(found == .libraryChanged)
            let deleted = try await albumErrorKind { try await fixture.library.deleteAlbum(album.id, hint: hint) }
            #expect(deleted == .libraryChanged)
        }
        let added = try await albumErrorKind { try await fixture.add([path], to: album) }
        #expect(added == .libraryChanged)
        // An album that was copied there has the mark of the other library.
        try FileManager.default.copyItem(
            atPath: fixture.root + "-away/Tapes – Summer",
            toPath: fixture.root + "/Tapes – Summer"
        )
        let copied = try await albumErrorKind { try await fixture.add([path], to: album) }
        #expect(copied == .libraryChanged)
        #expect(try await fixture.library.albumMarked(FolderFixture.tapeID) == nil)
    }

    @Test("trap 1: a missing library is created again only on an explicit request") func recreated() async throws {
        let fixture = try await FolderFixture.ready()
        let before = try await fixture.library.identity()
        try lose(fixture, .removed)
        let refusing = try await fixture.library { _ in false }.requestAccess(.addOnly)
        #expect(refusing.state == .denied && !fixture.exists(fixture.root))
        #expect(try await fixture.library { _ in true }.requestAccess(.addOnly).state == .authorized)
        #expect(try await fixture.library.identity() != before)
        // An existing marker is never replaced, regardless of its content.
        try fixture.write("{", to: fixture.root + "/.mediactl-library.json")
        let damaged = try await albumErrorKind { try await fixture.library { _ in true }.requestAccess(.addOnly) }
        #expect(damaged == .libraryChanged)
    }

    @Test(
        arguments: [
            (Array("/home/me/Bilder é".utf8), "/home/me/Bilder é"), (Array("/a%41".utf8), "/a%2541"),
            (Array("/a\nb".utf8), "/a%0Ab"), ([0x2f, 0xff, 0x61], "/%FFa"), (Array("/a//".utf8), "/a"), ([0x2f], "/"),
        ] as [([UInt8], String)]
    )
    func addresses(path: [UInt8], expected: String) throws {
        let fixture = try FolderFixture()
        let root = FolderLibrary.Root(path: path, picturesDirectory: nil, isConfigured: true)
        let library = FolderLibrary(root: root, directory: fixture.data, store: fixture.store)
        #expect(library.address == expected && library.kind == "folder")
    }
}
