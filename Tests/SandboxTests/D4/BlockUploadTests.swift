import Foundation
import TestSupport
import Testing

/// Creation, metadata and storage in the fourth dialect (gighive-d4 contract 4.1, 4.4 to 4.6).
@Suite struct BlockUploadTests {
    // MARK: Creation

    @Test(arguments: [
        (["Upload-Length: 0"], 400, "Missing or invalid Upload-Length"),
        ([], 400, "Missing or invalid Upload-Length"),
        (["Upload-Defer-Length: 1"], 400, "Missing or invalid Upload-Length"),
        (["Upload-Length: 1001"], 413, "Upload-Length exceeds maximum allowed file size"),
        (
            ["Upload-Length: 1", "Upload-Metadata: filename YS50eHQ="], 415,
            "File type is neither audio nor video \u{2014} check filename extension"
        ),
        (
            ["Upload-Length: 1", Fixture.metadata(["filename": "a.mp4", "filetype": "video/mp4; codecs=avc1"])], 415,
            "Unsupported file type"
        ),
        (
            ["Upload-Length: 1", Fixture.metadata(["filename": "a.mp4", "filetype": "application/octet-stream"])], 415,
            "Unsupported file type"
        ),
    ])
    func refusesACreation(_ headers: [String], status: Int, error: String) async throws {
        let bench = try await D4Bench(arguments: ["--tus-max-size", "1000"])
        let response = try await bench.fixture.tus("POST", headers: headers)
        #expect(response.status == status)
        #expect(try response.string("error") == error)
        #expect(try await bench.fixture.tus("OPTIONS").headers["tus-max-size"] == "1000")
    }

    @Test(arguments: [
        ["event_date": "2026-02-31"], ["label": String(repeating: "l", count: 256)],
        ["org_name": String(repeating: "o", count: 256)], ["event_type": String(repeating: "t", count: 65)],
    ])
    func failsWithoutSideEffects(_ metadata: [String: String]) async throws {
        let bench = try await D4Bench()
        let response = try await bench.create(10, metadata.merging(["filename": "a.mp4"]) { $1 })
        #expect(response.status == 500)
        #expect(response.body.isEmpty)
        #expect(try bench.fixture.gatheringFiles().isEmpty)
    }

