import Foundation
import MediaStore
import TestSupport
import Testing

@testable import Tapes

/// The asset IDs of originals on the server (contract 6.3), without uploading.
@Suite("assets of Immich")
struct ImmichAssetTests {
    let bench: ImmichBench

    init() async throws { bench = try await ImmichBench() }

    /// SHA-1 of `abc` (FIPS 180-4, appendix A.1 of its examples).
    static let sha1OfABC = "a9993e364706816aba3e25717850c26c9cd0d89d"
    /// This digest in base64: 28 characters.
    static let base64OfABC = "qZk+NkcGgWq6PiVxeFDCbJzQ2J0="

    @Test("trap 14: a checksum is 28 characters of base64")
    func base64() throws {
        #expect(ImmichChecksum(hex: Self.sha1OfABC)?.base64 == Self.base64OfABC)
        #expect(Self.base64OfABC.count == 28)
        #expect(ImmichChecksum(hex: Self.sha1OfABC + "00") == nil)
        #expect(ImmichChecksum(hex: String(repeating: "g", count: 40)) == nil)
    }

    @Test("6.3, trap 14: one check by SHA-1 for all, responses matched by ID", arguments: [2, 3])
    func check(major: Int) async throws {
        let bench = try await ImmichBench(major: major)
        let ids = try await bench.server.add(assets: [
            ["checksum": Self.sha1OfABC], ["checksum": Self.sha1OfABC, "user": "Bob"],
        ])
        let clips = [try bench.clip("a.jpg", "abc"), try bench.clip("b.jpg", "other"), try bench.clip("c.jpg", "abc")]
        let found = try await bench.library().resolveAssets(clips, mayUpload: false)
        // R15: files that are not on the server stay unidentified.
        #expect(found.map(\.assetID) == [ids[0], nil, ids[0]])
        #expect(found[1] == .unidentified)
        let requests = try await bench.report().requests.filter { $0.method == "POST" }
        #expect(requests.map(\.line) == ["POST /assets/bulk-upload-check"])
        let requested = requests[0].json?.assets ?? []
        #expect(requested.map { $0["id"] } == clips.map(\.id))
        #expect(requested.first?["checksum"] == Self.base64OfABC)
    }

    @Test("trap 10, 6.3: an asset in the trash is linked, and reported as hidden")
    func trashed() async throws {
        let library = try bench.library()
        let ids = try await bench.server.add(assets: [["checksum": Self.sha1OfABC, "trashed": true]])
        let found = try await library.resolveAssets([try bench.clip("a.jpg", "abc")], mayUpload: true)
        #expect(found == [.asset(Array(ids[0].utf8), isHidden: true)])
        let made = try await library.createAlbum(title: "a", tapeID: "t")
        #expect(try await library.add(ids.map(AlbumAsset.init), to: made.id, hint: nil) == [.added])
        // The count omits the asset in the trash, so it proves nothing.
        #expect(try await library.album(made.id, hint: nil) == .found(title: "a", hint: nil, count: 0))
    }

    @Test("4.3, 6.3: a key that may read but not upload searches file by file")
    func search() async throws {
        let bench = try await ImmichBench(permissions: ["album.create", "albumAsset.create", "asset.read"])
        let ids = try await bench.server.add(assets: [["checksum": Self.sha1OfABC]])
        let clips = [try bench.clip("a.jpg", "abc"), try bench.clip("b.jpg", "other")]
        let found = try await bench.library().resolveAssets(clips, mayUpload: true)
        #expect(found.map(\.assetID) == [ids[0], nil])
        #expect(found[1] == .unidentified)
        let requests = try await bench.report().requests.filter { $0.method == "POST" }
        #expect(requests.map(\.line) == ["POST /search/metadata", "POST /search/metadata"])
        #expect(requests.first?.json?.checksum == Self.base64OfABC)
    }

    @Test("4.3: a key that cannot identify any asset is reported")
    func noWay() async throws {
        let bench = try await ImmichBench(permissions: ["album.create", "albumAsset.create"])
        let clip = try bench.clip("a.jpg", "abc")
        let error = await albumError { _ = try await bench.library().resolveAssets([clip], mayUpload: true) }
        #expect(error?.kind == .insufficient(["asset.upload"]))
    }

