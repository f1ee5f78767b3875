import Foundation
import Glibc
import MediaFiles
import MediaStore
import TestSupport
import Testing

@testable import Tapes

/// The names of the links are in the order of the tape (tapes contract section 5).
@Suite struct AlbumOrderTests {
    private static let manifest = ".mediactl-album.json"

    /// An album with these originals, in the given order.
    private struct Bench {
        let fixture: FolderFixture
        let album: MadeAlbum
        var paths: [String: [UInt8]] = [:]

        init(_ names: [String] = ["a.jpg", "b.jpg", "c.jpg"]) async throws {
            fixture = try await FolderFixture.ready()
            album = try await fixture.album()
            for name in names { paths[name] = try AlbumOrderTests.original(name, fixture) }
            _ = try await fixture.add(names.compactMap { paths[$0] }, to: album)
        }

        func clips(_ names: [String]) -> [ClipRecord] {
            names.enumerated().compactMap { position, name in
                paths[name].map { path in
                    var clip = fixture.clip(path)
                    clip.position = position
                    clip.association = .linked
                    return clip
                }
            }
        }

        func arrange(_ names: String...) async throws {
            try await fixture.library.arrange(
                album.id,
                hint: album.hint,
                tape: fixture.tape(),
                clips: clips(names)
            )
        }

        func links() throws -> [String] { try fixture.names().filter { $0.hasPrefix("0") } }

        /// Names of links, with the content that a user sees.
        func contents() throws -> [String: String] {
            var contents: [String: String] = [:]
            for name in try links() { contents[name] = try String(contentsOfFile: fixture.path(name), encoding: .utf8) }
            return contents
        }

        /// The files that a player plays.
        func playlist() throws -> [String] {
            try String(contentsOfFile: fixture.path("tape.m3u8"), encoding: .utf8)
                .split(separator: "\n").filter { !$0.hasPrefix("#") }.map(String.init)
        }

