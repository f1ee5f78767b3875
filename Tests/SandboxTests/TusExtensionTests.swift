import Foundation
import TestSupport
import Testing

/// The extensions of tus 1.0.0: those of tusd, and those that other servers may have.
@Suite struct TusExtensionTests {
    @Test func partialUploadsAreConcatenatedInTheSpecifiedOrder() async throws {
        let fixture = try await Fixture()
        let partial = ["Upload-Concat: partial"]
        let second = try await fixture.createUpload(length: 5, [:], headers: partial)
        _ = try await fixture.patch(second, at: 0, "world")
        let first = try await fixture.createUpload(length: 6, [:], headers: partial)
        _ = try await fixture.patch(first, at: 0, "hello ")
        #expect(try await fixture.tus("HEAD", first).headers["upload-concat"] == "partial")

        let base = fixture.sandbox.baseURL
        let created = try await fixture.tus(
            "POST",
            headers: [
                "Upload-Concat: final;/files/\(first) \(base)/files/\(second)",
                Fixture.metadata(["filename": "clip.mp4", "label": "joined"]),
            ]
        )
        #expect(created.status == 201)
        let id = try created.uploadID()
        let head = try await fixture.tus("HEAD", id)
        #expect(head.headers["upload-concat"] == "final;\(base)/files/\(first) \(base)/files/\(second)")
        #expect(head.headers["upload-offset"] == "11")
        #expect(head.headers["upload-length"] == "11")
        let patch = try await fixture.patch(id, at: 11, "!")
        #expect(patch.status == 403)
        #expect(patch.text == "ERR_MODIFY_FINAL: modifying a final upload is not allowed\n")
        // printf 'hello world' | sha256sum
        #expect(
            try await fixture.finalize(id).string("checksum_sha256")
                == "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"
        )
    }

    @Test func theLengthMayBeSpecifiedLater() async throws {
        let fixture = try await Fixture()
        let id = try await fixture.tus("POST", headers: ["Upload-Defer-Length: 1"]).uploadID()
        _ = try await fixture.patch(id, at: 0, "01234")
        let head = try await fixture.tus("HEAD", id)
        #expect(head.headers["upload-defer-length"] == "1")
        #expect(head.headers["upload-length"] == nil)
        #expect(try await fixture.patch(id, at: 5, "", headers: ["Upload-Length: 4"]).status == 400)
        #expect(try await fixture.patch(id, at: 5, "567", headers: ["Upload-Length: 8"]).status == 204)
        #expect(try await fixture.tus("HEAD", id).headers["upload-length"] == "8")
        #expect(try await fixture.patch(id, at: 8, "", headers: ["Upload-Length: 9"]).status == 204)
        #expect(try await fixture.tus("HEAD", id).headers["upload-length"] == "8")
    }

    @Test func creationMayIncludeTheFirstChunk() async throws {
        let fixture = try await Fixture()
        let response = try await fixture.tus("POST", headers: ["Upload-Length: 10", Fixture.chunkType], body: "01234")
        #expect(response.status == 201)
        #expect(response.headers["upload-offset"] == "5")
        let id = try response.uploadID()
        #expect(try await fixture.offset(of: id) == 5)
        // A body with a different content type is not a chunk.
        let ignored = try await fixture.tus("POST", headers: ["Upload-Length: 10"], body: "01234")
        #expect(ignored.headers["upload-offset"] == nil)
        #expect(try await fixture.offset(of: try ignored.uploadID()) == 0)
    }

    @Test func unsupportedExtensionsAreNotApplied() async throws {
        let fixture = try await Fixture(arguments: ["--tus-extensions", "creation"])
        #expect(try await fixture.tus("OPTIONS").headers["tus-extension"] == "creation")
        let id = try await fixture.createUpload(length: 5, headers: ["Upload-Concat: partial"])
        #expect(try await fixture.tus("HEAD", id).headers["upload-concat"] == nil)
        #expect(try await fixture.tus("DELETE", id).status == 501)
        let deferred = try await fixture.tus("POST", headers: ["Upload-Defer-Length: 1"])
        #expect(deferred.status == 501)
        #expect(deferred.text == "ERR_NOT_IMPLEMENTED: feature not implemented\n")
        let withBody = try await fixture.tus("POST", headers: ["Upload-Length: 5", Fixture.chunkType], body: "01234")
        #expect(withBody.headers["upload-offset"] == nil)
    }

    @Test func aMaximumSizeIsReportedAndEnforced() async throws {
        let fixture = try await Fixture(arguments: ["--tus-max-size", "100"])
        #expect(try await fixture.tus("OPTIONS").headers["tus-max-size"] == "100")
        #expect(try await fixture.tus("POST", headers: ["Upload-Length: 100"]).status == 201)
        let refused = try await fixture.tus("POST", headers: ["Upload-Length: 101"])
        #expect(refused.status == 413)
        #expect(refused.text == "ERR_MAX_SIZE_EXCEEDED: maximum size exceeded\n")
    }
}
