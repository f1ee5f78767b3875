import Foundation
import TestSupport
import Testing

/// The ID in rewritten files, as exiftool reads it (photosync contract, new fact 1), and files damaged on the disk.
@Suite struct PhotoStampTests {
    private static let exiftool = ["/usr/bin/exiftool", "/usr/local/bin/exiftool"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    @Test(
        arguments: [
            "baseline-420.jpg", "stamped-baseline-420.jpg", "ffmpeg.png", "stamped-ffmpeg.png", "still.gif",
            "lossy.webp", "stamped-lossless.webp", "still.heic",
        ]
    )
    func exiftoolReadsTheID(name: String) async throws {
        let exiftool = try #require(Self.exiftool, "exiftool is missing: apt-get install libimage-exiftool-perl")
        let fixture = try await PhotoFixture()
        let content = try Repository.data("fixtures/media/photos/\(name)")
        let id = try #require(try await fixture.upload(try fixture.file(name, content)).string("id"))
        let rewritten = try await fixture.get("/api/photos/\(id)/download").body
        #expect(rewritten != content)
        let path = try fixture.file(name, rewritten)
        let read = try await output(of: [exiftool, "-s3", "-ImageUniqueID", path])
        #expect(read.trimmingCharacters(in: .whitespacesAndNewlines) == id)
        let check = try await output(of: [exiftool, "-s3", "-validate", "-ImageSize", path])
        #expect(check.contains(name.hasSuffix(".jpg") ? "203x157" : "47x31"), "\(check)")
    }

    /// exiftool replaces the ID instead of adding a second one.
    @Test(arguments: ["still.gif", "still.heic"])
    func anUploadedCopyHasOnlyTheNewID(name: String) async throws {
        let exiftool = try #require(Self.exiftool, "exiftool is missing: apt-get install libimage-exiftool-perl")
        let fixture = try await PhotoFixture()
        var content = try Repository.data("fixtures/media/photos/\(name)")
        var ids: [String] = []
        for _ in 0..<2 {
            let id = try #require(try await fixture.upload(try fixture.file(name, content)).string("id"))
            content = try await fixture.get("/api/photos/\(id)/download").body
            ids.append(id)
        }
        #expect(ids[0] != ids[1])
        let read = try await output(of: [exiftool, "-s3", "-a", "-ImageUniqueID", try fixture.file(name, content)])
        #expect(read.trimmingCharacters(in: .whitespacesAndNewlines) == ids[1])
        #expect(content.firstRange(of: Data(ids[0].utf8)) == nil)
    }

    @Test func filesAreDamagedAndTheirRowsKept() async throws {
        let fixture = try await PhotoFixture(["--photosync-rewrite", "off"])
        func upload(_ text: String) async throws -> String {
            try #require(try await fixture.upload(try fixture.file("\(text).jpg", text.utf8)).string("id"))
        }
        func damage(_ id: String, _ action: String) async throws {
            try await fixture.sandbox.photoSync("POST", "photos/\(id)/file", action)
        }
        let (one, two) = (try await upload("first"), try await upload("second"))
        try await damage(one, #"{"action":"swap","with":"\#(two)"}"#)
        #expect(try await fixture.get("/api/photos/\(one)/download").text == "second")
        #expect(try await fixture.get("/api/photos/\(two)/download").text == "first")
        try await damage(one, #"{"action":"truncate","bytes":3}"#)
        #expect(try await fixture.get("/api/photos/\(one)/download").text == "sec")
        try await damage(one, #"{"action":"empty"}"#)
        let empty = try await fixture.get("/api/photos/\(one)/download")
        #expect(empty.status == 200 && empty.body.isEmpty)
        try await damage(one, #"{"action":"replace","base64":"eA=="}"#)
        #expect(try await fixture.get("/api/photos/\(one)/download").text == "x")
        try await damage(one, #"{"action":"remove"}"#)
        #expect(try await fixture.get("/api/photos/\(one)/download").status == 404)
        #expect(try await fixture.list().photos.count == 2)
        #expect(try await fixture.sandbox.photos().map(\.fileSize) == [5, 6])
    }
}