    @Test func doesNotRequireTheVersionHeader() async throws {
        let bench = try await D4Bench()
        let response = try await curl([
            "-u", "uploader:uploader", "-X", "POST", "-H", "Upload-Length: 1", "-H",
            Fixture.metadata(["filename": "a.mp4"]), bench.fixture.sandbox.baseURL + "/files/",
        ])
        #expect(response.status == 201)
        #expect(
            try response.uploadID().wholeMatch(
                of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/
            )
                != nil
        )
    }

    @Test(arguments: [("GET", 400), ("DELETE", 405), ("PUT", 405), ("POST", 400)])
    func refusesOtherMethods(_ method: String, status: Int) async throws {
        let bench = try await D4Bench()
        try await bench.create(10)
        let response = try await bench.fixture.tus(method, bench.id)
        #expect(response.status == status)
        #expect(response.headers["allow"] == (status == 405 ? "OPTIONS, POST, PATCH, HEAD" : nil))
        #expect(try await bench.offset() == 0)
    }

    // MARK: Five pending

    @Test func countsEveryGuestSeparately() async throws {
        let bench = try await D4Bench(arguments: ["--event-link-token", "other=2026-11-20,Guest Org,band"])
        for guest in [nil, D4Bench.guestToken, "other"] {
            for _ in 1...5 { #expect(try await bench.create(10, guest: guest).status == 201) }
            let response = try await bench.create(10, guest: guest)
            #expect(response.status == 429)
            #expect(try response.string("error") == "Too many pending uploads")
            #expect(response.headers["retry-after"] == nil)
        }
        // Uploading a part does not free a slot; completing the upload does.
        bench.select(0)
        #expect(try await bench.patch(at: 0, 5).status == 204)
        #expect(try await bench.create(10).status == 429)
        #expect(try await bench.patch(at: 5, 5).status == 204)
        #expect(try await bench.create(10).status == 201)
        // A failure also frees a slot.
        #expect(try await bench.create(10).status == 429)
        #expect(try await bench.patch(at: 0, 11).status == 500)
        #expect(try await bench.create(10).status == 201)
        // Waiting for a day also frees a slot.
        #expect(try await bench.create(10).status == 429)
        try await bench.fixture.sandbox.addFaults("tus-head:expire,times=1")
        #expect(try await bench.offset() == 0)
        #expect(try await bench.create(10).status == 201)
    }

    /// The real server counts without a lock.
    @Test func acceptsMoreConcurrentCreations() async throws {
        let bench = try await D4Bench(arguments: ["--races", "1"])
        let fixture = bench.fixture
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 1...6 {
                group.addTask {
                    let headers = ["Upload-Length: 10", Fixture.metadata(["filename": "a.mp4"])]
                    return try await fixture.tus("POST", headers: headers).status
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses == Array(repeating: 201, count: 6))
        #expect(try await bench.create(10).status == 429)
    }

    @Test func survivesARestart() async throws {
        let bench = try await D4Bench()
        try await bench.create(10)
        #expect(try await bench.patch(at: 0, 4).status == 204)
        _ = try await bench.fixture.sandbox.stop()
        let again = try await Fixture(dialect: "d4", data: bench.fixture.sandbox.data)
        #expect(try await again.offset(of: bench.id) == 4)
    }

    // MARK: Metadata

    @Test(
        arguments: [
            ("a.mp3", "audio/mpeg", "audio", "mp3"), ("a.mp3", nil, "audio", "mp3"),
            ("a.wav", "audio/x-wav", "audio", "wav"),
            ("a.aac", nil, "audio", "aac"), ("a.ogg", "audio/ogg", "audio", "ogg"),
            ("a.mp4", "video/mp4", "video", "mp4"),
            ("a.mp4", nil, "video", "mp4"), ("a.mov", "video/quicktime", "video", "mov"),
            ("a.mov", nil, "video", "bin"),
            ("a.webm", "video/webm", "video", "webm"), ("a.avi", "video/x-msvideo", "video", "avi"),
            ("a.mkv", "video/x-matroska", "video", "bin"), ("a.m4a", "audio/mp4", "audio", "bin"),
            ("a.flac", "audio/flac", "audio", "bin"), ("a.ts", nil, "video", "bin"),
            ("a.mkv", "video/mp4", "video", "mp4"),
        ] as [(String, String?, String, String)]
    )
    func storesUnderTheExtensionOfTheType(_ name: String, type: String?, kind: String, stored: String) async throws {
        let bench = try await D4Bench()
        try await bench.upload("bytes", ["filename": name].merging(type.map { ["filetype": $0] } ?? [:]) { $1 })
        let response = try await bench.finalize()
        // printf bytes | sha256sum
        let digest = "277089d91c0bdf4f2e6862ba7e4a07605119431f5d13f726dd352b06f1b206a9"
        #expect(try response.string("file_name") == "\(digest).\(stored)")
        #expect(try response.string("file_type") == kind)
        let file = try await bench.fixture.get("/\(kind)/\(digest).\(stored)")
        #expect(file.text == "bytes")
        if stored == "bin" { #expect(file.headers["content-type"] == "application/octet-stream") }
        #expect(try await bench.fixture.get("/media/\(digest).\(stored)").text == "bytes")
        #expect(try await bench.fixture.get("/\(kind)/\(digest).xyz").status == 404)
        #expect(try await bench.fixture.get("/\(kind)/\(digest)").status == 400)
    }

    @Test(arguments: [
        (["org_name": "Org", "event_date": "2026-10-01"], 1), (["org_name": "Org"], 0),
        (["event_date": "2026-10-01"], 0),
        (["org_name": "Org", "event_date": "1.10.2026"], 0), ([:], 0),
    ])
    func linksOnlyToASpecifiedEvent(_ metadata: [String: String], rows: Int) async throws {
        let bench = try await D4Bench()
        try await bench.upload("bytes", metadata.merging(["filename": "a.mp4"]) { $1 })
        // At this point, it is too late to set the event.
        #expect(try await bench.finalize(#""org_name":"Late","event_date":"2026-10-09""#).status == 201)
        for (view, count) in [("event", rows), ("librarian", 1)] {
            let response = try await bench.fixture.get("/db/database.php?format=json&view=\(view)")
            #expect((try response.object()["entries"] as? [Any])?.count == count)
        }
        if rows == 1 {
            let entries =
                try await bench.fixture.get("/db/database.php?format=json").object()["entries"] as? [[String: Any]]
            #expect(entries?.first?["song_title"] as? String == "Untitled clip")
        }
    }

    @Test(arguments: [["event_type": "party"], ["org_name": String(repeating: "o", count: 129)]])
    func failsAfterTheLastByte(_ metadata: [String: String]) async throws {
        let bench = try await D4Bench()
        let event = ["filename": "a.mp4", "org_name": "Org", "event_date": "2026-10-01"]
        let response = try await bench.upload("bytes", event.merging(metadata) { $1 })
        #expect(response.status == 500)
        #expect(response.body.isEmpty)
        // HEAD does not report the failure; every PATCH does.
        #expect(try await bench.fixture.tus("HEAD", bench.id).status == 200)
        let again = try await bench.patch(at: 0, 5)
        #expect(again.status == 409)
        #expect(try again.string("error") == "Upload has permanently failed")
        #expect(again.headers["upload-offset"] == nil)
        // The bytes are served, but listed nowhere.
        let digest = "277089d91c0bdf4f2e6862ba7e4a07605119431f5d13f726dd352b06f1b206a9"
        #expect(try await bench.fixture.get("/video/\(digest).mp4").text == "bytes")
        let list = try await bench.fixture.get("/db/database.php?format=json&view=librarian")
        #expect((try list.object()["entries"] as? [Any])?.isEmpty == true)
    }

    // MARK: Faults

    @Test(arguments: ["php:status=503,times=1", "tus:status=503,times=1", "tus-create:status=503,times=1"])
    func appliesFaultsOfPHPToTus(_ fault: String) async throws {
        let bench = try await D4Bench(faults: [fault])
        #expect(try await bench.create(10).status == 503)
        #expect(try await bench.create(10).status == 201)
    }

    @Test func doesNotApplyFaultsOfPHPToTusd() async throws {
        let fixture = try await Fixture(faults: ["php:status=503"])
        #expect(try await fixture.tus("OPTIONS").status == 200)
    }

    @Test(arguments: [(404, ""), (409, "Upload has permanently failed"), (429, "Too many pending uploads"), (500, "")])
    func injectsTheErrorsOfTheScript(_ status: Int, text: String) async throws {
        let bench = try await D4Bench(faults: ["tus-patch:status=\(status),times=1"])
        try await bench.create(10)
        let response = try await bench.patch(at: 0, 10)
        #expect(response.status == status)
        #expect(response.headers["tus-extension"] == "creation")
        #expect(text.isEmpty ? response.body.isEmpty : try response.string("error") == text)
        #expect(try await bench.patch(at: 0, 10).headers["x-asset-id"] == "1")
    }

    @Test func losesTheResponseToTheLastPatch() async throws {
        let bench = try await D4Bench(faults: ["tus-patch:drop-response,times=1"])
        #expect(try await bench.upload("bytes").status == 0)
        #expect(try await bench.offset() == 5)
        #expect(try await bench.finalize().int("asset_id") == 1)
    }
}