    @Test("6.3: blocks of 5,000; elements without a response count as failed")
    func blocks() async throws {
        let files = (0..<5001).map { number in
            ImmichLibrary.CheckedFile(
                id: "clip-\(number)",
                checksum: ImmichChecksum(Array(repeating: UInt8(number % 251), count: 20))
            )
        }
        let library = try bench.library()
        try await bench.server.add(faults: ["method": "POST", "skip": 1, "body": #"{"results":[]}"#])
        let found = try await library.check(files)
        #expect(found.count == 1)
        #expect(found["clip-5000"]?.failure?.kind == .unreachable(retryAfter: nil))
        #expect(try await bench.report().requests.map { $0.json?.assets?.count } == [5000, nil])
    }

    // MARK: Originals

    @Test("trap 14, R14: a checksum is computed once, stored, and reused while the file is unchanged")
    func cache() async throws {
        let tapeID = try bench.store.makeTape("a")
        let clip = try bench.clip("a.jpg", "abc")
        let added = try #require(try bench.store.addClips([clip], to: tapeID, at: nil, now: Date()))
        _ = try await bench.library().resolveAssets(added, mayUpload: false)
        var kept = try #require(try bench.store.clips(of: tapeID).first)
        #expect(kept.sha1 == Self.sha1OfABC)
        #expect(kept.size == 3)
        // A digest other than the file's shows that it is not read again.
        let wrong = String(repeating: "0", count: 40)
        kept.sha1 = wrong
        let zeros = try await bench.server.add(assets: [["checksum": wrong]])
        #expect(try await bench.library().resolveAssets([kept], mayUpload: false).map(\.assetID) == [zeros[0]])
        // A different length or a different time invalidates it.
        for (size, time) in [(4, kept.modifiedNanoseconds), (3, 1)] {
            var stale = kept
            (stale.size, stale.modifiedNanoseconds) = (Int64(size), time)
            #expect(try await bench.library().resolveAssets([stale], mayUpload: false) == [.unidentified])
        }
        #expect(try bench.store.clips(of: tapeID).first?.sha1 == Self.sha1OfABC)
    }

    @Test("R14: a missing original is unavailable, and does not delay others")
    func away() async throws {
        let ids = try await bench.server.add(assets: [["checksum": Self.sha1OfABC]])
        var lost = try bench.clip("lost.jpg", "lost")
        try FileManager.default.removeItem(atPath: bench.directory.file("lost.jpg"))
        // A stored checksum is not used for a file that may have changed.
        (lost.sha1, lost.size, lost.modifiedNanoseconds) = (Self.sha1OfABC, 3, 1)
        let empty = try bench.clip("empty.jpg", "")
        var directory = try bench.clip("x.jpg", "abc")
        directory.source = Array(bench.directory.path.utf8)
        var nameless = directory
        nameless.source = nil
        let clips = [lost, empty, directory, nameless, try bench.clip("a.jpg", "abc")]
        let found = try await bench.library().resolveAssets(clips, mayUpload: true)
        #expect(found[0] == .unavailable("no such file"))
        #expect(found[1] == .rejected("the file is empty"))
        #expect(found[2] == .rejected("it is a directory"))
        #expect(found[3] == .unavailable("the clip has no file"))
        #expect(found[4].assetID == ids[0])
        #expect(try await bench.lines() == ["POST /assets/bulk-upload-check"])
    }

    @Test("R14: a file system that does not respond is abandoned")
    func silence() async throws {
        let source = try #require(try bench.clip("a.jpg", "abc").source)
        let gate = Gate()
        defer { gate.open() }
        let isSilent: Bool
        do throws(ClipOriginal.Failure) {
            _ = try await ClipOriginal(source, stepLimit: .milliseconds(20)) { _ in gate.wait() }
            isSilent = false
        } catch {
            if case .silent = error { isSilent = true } else { isSilent = false }
        }
        #expect(isSilent)
    }

    @Test("R14: other files on a file system that does not respond do not cause a wait")
    func silentDirectory() async throws {
        var reading = ClipChecksums(store: bench.store)
        let clip = try bench.clip("a.jpg", "abc")
        #expect(try await reading.checksum(of: clip).base64 == Self.base64OfABC)
        reading.silent.insert(Array(bench.directory.path.utf8))
        await #expect(throws: ClipOriginal.Failure.self) { try await reading.checksum(of: clip) }
    }

    @Test("R6: originals are unchanged after all queries and uploads")
    func witness() async throws {
        let originals = bench.directory.file("originals")
        try makeDirectory(originals)
        var live = try bench.clip("originals/a.heic", "still", kind: .live)
        live.pairedSource = try bench.clip("originals/a.mov", "video").source
        let clips = [live, try bench.clip("originals/b.jpg", "abc")]
        let witness = try OriginalsWitness(originals)
        let found = try await bench.library().resolveAssets(clips, mayUpload: true)
        #expect(found.allSatisfy { $0.assetID != nil })
        try witness.check()
    }

    // MARK: By path

    @Test("6.3, trap 16: only mapped directories of originals exist on the server; the longest prefix counts")
    func serverPath() async throws {
        let library = try bench.library(pathMap: [
            (Array("/photos".utf8), "/usr/src/app/external"), (Array("/photos/raw/".utf8), "/mnt/raw/"),
        ])
        #expect(library.serverPath(of: Array("/photos/2026/a.jpg".utf8)) == "/usr/src/app/external/2026/a.jpg")
        #expect(library.serverPath(of: Array("/photos/raw/a.dng".utf8)) == "/mnt/raw/a.dng")
        #expect(library.serverPath(of: Array("/photos2/a.jpg".utf8)) == nil)
        #expect(library.serverPath(of: Array("/elsewhere/a.jpg".utf8)) == nil)
        // Trap 17: a path that is not text has no path on the server.
        #expect(library.serverPath(of: Array("/photos/".utf8) + [0xff]) == nil)
    }

    @Test("6.3: the server's matches are partial, ignore case, and fill several pages; the exact one is used")
    func externalLibrary() async throws {
        let clip = try bench.clip("a.jpg", "abc")
        // The server returns two per page.
        let paths = ["/ext/a.jpg.xmp", "/ext/A.JPG", "/more/ext/a.jpg", "/ext/a.jpg"]
        let ids = try await bench.server.add(assets: paths.map { ["path": $0, "offline": true] })
        let library = try bench.library(pathMap: [(Array(bench.directory.path.utf8), "/ext")])
        let found = try await library.resolveAssets([clip], mayUpload: true)
        #expect(found.map(\.assetID) == [ids[3]])
        let requests = try await bench.report().requests.filter { $0.method == "POST" }
        #expect(requests.map(\.line) == ["POST /search/metadata", "POST /search/metadata"])
        #expect(requests.allSatisfy { $0.json?.originalPath == "/ext/a.jpg" })
    }

    @Test("6.3: names that only look alike are not the same path")
    func equalByBytes() async throws {
        // The server's name has one character; the local name has a letter and an accent.
        try await bench.server.add(assets: [["path": "/ext/\u{e9}.jpg"]])
        let library = try bench.library()
        #expect(try await library.asset(atServerPath: "/ext/\u{e9}.jpg") != nil)
        #expect(try await library.asset(atServerPath: "/ext/e\u{301}.jpg") == nil)
        try await bench.server.add(faults: [
            "path": "/search",
            "body":
                #"{"assets":{"items":[{"id":"\#(SampleID.asset)","originalPath":"/ext/\u00e9.jpg"}],"nextPage":"1"}}"#,
        ])
        #expect(try await library.asset(atServerPath: "/ext/e\u{301}.jpg") == nil)
    }

    @Test("6.3: a file that the mapped server does not index is found by checksum")
    func notIndexed() async throws {
        let ids = try await bench.server.add(assets: [["checksum": Self.sha1OfABC]])
        let clip = try bench.clip("a.jpg", "abc")
        let library = try bench.library(pathMap: [(Array(bench.directory.path.utf8), "/ext")])
        #expect(try await library.resolveAssets([clip], mayUpload: true).map(\.assetID) == [ids[0]])
    }
}
