import Foundation
import Glibc
import MediaStore
import TestSupport
import Testing

@testable import Tapes

/// The libraries that implement the protocol `AlbumLibrary`.
enum LibraryKind: String, CaseIterable, CustomTestStringConvertible {
    case folder
    case immich2 = "Immich 2"
    case immich3 = "Immich 3"

    var testDescription: String { rawValue }

    /// An empty library that is set up.
    func make() async throws -> any LibraryUnderTest {
        switch self {
        case .folder: try await FolderUnderTest()
        case .immich2: try await ImmichUnderTest(major: 2)
        case .immich3: try await ImmichUnderTest(major: 3)
        }
    }
}

/// A library with the actions that tests perform on it, and its content as seen from outside.
protocol LibraryUnderTest: Sendable {
    var data: DataDirectory { get }
    var store: LibraryStore { get }
    /// The directory of the originals.
    var originals: String { get }

    /// The library as a new process opens it.
    func open() throws -> any AlbumLibrary
    /// Another instance or account at the same address.
    func openOther() async throws -> any AlbumLibrary
    /// Names of the originals in each album, by album ID, sorted.
    func albums() async throws -> [String: [String]]
    /// Titles of all albums, sorted.
    func titles() async throws -> [String]
    /// Deletes an album as another program would.
    func destroy(_ albumID: String) async throws
    /// Makes the library unavailable: unmounted, or not responding.
    func takeAway() async throws
    func bringBack() async throws
}

extension LibraryUnderTest {
    /// The service of a new process.
    func service(deleting: Bool = false) throws -> AlbumService {
        AlbumService(
            store: store,
            directory: data,
            library: try open(),
            policy: AlbumService.Policy(deletesAlbums: deleting)
        )
    }

    /// A clip of a new original, whose bytes are its name.
    func clip(_ name: String, tapeID: String = LibraryConformanceTests.tapeID) throws -> ClipRecord {
        try clip(Array(name.utf8), tapeID: tapeID)
    }

    func clip(_ name: [UInt8], tapeID: String = LibraryConformanceTests.tapeID) throws -> ClipRecord {
        let path = Array((originals + "/").utf8) + name
        if FileManager.default.contents(atPath: String(decoding: path, as: UTF8.self)) == nil {
            let descriptor = Glibc.open(path.map(CChar.init(bitPattern:)) + [0], O_CREAT | O_WRONLY, 0o644)
            try #require(descriptor >= 0)
            try FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).write(contentsOf: Data(name))
        }
        return ClipRecord(path, of: tapeID)
    }

    /// A tape with clips of these originals, without an album.
    func tape(_ title: String, _ names: [String]) throws -> String {
        let id = try store.makeTape(title)
        try add(names, to: id)
        return id
    }

    func add(_ names: [String], to tapeID: String) throws {
        let clips = try names.map { try clip($0, tapeID: tapeID) }
        _ = try store.addClips(clips, to: tapeID, at: nil, now: Date())
    }

    func states(_ tapeID: String) throws -> [ClipRecord.Association] {
        try store.clips(of: tapeID).map(\.association)
    }

    /// Assets of clips, which the library must be able to identify.
    func assets(_ clips: [ClipRecord], _ library: any AlbumLibrary) async throws -> [AlbumAsset] {
        try await library.resolveAssets(clips, mayUpload: true).map { resolution in
            guard case .asset(let id, false) = resolution else {
                throw AlbumError(.rejected(status: nil), detail: "\(resolution)")
            }
            return AlbumAsset(id: id, kind: .image)
        }
    }
}

struct FolderUnderTest: LibraryUnderTest {
    private let fixture: FolderFixture

    init() async throws { fixture = try await .ready() }

    var data: DataDirectory { fixture.data }
    var store: LibraryStore { fixture.store }
    var originals: String { fixture.originals }
    private var away: String { fixture.root + " away" }

    func open() throws -> any AlbumLibrary { fixture.library() }

    /// Another disk is mounted at the path.
    func openOther() async throws -> any AlbumLibrary {
        let marker = fixture.root + "/.mediactl-library.json"
        let text = try String(contentsOfFile: marker, encoding: .utf8)
        let id = try #require(text.firstMatch(of: /"id" ?: ?"([^"]+)"/)?.1)
        try fixture.write(text.replacing(id, with: UUID().uuidString.lowercased()), to: marker)
        return fixture.library()
    }

    private func folders() throws -> [(path: String, manifest: [String: Any])] {
        let names = try FileManager.default.contentsOfDirectory(atPath: fixture.root).filter { !$0.hasPrefix(".") }
        return try names.map { (fixture.root + "/" + $0, try fixture.manifest(in: $0)) }
    }

    func albums() async throws -> [String: [String]] {
        var albums: [String: [String]] = [:]
        for (path, manifest) in try folders() {
            let names = try FileManager.default.contentsOfDirectory(atPath: path)
            let targets = names.compactMap { Self.target(ofLink: path + "/" + $0) }
            let id = try #require(manifest["id"] as? String)
            albums[id] = targets.map { String($0.split(separator: "/").last ?? "") }.sorted()
        }
        return albums
    }

    /// Targets are bytes.
    private static func target(ofLink path: String) -> String? {
        var bytes = [CChar](repeating: 0, count: 4096)
        let count = readlink(path, &bytes, bytes.count)
        return count < 0 ? nil : String(decoding: bytes[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    func titles() async throws -> [String] { try folders().compactMap { $0.manifest["title"] as? String }.sorted() }

    func destroy(_ albumID: String) async throws {
        let folder = try #require(try folders().first { $0.manifest["id"] as? String == albumID })
        try FileManager.default.removeItem(atPath: folder.path)
    }

    func takeAway() async throws { try FileManager.default.moveItem(atPath: fixture.root, toPath: away) }

    func bringBack() async throws { try FileManager.default.moveItem(atPath: away, toPath: fixture.root) }
}

struct ImmichUnderTest: LibraryUnderTest {
    private let bench: ImmichBench
    let data: DataDirectory
    let originals: String

    init(major: Int) async throws {
        bench = try await ImmichBench(major: major)
        data = try DataDirectory.open(bench.directory.file("data"))
        originals = bench.directory.file("originals")
        try FileManager.default.createDirectory(atPath: originals, withIntermediateDirectories: false)
    }

    var store: LibraryStore { bench.store }

    func open() throws -> any AlbumLibrary { try bench.library(jobs: 3) }

    /// A key for another account.
    func openOther() async throws -> any AlbumLibrary {
        try await bench.server.add(key: "bob", user: "Bob")
        return try bench.library(key: "bob")
    }

    func albums() async throws -> [String: [String]] {
        let report = try await bench.report()
        let names = Dictionary(uniqueKeysWithValues: report.assets.map { ($0.id, $0.name) })
        return Dictionary(
            uniqueKeysWithValues: report.albums.map { album in
                (album.id, album.assets.compactMap { names[$0] }.sorted())
            }
        )
    }

    func titles() async throws -> [String] { try await bench.report().albums.map(\.name).sorted() }

    func destroy(_ albumID: String) async throws { try await bench.server.forget(album: albumID) }

    func takeAway() async throws { try await bench.server.add(faults: ["status": 503, "times": 1000, "body": ""]) }

    func bringBack() async throws { try await bench.server.clearFaults() }
}
