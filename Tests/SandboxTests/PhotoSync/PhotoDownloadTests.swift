import Foundation
import TestSupport
import Testing

/// `GET /api/photos/<id>/download`, received with curl (photosync contract 6).
@Suite struct PhotoDownloadTests {
    @Test func headersAndBytesOfADownload() async throws {
        let fixture = try await PhotoFixture(["--photosync-rewrite", "off"])
        let path = try fixture.file("a.jpg", "0123456789".utf8)
        let fields = ["dateTaken=2024-01-01T10:00:00.75Z", "originalFilename=é & \"x\".jpg"]
        let id = try #require(try await fixture.upload(path, fields).string("id"))
        let hash = "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882"
        let response = try await fixture.get("/api/photos/\(id)/download")
        #expect(response.status == 200)
        #expect(response.text == "0123456789")
        #expect(response.headers["content-disposition"] == #"attachment; filename="é & _x_.jpg""#)
        #expect(response.headers["x-photosync-hash"] == hash)
        #expect(response.headers["x-photosync-datetaken"] == "2024-01-01T10:00:00Z")
        #expect(response.headers["content-type"] == "image/jpeg")
        #expect(response.headers["content-length"] == "10")
        #expect(response.headers["accept-ranges"] == "bytes")
        #expect(response.headers["etag"] == nil)
        // Trap 13: the capital letters in the header names.
        let raw = try await output(
            of: ["curl", "-sD-", "-o/dev/null"] + PhotoFixture.alice + [
                fixture.sandbox.baseURL + "/api/photos/\(id)/download"
            ]
        )
        #expect(raw.contains("\r\nX-Photosync-Hash: "))
    }

    @Test func rangesAndDates() async throws {
        let fixture = try await PhotoFixture(["--photosync-rewrite", "off"])
        let id = try #require(try await fixture.upload(try fixture.file("a.jpg", "0123456789".utf8)).string("id"))
        let url = "/api/photos/\(id)/download"
        let modified = try #require(try await fixture.get(url).headers["last-modified"])
        let old = "Thu, 01 Jan 2009 00:00:00 GMT"
        func get(_ headers: String...) async throws -> CurlResponse {
            try await curl(PhotoFixture.alice + headers.flatMap { ["-H", $0] } + [fixture.sandbox.baseURL + url])
        }
        let part = try await get("Range: bytes=3-5")
        #expect(part.status == 206 && part.text == "345")
        #expect(part.headers["content-range"] == "bytes 3-5/10")
        #expect(try await get("Range: bytes=7-").text == "789")
        #expect(try await get("Range: bytes=-2").text == "89")
        #expect(try await get("Range: bytes=0-1,4-5").status == 200)
        #expect(try await get("Range: bytes=3-5", "If-Range: " + modified).text == "345")
        let stale = try await get("Range: bytes=3-5", "If-Range: " + old)
        #expect(stale.status == 200 && stale.text == "0123456789")
        let beyond = try await get("Range: bytes=10-")
        #expect(beyond.status == 416 && beyond.text == "invalid range: failed to overlap\n")
        #expect(beyond.headers["content-range"] == "bytes */10")
    }

    @Test func theFourKindsOfRefusal() async throws {
        let fixture = try await PhotoFixture()
        let id = try await fixture.uploadNew()
        func expect(_ url: String, _ status: Int, _ text: String, as user: [String] = PhotoFixture.alice) async throws {
            let response = try await fixture.get(url, as: user)
            #expect(response.status == status)
            #expect(response.text == text + "\n")
            #expect(response.headers["content-type"] == "text/plain; charset=utf-8")
            #expect(response.headers["x-content-type-options"] == "nosniff")
        }
        try await expect("/api/photos/none/download", 404, "Photo not found")
        try await expect("/api/photos/\(id)/download", 403, "Access denied", as: PhotoFixture.bob)
        let photo = try #require(try await fixture.sandbox.photos().first)
        try await fixture.sandbox.photoSync("PATCH", "photos/\(id)", #"{"storedPath":"../secret.jpg"}"#)
        try await expect("/api/photos/\(id)/download", 404, "File not found")
        try await fixture.sandbox.photoSync("PATCH", "photos/\(id)", #"{"storedPath":"2020/01/gone.jpg"}"#)
        try await expect("/api/photos/\(id)/download", 404, "404 page not found")
        #expect(try await fixture.get("/api/photos/\(id)/download").headers["x-photosync-hash"] == photo.fileHash)
        try await fixture.sandbox.photoSync("PATCH", "photos/\(id)", #"{"user":""}"#)
        try await expect("/api/photos/\(id)/download", 403, "Access denied")
    }

    /// Trap 12: downloaded bytes differ from the uploaded ones.
    @Test func theStoredFileIsRewrittenAfterTheUpload() async throws {
        let fixture = try await PhotoFixture(["--photosync-rewrite", "3600000"])
        let content = jpeg(width: 1, height: 1)
        let id = try #require(try await fixture.upload(try fixture.file("a.jpg", content)).string("id"))
        let url = "/api/photos/\(id)/download"
        #expect(Array(try await fixture.get(url).body) == content)
        #expect(try await fixture.sandbox.photoSync("POST", "rewrite") == #"{"rewritten":1}"#)
        let rewritten = try await fixture.get(url)
        #expect(rewritten.body.count > content.count)
        #expect(rewritten.text.contains(id))
        #expect(rewritten.body.prefix(4) == Data([0xFF, 0xD8, 0xFF, 0xE1]))
        #expect(try await fixture.list().photos.map(\.fileSize) == [content.count])
        #expect(try await fixture.sandbox.photoSync("POST", "rewrite") == #"{"rewritten":0}"#)
    }

    @Test func withoutADelayTheFileIsRewrittenBeforeTheResponse() async throws {
        let fixture = try await PhotoFixture()
        let path = try fixture.file("a.jpg", jpeg(width: 1, height: 1))
        let id = try #require(try await fixture.upload(path).string("id"))
        #expect(try await fixture.get("/api/photos/\(id)/download").text.contains(id))
    }

    /// exiftool, which the real server runs, does not change such files.
    @Test func otherFilesAreNotRewritten() async throws {
        let fixture = try await PhotoFixture()
        let id = try #require(try await fixture.upload(try fixture.file("a.jpg", "text".utf8)).string("id"))
        #expect(try await fixture.get("/api/photos/\(id)/download").text == "text")
    }
}
