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
            fixture = try FolderFixture()
            for name in ["a.jpg", "b.jpg", "c.jpg"] { try fixture.original(name) }
            witness = try fixture.witness()
            tape = UUID().uuidString.lowercased()
            try fixture.store.create(TapeRecord(id: tape, title: "Summer", createdAt: Date()))
            try add(["a.jpg", "b.jpg"])
        }

        func add(_ names: [String], to other: String? = nil) throws {
            let clips = names.map { name in
                ClipRecord(
                    id: UUID().uuidString.lowercased(),
                    tapeID: tape,
                    kind: .image,
                    source: Array("\(fixture.originals)/\(name)".utf8)
                )
            }
            _ = try fixture.store.addClips(clips, to: other ?? tape, at: nil, now: Date())
        }

        func service(_ library: FolderLibrary? = nil) -> AlbumService {
            AlbumService(store: fixture.store, directory: fixture.data, library: library ?? fixture.library)
        }

        func state() throws -> String {
            let tape = try #require(try fixture.store.tape(tape))
            return tape.association.rawValue + (tape.reason.map { " " + $0.rawValue } ?? "")
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
        try bench.add(["c.jpg"])
        for isRequested in [false, true] {
            let outcome = try await bench.service().associate(bench.tape, isRequested: isRequested)
            #expect(outcome.state == .pending && outcome.reason == .libraryChanged)
        }
        #expect(try bench.state() == "pending_association library_changed")
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
        let new = UUID().uuidString.lowercased()
        try bench.fixture.store.create(TapeRecord(id: new, title: "New", createdAt: Date()))
        try bench.add(["c.jpg"], to: new)
        #expect(try await bench.service().associate(new).state == .associated)
        try bench.add(["c.jpg"])
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
        let place = [point.rawValue, bench.fixture.data.path, bench.fixture.root, bench.fixture.pictures, bench.tape]
        await #expect(processExitsWith: .signal(SIGKILL)) { [place = place as [String]] in
            setenv("MEDIACTL_KILL_AT", place[0], 1)
            let data = try DataDirectory.open(place[1])
            let store = try LibraryStore(in: data)
            let root = FolderLibrary.Root(
                path: Array(place[2].utf8),
                picturesDirectory: Array(place[3].utf8),
                isConfigured: false
            )
            let library = FolderLibrary(root: root, directory: data, store: store)
            _ = try await AlbumService(store: store, directory: data, library: library, policy: AlbumService.Policy())
                .associate(place[4])
        }
        try bench.add(["c.jpg"])
        #expect(try await bench.service().associate(bench.tape).state == .associated)
        #expect(try bench.albums().values.map { $0 } == [["0001-a.jpg", "0002-b.jpg", "0003-c.jpg"]])
        try bench.witness.check()
    }
}
