import Foundation
import TestSupport
import Testing

/// Gighive contract 4.2–4.4.
@Suite struct FinalizeTests {
    private static let noHook = "Upload not found or not finished yet"

    private static func notYet(_ id: String) -> String {
        "Upload data exists on disk but post-finish hook output has not been written yet (upload_id=\(id)). "
            + "The server may still be processing; retry in a moment."
    }

    // MARK: Success

    @Test(arguments: ["d1", "d2", "d3"])
    func aRepetitionReturnsTheSameWithoutTheToken(dialect: String) async throws {
        let fixture = try await Fixture(dialect: dialect)
        let id = try await fixture.completeUpload("bytes")
        let first = try await fixture.finalize(id)
        #expect(first.status == 201)
        let token = try #require(try first.string("delete_token"))
        let second = try await fixture.finalize(id, #""label":"another","event_date":"2020-01-01""#)
        #expect(second.status == 201)
        #expect(second.text == first.text.replacingOccurrences(of: ",\"delete_token\":\"\(token)\"", with: ""))
        #expect(try fixture.gatheringFiles().isEmpty)
        #expect(try await fixture.tus("HEAD", id).status == 404)
        let key = dialect == "d3" ? "asset_id" : "file_id"
        let delete = try await fixture.delete(#"{"\#(key)":1,"delete_token":"\#(token)"}"#)
        #expect(try delete.int("deleted_count") == 1)
    }

    @Test func theResponseIsStoredAcrossARestart() async throws {
        let data = try TemporaryDirectory()
        let first = try await Fixture(data: data)
        let id = try await first.completeUpload("bytes")
        let response = try await first.finalize(id)
        try await first.sandbox.stop()
        let second = try await Fixture(data: data)
        let repetition = try await second.finalize(id)
        #expect(repetition.status == 201)
        #expect(try repetition.int("asset_id") == response.int("asset_id"))
    }

    @Test func blankFieldsAreReadFromTheMetadataAndThenTheDefaults() async throws {
        let fixture = try await Fixture()
        let id = try await fixture.completeUpload(
            "bytes",
            [
                "filename": "my clip (1).MOV", "label": "from metadata", "event_date": "2026-03-01",
                "org_name": "Meta", "keywords": "k", "event_type": " ",
            ]
        )
        let response = try await fixture.finalize(
            id,
            #""label":" ","org_name":"Body","event_date":"","participants":"p""#
        )
        #expect(response.status == 201)
        #expect(try response.string("label") == "from metadata")
        #expect(try response.string("event_date") == "2026-03-01")
        #expect(try response.string("org_name") == "Body")
        #expect(try response.string("event_type") == "band")
        #expect(try response.string("keywords") == "k")
        #expect(try response.string("participants") == "p")
        #expect(try response.string("file_name")?.hasSuffix(".mov") == true)
        let asset = try await fixture.get("/api/uploads/1", user: "uploader")
        #expect(try asset.string("source_relpath") == "my-clip--1-.MOV")
    }

    @Test func acceptsAFormAndTheOlderPath() async throws {
        let fixture = try await Fixture()
        let url = fixture.sandbox.baseURL + "/api/uploads.php/finalize"
        let login = ["-u", "uploader:uploader"]
        let first = try await fixture.completeUpload("one", ["filename": "a.mp4"])
        let form = try await curl(login + ["-d", "upload_id=\(first)&label=a+b%2Fc", url])
        #expect(try form.string("label") == "a b/c")
        let second = try await fixture.completeUpload("two", ["filename": "a.mp4"])
        let parts = try await curl(login + ["-F", "upload_id=\(second)", "-F", "label=parts", url])
        #expect(try parts.string("label") == "parts")
    }

    @Test func theTypeIsDetectedFromTheContent() async throws {
        let fixture = try await Fixture()
        for (content, name, type, kind) in [
            ("ID3 and so on", "x.mp4", "audio/mpeg", "audio"), ("fLaC....", "x.flac", "audio/flac", "audio"),
            ("....ftypisom", "x.bin", "video/mp4", "video"), ("only text", "x.mp3", "text/plain", "audio"),
        ] {
            let id = try await fixture.completeUpload(content, ["filename": name, "label": "x"])
            let response = try await fixture.finalize(id)
            #expect(try response.string("mime_type") == type)
            #expect(try response.string("file_type") == kind)
        }
        let id = try await fixture.completeUpload("only text, no name", ["label": "x"])
        let refused = try await fixture.finalize(id)
        #expect(refused.status == 400)
        #expect(try refused.string("message") == "Unsupported media type")
    }

    @Test func respondsInHTMLWhenAcceptable() async throws {
        let fixture = try await Fixture()
        let id = try await fixture.completeUpload("bytes")
        let page = try await fixture.finalize(id, options: ["-u", "uploader:uploader", "-H", "Accept: text/html"])
        #expect(page.status == 201)
        #expect(page.text.contains("&quot;delete_token&quot;"))
    }

    // MARK: Refusals

    @Test func aCorrectableRefusalKeepsTheBytes() async throws {
        let fixture = try await Fixture()
        let id = try await fixture.completeUpload("bytes", ["filename": "clip.mp4"])
        let unlabeled = try await fixture.finalize(id)
        #expect(unlabeled.status == 400)
        #expect(unlabeled.text == #"{"error":"Bad Request","message":"Label is required"}"#)
        let undated = try await fixture.finalize(id, #""label":"x","event_date":"1.3.2026""#)
        #expect(undated.status == 400)
        let impossible = try await fixture.finalize(id, #""label":"x","event_date":"2026-02-30""#)
        #expect(impossible.status == 500)
        #expect(try await fixture.offset(of: id) == 5)
        #expect(try await fixture.finalize(id, #""label":"x""#).status == 201)
    }

    @Test(arguments: [
        #"{}"#, #"{"upload_id":""}"#, #"{"upload_id":"../x"}"#, #"{"upload_id":"a.b"}"#, "not JSON", "[]",
    ])
    func anIDIsRequired(json: String) async throws {
        let response = try await Fixture().finalize(json: json)
        #expect(response.status == 400)
        #expect(response.text == #"{"error":"Bad Request","message":"Missing or invalid upload_id"}"#)
    }

    @Test(arguments: ["d2", "d3"])
    func aDuplicateRemovesTheUpload(dialect: String) async throws {
        let fixture = try await Fixture(dialect: dialect)
        _ = try await fixture.upload(try fixture.file(content: "known"), fields: ["event_date=2026-03-01"])
        let id = try await fixture.completeUpload("known")
        let response = try await fixture.finalize(id, #""event_date":"2026-03-01""#)
        #expect(response.status == 409)
        #expect(try response.int(dialect == "d3" ? "existing_asset_id" : "existing_file_id") == 1)
        #expect(try fixture.gatheringFiles().isEmpty)
        let again = try await fixture.finalize(id)
        #expect(again.status == 500)
        #expect(again.text == #"{"error":"Server Error","message":"Upload data missing on disk"}"#)
    }

    @Test(arguments: ["d1", "d3"])
    func knownBytesInAnotherEventHaveNoToken(dialect: String) async throws {
        let fixture = try await Fixture(dialect: dialect)
        _ = try await fixture.upload(try fixture.file(content: "known"), fields: ["event_date=2026-03-01"])
        let id = try await fixture.completeUpload("known")
        for _ in 0..<2 {
            let response = try await fixture.finalize(id)
            #expect(response.status == 201)
            #expect(try response.int("id") == 1)
            #expect(try response.string("delete_token") == nil)
        }
        #expect(try fixture.gatheringFiles().isEmpty)
    }

    @Test func aLongLabelLosesTheToken() async throws {
        let fixture = try await Fixture()
        let id = try await fixture.completeUpload("bytes")
        let label = String(repeating: "L", count: 256)
        #expect(try await fixture.finalize(id, #""label":"\#(label)""#).status == 500)
        #expect(try fixture.storedFiles().count == 1)
        #expect(try await fixture.finalize(id).status == 500)
    }

    @Test func anEmptyUploadIsRefused() async throws {
        let fixture = try await Fixture()
        let id = try await fixture.completeUpload("")
        let response = try await fixture.finalize(id)
        #expect(response.status == 500)
        #expect(try response.string("message") == "Uploaded file is empty")
    }

    @Test func isForUploadersOnly() async throws {
        let fixture = try await Fixture()
        for path in ["/api/uploads/finalize", "/api/uploads.php/finalize"] {
            #expect(try await fixture.finalize("x", path: path, options: ["-u", "viewer:viewer"]).status == 401)
            #expect(try await fixture.finalize("x", path: path, options: []).status == 401)
            #expect(try await fixture.finalize("x", path: path, options: ["-u", "admin:admin"]).status == 500)
        }
    }

    // MARK: The hook

    @Test func anUnfinishedOrUnknownUploadIsAnInternalServerError() async throws {
        let (fixture, id) = try await Fixture(arguments: ["--hook-wait", "0.3"]).withUpload(length: 10)
        let unfinished = try await fixture.finalize(id)
        #expect(unfinished.status == 500)
        #expect(try unfinished.string("message") == Self.notYet(id))
        let unknown = try await fixture.finalize("feed")
        #expect(unknown.status == 500)
        #expect(
            try unknown.string("message") == "Upload not found: no data or hook record for upload_id=feed"
        )
        _ = try await fixture.patch(id, at: 0, "0123456789")
        #expect(try await fixture.finalize(id).status == 201)
    }

    @Test func theHookMayBeLate() async throws {
        let fixture = try await Fixture(arguments: ["--hook-delay", "3600", "--hook-wait", "0.3"])
        let id = try await fixture.completeUpload("bytes")
        #expect(try await fixture.finalize(id).string("message") == Self.notYet(id))
        #expect(try await fixture.offset(of: id) == 5)
    }

    @Test func aServerThatWaitsForTheHookFinishesAfterIt() async throws {
        let fixture = try await Fixture(arguments: ["--hook-delay", "0.5", "--hook-wait", "60"])
        #expect(try await fixture.finalize(try await fixture.completeUpload("bytes")).status == 201)
    }

    @Test(arguments: [("d1", []), ("d2", ["--hook-wait", "0"])])
    func anOldServerDoesNotWait(dialect: String, arguments: [String]) async throws {
        let fixture = try await Fixture(dialect: dialect, arguments: ["--hook-delay", "3600"] + arguments)
        for id in [try await fixture.completeUpload("bytes"), "feed"] {
            let response = try await fixture.finalize(id)
            #expect(response.status == 500)
            #expect(try response.string("message") == Self.noHook)
        }
    }

    @Test func oneOfSeveralConcurrentFinalizesWins() async throws {
        let fixture = try await Fixture(arguments: ["--races", "0.5"])
        let id = try await fixture.completeUpload("bytes")
        let responses = try await withThrowingTaskGroup(of: CurlResponse.self) { group in
            for _ in 0..<4 { group.addTask { try await fixture.finalize(id) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let winners = try responses.filter { try $0.string("delete_token") != nil }
        #expect(winners.count == 1)
        for loser in responses where loser.status != 201 {
            #expect(loser.text == #"{"error":"Server Error","message":"Failed to move file (rename)"}"#)
        }
        #expect(try fixture.storedFiles().count == 1)
    }
}
