import Foundation
import TestSupport
import Testing

/// Gighive contract 4.1 and tus 1.0.0, with tusd's messages.
@Suite struct TusTests {
    @Test func supportsTheExtensionsOfTusd() async throws {
        let fixture = try await Fixture()
        let response = try await curl(["-u", "uploader:uploader", "-X", "OPTIONS", fixture.sandbox.baseURL + "/files/"])
        #expect(response.status == 200)
        #expect(response.headers["tus-version"] == "1.0.0")
        #expect(response.headers["tus-resumable"] == "1.0.0")
        #expect(
            response.headers["tus-extension"]
                == "creation,creation-with-upload,termination,concatenation,creation-defer-length"
        )
        #expect(response.headers["tus-max-size"] == nil)
        #expect(response.headers["tus-checksum-algorithm"] == nil)
    }

    @Test func storesChunksAndReportsTheOffset() async throws {
        let fixture = try await Fixture()
        let created = try await fixture.tus(
            "POST",
            headers: ["Upload-Length: 10", "Upload-Metadata: filename Y2xpcC5tcDQ=,empty"]
        )
        #expect(created.status == 201)
        #expect(created.body.isEmpty)
        let id = try created.uploadID()
        #expect(id.wholeMatch(of: /[0-9a-f]{32}/) != nil)
        #expect(created.headers["location"] == "\(fixture.sandbox.baseURL)/files/\(id)")

        let first = try await fixture.patch(id, at: 0, "01234")
        #expect(first.status == 204)
        #expect(first.headers["upload-offset"] == "5")
        let head = try await fixture.tus("HEAD", id)
        #expect(head.status == 200)
        #expect(head.headers["upload-offset"] == "5")
        #expect(head.headers["upload-length"] == "10")
        #expect(head.headers["upload-metadata"] == "filename Y2xpcC5tcDQ=,empty")
        #expect(head.headers["cache-control"] == "no-store")
        #expect(try await fixture.patch(id, at: 5, "56789").headers["upload-offset"] == "10")
        #expect(try await fixture.tus("HEAD", id).headers["upload-offset"] == "10")
        // An empty chunk for a complete upload changes nothing.
        #expect(try await fixture.patch(id, at: 10, "").headers["upload-offset"] == "10")
        let seen = try await fixture.sandbox.requests()
        #expect(seen.filter { $0.method == "PATCH" }.map(\.bodyBytesRead) == [5, 5, 0])
        #expect(seen.map(\.status) == [201, 204, 200, 204, 200, 204])
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        var method: String
        var path: String
        var headers: [String]
        var body: String?
        var status: Int
        var text: String
        var testDescription: String { "\(method) \(path) \(headers) \(status)" }

        /// ID in the path stands for an upload of ten bytes, five of which have arrived.
        init(
            _ method: String,
            id path: String = "",
            _ headers: [String],
            body: String? = nil,
            _ status: Int,
            _ text: String
        ) {
            (self.method, self.path, self.headers, self.body) = (method, path, headers, body)
            (self.status, self.text) = (status, text)
        }
    }

    private static let version = "Tus-Resumable: 1.0.0"
    private static let chunk = Fixture.chunkType
    private static let noVersion = "ERR_UNSUPPORTED_VERSION: missing, invalid or unsupported Tus-Resumable header\n"
    private static let noLength = "ERR_INVALID_UPLOAD_LENGTH: missing or invalid Upload-Length header\n"

    static let refusals = [
        Refusal("POST", ["Upload-Length: 5"], 412, noVersion),
        Refusal("PATCH", id: "ID", ["Tus-Resumable: 0.2.2", "Upload-Offset: 5", chunk], 412, noVersion),
        Refusal("POST", [version], 400, noLength),
        Refusal("POST", [version, "Upload-Length: -1"], 400, noLength),
        Refusal(
            "POST",
            [version, "Upload-Length: 5", "Upload-Defer-Length: 1"],
            400,
            "ERR_AMBIGUOUS_UPLOAD_LENGTH: provided both Upload-Length and Upload-Defer-Length\n"
        ),
        Refusal(
            "POST",
            [version, "Upload-Defer-Length: 2"],
            400,
            "ERR_INVALID_UPLOAD_LENGTH_DEFER: invalid Upload-Defer-Length header\n"
        ),
        Refusal(
            "POST",
            [version, "Upload-Length: 5", "Upload-Concat: half"],
            400,
            "ERR_INVALID_CONCAT: invalid Upload-Concat header\n"
        ),
        Refusal(
            "POST",
            [version, "Upload-Concat: final;/files/ID"],
            400,
            "ERR_UPLOAD_NOT_FINISHED: one of the partial uploads is not finished\n"
        ),
        Refusal(
            "PATCH",
            id: "ID",
            [version, "Upload-Offset: 5", "Content-Type: text/plain"],
            body: "x",
            400,
            "ERR_INVALID_CONTENT_TYPE: missing or invalid Content-Type header\n"
        ),
        Refusal(
            "PATCH",
            id: "ID",
            [version, chunk],
            body: "x",
            400,
            "ERR_INVALID_OFFSET: missing or invalid Upload-Offset header\n"
        ),
        Refusal(
            "PATCH",
            id: "ID",
            [version, chunk, "Upload-Offset: 4"],
            body: "x",
            409,
            "ERR_MISMATCHED_OFFSET: mismatched offset\n"
        ),
        Refusal(
            "PATCH",
            id: "ID",
            [version, chunk, "Upload-Offset: 5"],
            body: "123456",
            413,
            "ERR_UPLOAD_SIZE_EXCEEDED: upload's size exceeded\n"
        ),
        Refusal(
            "PATCH",
            id: "0123456789abcdef0123456789abcdef",
            [version, chunk, "Upload-Offset: 0"],
            body: "x",
            404,
            "ERR_UPLOAD_NOT_FOUND: upload not found\n"
        ),
        Refusal("DELETE", id: "nothing", [version], 404, "ERR_UPLOAD_NOT_FOUND: upload not found\n"),
        Refusal("PUT", id: "ID", [version], body: "x", 405, "Method Not Allowed\n"),
    ]

    @Test func refusesLikeTusdAndKeepsTheOffset() async throws {
        let (fixture, id) = try await Fixture().withUpload(length: 10)
        _ = try await fixture.patch(id, at: 0, "01234")
        for refusal in Self.refusals {
            let body = refusal.body.map { ["--data-binary", $0] } ?? []
            let path = refusal.path.replacingOccurrences(of: "ID", with: id)
            let response = try await curl(
                ["-u", "uploader:uploader", "-X", refusal.method]
                    + refusal.headers.flatMap { ["-H", $0.replacingOccurrences(of: "/ID", with: "/\(id)")] } + body
                    + [fixture.sandbox.baseURL + "/files/" + path]
            )
            #expect(response.status == refusal.status, "\(refusal.testDescription)")
            #expect(response.text == refusal.text, "\(refusal.testDescription)")
            #expect(response.headers["content-type"] == "text/plain; charset=utf-8")
            #expect(response.headers["tus-resumable"] == "1.0.0")
        }
        #expect(try await fixture.offset(of: id) == 5)
        #expect(try await fixture.tus("HEAD", "nothing").status == 404)
    }

    @Test func aTerminatedUploadIsDeleted() async throws {
        let (fixture, id) = try await Fixture().withUpload(length: 10)
        _ = try await fixture.patch(id, at: 0, "01234")
        #expect(try await fixture.tus("DELETE", id).status == 204)
        #expect(try await fixture.tus("HEAD", id).status == 404)
        #expect(try await fixture.patch(id, at: 5, "56789").status == 404)
        #expect(try await fixture.tus("DELETE", id).status == 404)
        #expect(try fixture.gatheringFiles().isEmpty)
    }

    @Test func theSlashIsPartOfThePath() async throws {
        let fixture = try await Fixture()
        let response = try await curl([
            "-u", "uploader:uploader", "-H", "Tus-Resumable: 1.0.0", "-H", "Upload-Length: 5", "-X", "POST",
            fixture.sandbox.baseURL + "/files",
        ])
        #expect(response.status == 404)
        #expect(response.text.contains("<title>404 Not Found</title>"))
    }

    @Test(arguments: [([], 200), (["--no-tus"], 404)])
    func canBeMissing(arguments: [String], status: Int) async throws {
        let fixture = try await Fixture(arguments: arguments)
        #expect(try await fixture.tus("OPTIONS").status == status)
    }

    @Test func isForUploadersAndHoldersOfAToken() async throws {
        let fixture = try await Fixture()
        for (options, status) in [
            (["-u", "admin:admin"], 201), (["-u", "uploader:uploader"], 201), (["-u", "viewer:viewer"], 401),
            ([], 401), (["-H", "X-Upload-Token: anything"], 201), (["-H", "X-Upload-Token;"], 401),
        ] {
            let response = try await fixture.tus("POST", headers: ["Upload-Length: 5"], options: options)
            #expect(response.status == status, "\(options)")
            if status == 401 { #expect(response.text.hasPrefix("<!doctype html>")) }
        }
        let old = try await Fixture(dialect: "d2")
        #expect(try await old.tus("OPTIONS", options: ["-H", "X-Upload-Token: anything"]).status == 401)
    }

    // MARK: The firewall

    @Test func aTruncatedChunkIsNotStored() async throws {
        let fixture = try await Fixture()
        let content = String(repeating: "x", count: 300_000)
        let id = try await fixture.createUpload(length: 300_000)
        try await fixture.sandbox.addFaults("tus-patch:reset,after=65536,times=1")
        #expect(try await fixture.patch(id, at: 0, content).status == 0)
        #expect(try await fixture.offset(of: id) == 0)
        #expect(try fixture.incomingFiles().isEmpty)
        #expect(try await fixture.patch(id, at: 0, content).headers["upload-offset"] == "300000")
    }

    @Test func aClientThatDisconnectsLeavesNothing() async throws {
        let (fixture, id) = try await Fixture().withUpload(length: 10)
        // The client announces ten bytes, sends five and disconnects.
        let response = try await fixture.patch(
            id,
            at: 0,
            "01234",
            headers: ["Content-Length: 10"],
            options: ["-u", "uploader:uploader", "--max-time", "1"]
        )
        #expect(response.exitCode == 28)
        var known: Int?
        for _ in 0..<500 where known == nil { known = try await fixture.offset(of: id) }
        #expect(known == 0)
        #expect(try await fixture.patch(id, at: 0, "x").status == 204)
    }

    @Test func anUploadIsLockedWhileAChunkIsWritten() async throws {
        let (fixture, id) = try await Fixture(faults: ["tus-patch:stall,after=body"]).withUpload(length: 10)
        async let stalled = fixture.patch(id, at: 0, "0123456789")
        try await fixture.sandbox.waitForRequests { $0.last?.bodyBytesRead ?? 0 >= 5 }
        try await fixture.sandbox.clearFaults()
        let deadline = ContinuousClock.now + .seconds(120)
        while try await fixture.tus("HEAD", id).status != 423, ContinuousClock.now < deadline {}
        let second = try await fixture.patch(id, at: 0, "0123456789")
        #expect(second.status == 423)
        #expect(second.text == "ERR_UPLOAD_LOCKED: file currently locked\n")
        #expect(try await fixture.tus("DELETE", id).status == 423)
        try await fixture.sandbox.stop()
        #expect(try await stalled.status == 0)
    }

    @Test func aClientThatDisconnectsFreesTheLock() async throws {
        let (fixture, id) = try await Fixture(faults: ["tus-patch:stall,after=body,times=1"]).withUpload(length: 10)
        let timeouts = ["-u", "uploader:uploader", "--max-time", "1"]
        #expect(try await fixture.patch(id, at: 0, "0123456789", options: timeouts).exitCode == 28)
        let deadline = ContinuousClock.now + .seconds(120)
        while try await fixture.tus("HEAD", id).status == 423, ContinuousClock.now < deadline {}
        #expect(try await fixture.patch(id, at: 0, "0123456789").status == 204)
    }

    @Test func unfinishedUploadsSurviveARestart() async throws {
        let data = try TemporaryDirectory()
        let first = try await Fixture(data: data)
        let id = try await first.createUpload(length: 10)
        _ = try await first.patch(id, at: 0, "01234")
        try await first.sandbox.stop(signal: SIGKILL)
        let second = try await Fixture(data: data)
        #expect(try await second.offset(of: id) == 5)
        _ = try await second.patch(id, at: 5, "56789")
        let response = try await second.finalize(id)
        // printf 0123456789 | sha256sum
        #expect(
            try response.string("checksum_sha256") == "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882"
        )
    }

    /// Trap T21.
    @Test func aSenderThatStallsIsDisconnected() async throws {
        let (fixture, id) = try await Fixture(arguments: ["--body-timeout", "0.3"]).withUpload(length: 10)
        let response = try await fixture.patch(id, at: 0, "01234", headers: ["Content-Length: 10"])
        #expect(response.status == 408)
        #expect(response.text.contains("<title>408 Request Timeout</title>"))
        #expect(try await fixture.offset(of: id) == 0)
        // The limit applies neither after the last byte nor between two requests.
        let slow = try await Fixture(arguments: ["--body-timeout", "0.3", "--hook-delay", "0.6"])
        #expect(try await slow.finalize(try await slow.completeUpload("bytes")).status == 201)
    }
}

extension Fixture {
    /// IDs of the tus uploads whose bytes exist.
    func gatheringFiles() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: sandbox.data.file("uploads"))
    }
}
