import Foundation
import TestSupport
import Testing

/// `sync download --thumbnails` (photosync contract section 6).
@Suite struct SyncThumbnailTests {
    let fixture: SyncFixture
    let ids: [String]

    private static let taken = #""dateTaken":"2019-08-01T10:15:00Z""#

    /// Indexes three of alice's photos from August 2019: two with a thumbnail, and one without.
    init() async throws {
        fixture = try await SyncFixture.loggedIn()
        var ids: [String] = []
        for name in ["a", "b", "c"] {
            ids += try await fixture.sandbox.addPhotos(
                #"{"user":"alice@example.test","content":"photo \#(name)","originalFilename":"\#(name).jpg",\#(Self.taken)}"#
            )
        }
        self.ids = ids
        for id in ids.prefix(2) { try await put(SmallPhoto.jpeg, id, fixture) }
        let pull = try await fixture.run("sync")
        try #require(pull.exitCode == 0)
    }

    private func put(_ bytes: [UInt8], _ id: String, _ fixture: SyncFixture) async throws {
        let body = #"{"base64":"\#(Data(bytes).base64EncodedString())"}"#
        try await fixture.sandbox.photoSync("POST", "photos/\(id)/thumbnail", body)
    }

    private func files(_ target: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: target).filter { $0.contains(".") }.sorted()
    }

    private func name(_ id: String) -> String { "2019/08/\(id).thumbnail.jpg" }

    @Test func thumbnailsAreStoredUnderSeparateNames() async throws {
        let target = fixture.runner.home.file("out")
        let report = try await fixture.json("sync", "download", "--thumbnails", "--output", target)
        #expect(report.result.exitCode == 0 && report.states == ["thumbnail", "thumbnail", "unavailable"])
        #expect(report.count("thumbnail") == 2 && report.count("unavailable") == 1 && report.count("verified") == 0)
        #expect(report.records.first?["thumbnails"] as? Bool == true)
        #expect(try files(target) == ids.prefix(2).map(name).sorted())
        let stored = try Data(contentsOf: URL(fileURLWithPath: "\(target)/\(name(ids[0]))"))
        #expect(stored == Data(SmallPhoto.jpeg))
        // The request is the one in the contract, with the key; the web address requires a cookie.
        #expect(try await fixture.requests("GET", "/api/photos/\(ids[0])/thumbnail") == 1)
        #expect(try await fixture.requests("GET", "/api/web/") == 0)
        #expect(try await fixture.requests("GET", "/api/photos/\(ids[0])/download") == 0)
    }

    /// A thumbnail is not evidence that the photo is on this machine.
    @Test func aPhotoWithAThumbnailIsStillMissing() async throws {
        let target = fixture.runner.home.file("out")
        _ = try await fixture.run("sync", "download", "--thumbnails", "--output", target)
        let verify = try await fixture.json("sync", "verify")
        #expect(verify.result.exitCode == 0 && verify.count("copies") == 0)
        // A push neither uploads a thumbnail nor treats it as a photo.
        let push = try await fixture.json("sync", "push", target)
        #expect(push.states == ["excluded", "excluded"])
        #expect(try await fixture.requests("POST", "/api/photos/upload") == 0)
        let photos = try await fixture.json("sync", "download", "--missing", "--output", target)
        #expect(photos.states == ["verified", "verified", "verified"])
        #expect(try files(target).count == 5)
        // With --missing, thumbnails of photos with a copy are not downloaded.
        let missing = try await fixture.json("sync", "download", "--thumbnails", "--missing", "-o", target + "2")
        #expect(missing.count("items") == 0)
        let all = try await fixture.json("sync", "download", "--thumbnails", "-o", target + "2")
        #expect(all.count("thumbnail") == 2 && ids.count == 3)
    }

    @Test func existingThumbnailsAreNotRequestedAgain() async throws {
        let target = fixture.runner.home.file("out")
        let first = try await fixture.json("sync", "download", "--thumbnails", ids[0], "--output", target)
        #expect(first.states == ["thumbnail"])
        let rest = try await fixture.json("sync", "download", "--thumbnails", "--output", target)
        #expect(rest.states == ["present", "thumbnail", "unavailable"])
        #expect(try await fixture.requests("GET", "/api/photos/\(ids[0])/thumbnail") == 1)
    }

    @Test func aDryRunRequestsNothing() async throws {
        let target = fixture.runner.home.file("out")
        let plan = try await fixture.json("sync", "download", "--thumbnails", "-o", target, "--dry-run")
        #expect(plan.result.exitCode == 0 && plan.states == ["planned", "planned", "planned"])
        #expect(!FileManager.default.fileExists(atPath: target))
        #expect(try await fixture.sandbox.requests().allSatisfy { !$0.path.hasSuffix("/thumbnail") })
    }

    /// A photo without a thumbnail is reported if it was specified individually.
    @Test func aSpecifiedThumbnailThatDoesNotExistIsReported() async throws {
        let report = try await fixture.json(
            "sync",
            "download",
            "--thumbnails",
            ids[2],
            "-o",
            fixture.runner.home.file("out")
        )
        #expect(report.result.exitCode == 5 && report.states == ["unavailable"])
        let error = report.items.first?["error"] as? [String: Any]
        #expect(error?["code"] as? String == "thumbnail_unavailable")
    }

    static let damaged: [[UInt8]] = [
        Array("<html>Bad gateway</html>".utf8), Array(SmallPhoto.jpeg.dropLast(40)), [],
        Array(SmallPhoto.stampedText("a").utf8),
    ]

    @Test(arguments: damaged) func aDamagedThumbnailIsAFailure(bytes: [UInt8]) async throws {
        try await put(bytes, ids[0], fixture)
        let target = fixture.runner.home.file("out")
        for _ in 1...2 {
            let report = try await fixture.json("sync", "download", "--thumbnails", "--output", target)
            #expect(report.result.exitCode == 3 && report.count("failed") == 1)
            #expect(try files(target) == [name(ids[1])])
        }
        try await put(SmallPhoto.jpeg, ids[0], fixture)
        let report = try await fixture.json("sync", "download", "--thumbnails", "--output", target)
        #expect(report.result.exitCode == 0 && report.states == ["present", "thumbnail", "unavailable"])
    }

    /// A file created by another program is not replaced.
    @Test func anExistingFileIsNotReplaced() async throws {
        let target = fixture.runner.home.file("out")
        try makeDirectory(target + "/2019/08")
        try Data("mine".utf8).write(to: URL(fileURLWithPath: "\(target)/\(name(ids[0]))"))
        let report = try await fixture.json("sync", "download", "--thumbnails", "--output", target)
        #expect(report.states == ["present", "thumbnail", "unavailable"])
        #expect(try String(contentsOfFile: "\(target)/\(name(ids[0]))", encoding: .utf8) == "mine")
    }
}
