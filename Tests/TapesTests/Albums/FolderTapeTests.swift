import Foundation
import MediaStore
import TestSupport
import Testing

@testable import Tapes

/// Acceptance tests of the folder library, through the service, as seen by a user.
@Suite struct FolderTapeTests {
    /// A tape, its service and monitored originals.
    private struct Bench {
        let fixture: FolderFixture
        let tape: String
        let witness: OriginalsWitness

        init() throws {
            let fixture = try FolderFixture()
            self.fixture = fixture
            let paths = try ["a.jpg", "b.jpg", "c.jpg"].map { try fixture.original($0) }
            witness = try fixture.witness()
            tape = try fixture.store.makeTape("Summer", Array(paths.prefix(2)))
        }

        func add(_ name: String, to other: String? = nil) throws {
            try fixture.store.addImages([Array("\(fixture.originals)/\(name)".utf8)], to: other ?? tape)
        }

        func service(_ library: FolderLibrary? = nil) -> AlbumService {
            AlbumService(store: fixture.store, directory: fixture.data, library: library ?? fixture.library)
        }

        /// Folders that are albums, and the links in them.
        func albums() throws -> [String: [String]] {
            let files = FileManager.default
            var albums: [String: [String]] = [:]
            for name in try files.contentsOfDirectory(atPath: fixture.root) {
                let folder = fixture.root + "/" + name
                guard files.fileExists(atPath: folder + "/.mediactl-album.json") else { continue }
                albums[name] = try files.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".jpg") }.sorted()
            }
            return albums
        }
    }

    /// The state of an unmounted disk.
    enum Loss: CaseIterable {
        case emptyMountPoint, noMountPoint, anotherLibrary
    }

    @Test(
        "trap 1, acceptance 5: with an unmounted disk no album is created anywhere, and updates are applied when it is mounted",
        arguments: Loss.allCases
    )
    func unmounted(_ loss: Loss) async throws {
        let bench = try Bench()
        _ = try await bench.service().associate(bench.tape)
        let (root, away) = (bench.fixture.root, bench.fixture.pictures + "/away")
        try FileManager.default.moveItem(atPath: root, toPath: away)
        if loss != .noMountPoint {
            try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
        }
        if loss == .anotherLibrary {
            let marker = try String(contentsOfFile: away + "/.mediactl-library.json", encoding: .utf8)
            let id = try #require(marker.firstMatch(of: /[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}/)?.output)
            let other = marker.replacing(id, with: "0b5b1c8e-5d1f-4a36-9df3-0d5e3f6f8a10")
            try bench.fixture.write(other, to: root + "/.mediactl-library.json")
        }
        let before = try? FileManager.default.subpathsOfDirectory(atPath: root)
        try bench.add("c.jpg")
        for isRequested in [false, true] {
            let outcome = try await bench.service().associate(bench.tape, isRequested: isRequested)
            #expect(outcome.state == .pending && outcome.reason == .libraryChanged)
        }
        #expect(try bench.fixture.store.state(ofTape: bench.tape) == "pending_association library_changed")
        #expect((try? FileManager.default.subpathsOfDirectory(atPath: root)) == before)

        if loss != .noMountPoint { try FileManager.default.removeItem(atPath: root) }
        try FileManager.default.moveItem(atPath: away, toPath: root)
        #expect(try await bench.service().associate(bench.tape).state == .associated)
        #expect(try bench.albums() == ["Tapes – Summer": ["0001-a.jpg", "0002-b.jpg", "0003-c.jpg"]])
        try bench.witness.check()
    }

    @Test("trap 1: a new tape in another library at the same place does not move the old tapes to it")
    func otherDisk() async throws {
        let bench = try Bench()
        _ = try await bench.service().associate(bench.tape)
        let (root, away) = (bench.fixture.root, bench.fixture.pictures + "/away")
        try FileManager.default.moveItem(atPath: root, toPath: away)
        // The user creates a library there, explicitly.
        let service = bench.service(bench.fixture.library(confirm: { _ in true }))
        #expect(try await service.requestAccess(.addOnly).addOnly?.state == .authorized)
        let new = try bench.fixture.store.makeTape("New")
        try bench.add("c.jpg", to: new)
        #expect(try await bench.service().associate(new).state == .associated)
        try bench.add("c.jpg")
        #expect(try await bench.service().associate(bench.tape, isRequested: true).reason == .libraryChanged)
        #expect(try bench.albums().keys.sorted() == ["Tapes – New"])
        // The old disk is mounted again.
        try FileManager.default.moveItem(atPath: root, toPath: away + "-new")
        try FileManager.default.moveItem(atPath: away, toPath: root)
        #expect(try await bench.service().associate(bench.tape).state == .associated)
        #expect(try bench.albums() == ["Tapes – Summer": ["0001-a.jpg", "0002-b.jpg", "0003-c.jpg"]])
    }

    @Test("ADR 0020: after the tapes are unlinked, a new root gets their albums") func unlinkedAfterLoss() async throws
    {
        let bench = try Bench()
        _ = try await bench.service().associate(bench.tape)
        try FileManager.default.removeItem(atPath: bench.fixture.root)
        #expect(try await bench.service().associate(bench.tape, isRequested: true).reason == .libraryChanged)
        #expect(try await bench.service().unlink(bench.tape) != nil)
        #expect(try await bench.service().associate(bench.tape, isRequested: true).state == .associated)
        #expect(try bench.albums() == ["Tapes – Summer": ["0001-a.jpg", "0002-b.jpg"]])
    }

    private static let points: [TapeFailpoint] = [
        .intentKept, .folderMade, .manifestWritten, .albumCreated, .linkKept, .assetsResolved, .linkMade, .linksMade,
        .manifestRewritten, .assetsAdded, .clipsRecorded, .playlistWritten,
    ]

    @Test(
        "acceptance 7, R7: after kill -9 between any two steps, there is one album with each original once",
        arguments: points
    )
    func killed(_ point: TapeFailpoint) async throws {
        let bench = try Bench()
        let place = [point.rawValue, bench.fixture.temporary.path, bench.tape]
        await #expect(processExitsWith: .signal(SIGKILL)) { [place = place as [String]] in
            setenv("MEDIACTL_KILL_AT", place[0], 1)
            _ = try await FolderFixture.service(in: place[1]).associate(place[2])
        }
        try bench.add("c.jpg")
        #expect(try await bench.service().associate(bench.tape).state == .associated)
        #expect(try bench.albums().values.map { $0 } == [["0001-a.jpg", "0002-b.jpg", "0003-c.jpg"]])
        try bench.witness.check()
    }
}