        /// Every entry of the manifest is a link on the disk, and vice versa.
        func expectConsistent(_ comment: Comment? = nil) throws {
            let entries = try #require(try fixture.manifest()["entries"] as? [[String: Any]])
            #expect(entries.compactMap { $0["link"] as? String }.sorted() == (try links()), comment)
            #expect(entries.allSatisfy { $0["renameTo"] == nil }, comment)
            for entry in entries {
                let link = try #require(entry["link"] as? String)
                #expect(try fixture.target(link) == entry["target"] as? String, comment)
            }
            #expect(
                !(try fixture.names()).contains { $0.hasPrefix(".mediactl-link") || $0.hasSuffix("-part") },
                comment
            )
        }
    }

    /// An original `directory/name` whose content is its path.
    private static func original(_ name: String, _ fixture: FolderFixture) throws -> [UInt8] {
        let path = fixture.originals + "/" + name
        try makeDirectory(URL(fileURLWithPath: path).deletingLastPathComponent().path)
        try Data(name.utf8).write(to: URL(fileURLWithPath: path))
        return Array(path.utf8)
    }

    @Test("links have the numbers of their clips, regardless of the order of adding") func moved() async throws {
        let bench = try await Bench()
        let witness = try bench.fixture.witness()
        try await bench.arrange("c.jpg", "a.jpg", "b.jpg")
        #expect(try bench.contents() == ["0001-c.jpg": "c.jpg", "0002-a.jpg": "a.jpg", "0003-b.jpg": "b.jpg"])
        #expect(try bench.playlist() == ["./0001-c.jpg", "./0002-a.jpg", "./0003-b.jpg"])
        // The manifest keeps the order of adding.
        let entries = try #require(try bench.fixture.manifest()["entries"] as? [[String: Any]])
        #expect(entries.map { $0["seq"] as? Int } == [1, 2, 3])
        #expect(entries.map { $0["link"] as? String } == ["0002-a.jpg", "0003-b.jpg", "0001-c.jpg"])
        try bench.expectConsistent()
        try witness.check()
    }

    @Test("links with the same name are exchanged in a cycle without replacing one another") func circle()
        async throws
    {
        let names = ["1/x.jpg", "2/x.jpg", "3/x.jpg", "4/x.jpg"]
        let bench = try await Bench(names)
        try await bench.arrange("2/x.jpg", "3/x.jpg", "1/x.jpg", "4/x.jpg")
        #expect(
            try bench.contents() == [
                "0001-x.jpg": "2/x.jpg", "0002-x.jpg": "3/x.jpg", "0003-x.jpg": "1/x.jpg", "0004-x.jpg": "4/x.jpg",
            ]
        )
        // All move up by one: each has to wait for the next.
        try await bench.arrange("4/x.jpg", "2/x.jpg", "3/x.jpg", "1/x.jpg")
        #expect(
            try bench.contents() == [
                "0001-x.jpg": "4/x.jpg", "0002-x.jpg": "2/x.jpg", "0003-x.jpg": "3/x.jpg", "0004-x.jpg": "1/x.jpg",
            ]
        )
        try bench.expectConsistent()
    }

    @Test("a link without a clip comes after the last clip, and is not played") func leftover() async throws {
        let bench = try await Bench()
        try await bench.arrange("b.jpg", "c.jpg")
        #expect(try bench.links() == ["0001-b.jpg", "0002-c.jpg", "0003-a.jpg"])
        #expect(try bench.playlist() == ["./0001-b.jpg", "./0002-c.jpg"])
        try await bench.arrange("c.jpg")
        // In the order of adding.
        #expect(try bench.links() == ["0001-c.jpg", "0002-a.jpg", "0003-b.jpg"])
        #expect(try bench.playlist() == ["./0001-c.jpg"])
        try bench.expectConsistent()
    }

    @Test("an original that occurs twice has one link, at its first position, and is played twice") func twice()
        async throws
    {
        let bench = try await Bench()
        try await bench.arrange("b.jpg", "a.jpg", "b.jpg", "c.jpg")
        #expect(try bench.links() == ["0001-b.jpg", "0002-a.jpg", "0004-c.jpg"])
        #expect(try bench.playlist() == ["./0001-b.jpg", "./0002-a.jpg", "./0001-b.jpg", "./0004-c.jpg"])
    }

    @Test("a clip without a link is played by its path, and its number stays unused") func withoutLink() async throws {
        var bench = try await Bench(["a.jpg", "b.jpg"])
        bench.paths["c.jpg"] = try Self.original("c.jpg", bench.fixture)
        try await bench.arrange("c.jpg", "a.jpg", "b.jpg")
        #expect(try bench.links() == ["0002-a.jpg", "0003-b.jpg"])
        #expect(try bench.playlist() == [bench.fixture.originals + "/c.jpg", "./0002-a.jpg", "./0003-b.jpg"])
        // A link that was deleted by hand is not played either.
        try FileManager.default.removeItem(atPath: bench.fixture.path("0003-b.jpg"))
        try await bench.arrange("b.jpg", "a.jpg")
        #expect(try bench.links() == ["0002-a.jpg"])
        #expect(try bench.playlist() == [bench.fixture.originals + "/b.jpg", "./0002-a.jpg"])
    }

    @Test("foreign files keep their names, and a file in place of a link is not renamed") func foreign()
        async throws
    {
        let bench = try await Bench()
        try bench.fixture.write("mine", to: bench.fixture.path("0001-c.jpg"))
        try makeLink(bench.fixture.path("0002-a.jpg"), to: "elsewhere")
        // This is no longer a link created by mediactl.
        try FileManager.default.removeItem(atPath: bench.fixture.path("0002-b.jpg"))
        try bench.fixture.write("also mine", to: bench.fixture.path("0002-b.jpg"))
        try await bench.arrange("c.jpg", "a.jpg", "b.jpg")
        #expect(
            try bench.links() == [
                "0001-c (2).jpg", "0001-c.jpg", "0002-a (2).jpg", "0002-a.jpg", "0002-b.jpg",
            ]
        )
        #expect(try bench.fixture.target("0002-a.jpg") == "elsewhere")
        #expect(try String(contentsOfFile: bench.fixture.path("0001-c.jpg"), encoding: .utf8) == "mine")
        #expect(try String(contentsOfFile: bench.fixture.path("0002-b.jpg"), encoding: .utf8) == "also mine")
        #expect(try String(contentsOfFile: bench.fixture.path("0001-c (2).jpg"), encoding: .utf8) == "c.jpg")
        let names = try bench.fixture.names()
        try await bench.arrange("c.jpg", "a.jpg", "b.jpg")
        #expect(try bench.fixture.names() == names)
    }

    @Test("files that are up to date are not written again") func unchanged() async throws {
        let bench = try await Bench()
        try await bench.arrange("a.jpg", "b.jpg", "c.jpg")
        let folder = try OriginalsWitness(bench.fixture.root)
        try await bench.arrange("a.jpg", "b.jpg", "c.jpg")
        try folder.check()
    }

    @Test("links in an album written by a newer version are not renamed") func newer() async throws {
        let bench = try await Bench()
        let file = bench.fixture.path(Self.manifest)
        let text = try String(contentsOfFile: file, encoding: .utf8)
            .replacing("\"version\": 1", with: "\"version\": 2")
            .replacing("\"link\":\"0001-a.jpg\"", with: "\"link\":\"0001-a.jpg\",\"renameTo\":\"0002-a.jpg\"")
        try bench.fixture.write(text, to: file)
        let folder = try OriginalsWitness(bench.fixture.root)
        #expect(try await albumErrorKind { try await bench.arrange("c.jpg") } == .insufficient(["write"]))
        try folder.check()
    }

    @Test("a name in the manifest that refers outside the folder is not used") func unsafeName() async throws {
        let bench = try await Bench(["a.jpg"])
        let file = bench.fixture.path(Self.manifest)
        let text = try String(contentsOfFile: file, encoding: .utf8)
            .replacing("\"link\":\"0001-a.jpg\"", with: "\"link\":\"0001-a.jpg\",\"renameTo\":\"../0002-a.jpg\"")
        try bench.fixture.write(text, to: file)
        try await bench.arrange("a.jpg")
        #expect(try bench.links() == ["0001-a.jpg"])
        #expect(!bench.fixture.exists(bench.fixture.root + "/0002-a.jpg"))
    }

    // MARK: Killed processes

    private static let points: [TapeFailpoint] = [
        .renamesPlanned, .linkParked, .linkRenamed, .linksRenamed, .playlistWritten,
    ]

    /// The run after the kill.
    enum Next: CaseIterable {
        case sameOrder, otherOrder, add
    }

    @Test(
        "kill -9 while links are renamed: the next change finishes it, no link is lost, and no foreign file is changed",
        arguments: points,
        Next.allCases
    )
    func killed(_ point: TapeFailpoint, _ next: Next) async throws {
        let names = ["1/x.jpg", "2/x.jpg", "3/x.jpg", "y.jpg"]
        var bench = try await Bench(names)
        try bench.fixture.write("mine", to: bench.fixture.path("0004-x.jpg"))
        let witness = try bench.fixture.witness()
        let place = [point.rawValue, bench.fixture.temporary.path, bench.album.id, bench.fixture.originals]
        await #expect(processExitsWith: .signal(SIGKILL)) { [place = place as [String]] in
            setenv("MEDIACTL_KILL_AT", place[0], 1)
            let tape = TapeRecord(id: FolderFixture.tapeID, title: "Summer", createdAt: Date())
            // A cycle of three, and one that moves to the end and back.
            let clips = ["3/x.jpg", "1/x.jpg", "2/x.jpg", "y.jpg"].map { name in
                ClipRecord(Array("\(place[3])/\(name)".utf8), of: FolderFixture.tapeID)
            }
            let library = try FolderFixture.service(in: place[1]).library
            try await library.arrange(place[2], hint: nil, tape: tape, clips: clips)
        }
        var expected = [
            "0001-x.jpg": "3/x.jpg", "0002-x.jpg": "1/x.jpg", "0003-x.jpg": "2/x.jpg", "0004-y.jpg": "y.jpg",
        ]
        switch next {
        case .sameOrder: try await bench.arrange("3/x.jpg", "1/x.jpg", "2/x.jpg", "y.jpg")
        case .otherOrder:
            try await bench.arrange("y.jpg", "2/x.jpg", "3/x.jpg", "1/x.jpg")
            expected = [
                "0001-y.jpg": "y.jpg", "0002-x.jpg": "2/x.jpg", "0003-x.jpg": "3/x.jpg", "0004-x (2).jpg": "1/x.jpg",
            ]
        case .add:
            bench.paths["z.jpg"] = try Self.original("z.jpg", bench.fixture)
            // This only completes the links; the number of the new link is not final.
            let result = try await bench.fixture.add([try #require(bench.paths["z.jpg"])], to: bench.album)
            #expect(result == [.added])
            try bench.fixture.write("mine", to: bench.fixture.path("0004-x.jpg"))
            expected = expected.merging(["0005-z.jpg": "z.jpg"]) { $1 }
        }
        expected["0004-x.jpg"] = "mine"
        #expect(try bench.contents() == expected, "\(point) \(next)")
        try FileManager.default.removeItem(atPath: bench.fixture.path("0004-x.jpg"))
        try bench.expectConsistent("\(point) \(next)")
        if next != .add { try witness.check() }
    }
}
