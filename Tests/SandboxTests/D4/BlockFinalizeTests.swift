import Foundation
import TestSupport
import Testing

/// Finalize, duplicates, deletion and guests in the fourth dialect (gighive-d4 contract 5 to 8).
@Suite struct BlockFinalizeTests {
    let bench: D4Bench

    init() async throws { bench = try await D4Bench() }

    /// printf bytes | sha256sum
    private static let digest = "277089d91c0bdf4f2e6862ba7e4a07605119431f5d13f726dd352b06f1b206a9"
    private static let event = [
        "filename": "a.mp4", "filetype": "video/mp4", "org_name": "Org", "event_date": "2026-10-01",
    ]

    @Test func repeatsTheSameResponse() async throws {
        try await bench.create(5, Self.event)
        #expect(try await bench.finalize().text == #"{"status":"pending","upload_id":"\#(bench.id)"}"#)
        #expect(
            try await bench.patch(at: 0, 5, file: bench.fixture.file(content: "bytes")).headers["x-asset-id"] == "1"
        )
        let text = """
            {"id":1,"asset_id":1,"file_name":"\(Self.digest).mp4","file_type":"video","size_bytes":5,\
            "mime_type":"video/mp4","checksum_sha256":"\(Self.digest)","duration_seconds":null,"thumbnail_done":false,\
            "db_done":true}
            """
        for fields in ["", #""label":"x""#, #""event_type":"party""#] {
            let response = try await bench.finalize(fields)
            #expect(response.status == 201)
            #expect(response.text == text)
        }
        #expect(try await bench.fixture.delete(#"{"asset_ids":[1]}"#, user: "admin").int("deleted_count") == 1)
        let deleted = try await bench.finalize()
        #expect(deleted.status == 201)
        #expect(
            deleted.text
                == text.replacingOccurrences(of: "\(Self.digest).mp4", with: "")
                .replacingOccurrences(of: Self.digest, with: "").replacingOccurrences(of: ":5,", with: ":0,")
        )
        // After the deletion, the same bytes count as new.
        #expect(try await bench.upload("bytes", Self.event).headers["x-asset-id"] == "2")
    }

    @Test func givesKnownBytesTheirID() async throws {
        for (label, date) in [("one", "2026-10-01"), ("two", "2026-10-01"), ("three", "2026-10-02")] {
            let metadata = Self.event.merging(["label": label, "event_date": date]) { $1 }
            #expect(try await bench.upload("bytes", metadata).headers["x-asset-id"] == "1")
        }
        let entries =
            try await bench.fixture.get("/db/database.php?format=json").object()["entries"] as? [[String: Any]]
        // The first label of an event is kept.
        #expect(entries?.compactMap { $0["song_title"] as? String } == ["three", "one"])
        // There is no token: not even multipart into another event returns one.
        let path = try bench.fixture.file(content: "bytes")
        let other = try await bench.fixture.upload(path, fields: ["org_name=Org", "event_date=2026-10-03"])
        #expect(other.status == 201)
        #expect(try other.string("delete_token") == nil)
        #expect(try await bench.fixture.upload(path, fields: ["org_name=Org", "event_date=2026-10-01"]).status == 409)
        let refused = try await bench.fixture.delete(#"{"asset_id":1,"delete_token":"\#(Self.digest)"}"#)
        #expect(refused.status == 403)
        #expect(try refused.string("message") == "Invalid delete token")
    }

    @Test func givesIdenticalUploadsOneAssetID() async throws {
        let file = try bench.fixture.file(content: "bytes")
        for _ in 1...4 { try await bench.create(5) }
        let fixture = bench.fixture
        let assets = try await withThrowingTaskGroup(of: String?.self) { group in
            for id in bench.ids {
                group.addTask { try await fixture.sendFile(file, to: id, at: 0).headers["x-asset-id"] }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(assets == ["1", "1", "1", "1"])
    }

    @Test func keepsTheDuplicateOfADeletedFile() async throws {
        let path = try bench.fixture.file("a.mov", content: "bytes")
        let token = try #require(try await bench.fixture.upload(path).string("delete_token"))
        try await bench.upload("bytes", Self.event)
        #expect(try await bench.finalize().string("file_name") == "\(Self.digest).mov")
        #expect(
            try await bench.fixture.delete(#"{"asset_id":1,"delete_token":"\#(token)"}"#).int("deleted_count") == 1
        )
        #expect(try await bench.fixture.get("/video/\(Self.digest).mov").status == 404)
        #expect(try await bench.fixture.get("/video/\(Self.digest).mp4").text == "bytes")
    }

    // MARK: Guests

    private static let terms = #""label":"mine","tos_accepted":true,"display_name":"Zoe""#

    @Test func finalizesForAGuestOnce() async throws {
        let guest = D4Bench.guestToken
        try await bench.upload("bytes", Self.event.merging(["org_name": "Elsewhere"]) { $1 }, guest: guest)
        let missing = try await bench.finalize(guest: guest)
        #expect(missing.status == 400)
        #expect(try missing.string("message") == "Missing or invalid token-mode fields (label, tos_accepted)")
        let response = try await bench.finalize(Self.terms, guest: guest)
        #expect(response.status == 201)
        #expect(bench.nonce.count == 32)
        #expect(try response.int("upload_job_id") == 1)
        #expect(try response.string("delete_token") == nil)
        let again = try await bench.finalize(Self.terms, guest: guest)
        #expect(again.status == 500)
        #expect(
            try again.string("message")
                == "Failed to record guest upload attribution: SQLSTATE[23000]: Integrity constraint "
                + "violation: 1062 Duplicate entry '\(bench.id)' for key 'uq_upload_jobs_job_id'"
        )
        #expect(try await bench.fixture.get("/api/guest-status.php?nonce=\(bench.nonce)").string("status") == "pending")
        // The event is the one in the metadata, not the token's event.
        let entries =
            try await bench.fixture.get("/db/database.php?format=json").object()["entries"] as? [[String: Any]]
        #expect(entries?.compactMap { $0["org_name"] as? String } == ["Elsewhere"])
    }

    @Test func refusesAnInvalidToken() async throws {
        try await bench.create(5)
        let text = #"{"error":"Invalid or expired upload token"}"#
        let responses = [
            try await bench.create(5, guest: "nonsense"), try await bench.patch(at: 0, 5, guest: "nonsense"),
        ]
        #expect(responses.map(\.status) == [401, 401])
        #expect(responses.map(\.text) == [text, text])
        let options = D4Bench.credentials("nonsense")
        #expect(try await bench.fixture.tus("HEAD", bench.id, options: options).status == 401)
        #expect(try await bench.fixture.tus("OPTIONS", options: options).status == 204)
    }
}
