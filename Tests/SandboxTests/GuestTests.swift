import Foundation
import TestSupport
import Testing

/// GigHive contract 6.
@Suite struct GuestTests {
    private static let token = "guesttoken-aabbccddeeff0011"
    private static let link = ["--event-link-token", "\(token)=2026-03-01,TusBand,band"]
    private static let header = ["-H", "X-Upload-Token: \(token)"]

    private func guestUpload(
        _ fixture: Fixture,
        _ content: String,
        _ fields: String = #""label":"my clip","tos_accepted":true"#
    ) async throws -> CurlResponse {
        let id = try await fixture.completeUpload(content, ["filename": "clip.mp4"], options: Self.header)
        return try await fixture.finalize(id, fields, options: Self.header)
    }

    private func control(_ fixture: Fixture, _ method: String, _ path: String, _ body: String = "") async throws
        -> CurlResponse
    {
        try await curl("-X", method, "-d", body, fixture.sandbox.baseURL + "/__sandbox/" + path)
    }

    private func post(_ fixture: Fixture, _ script: String, _ json: String) async throws -> CurlResponse {
        try await curl("-d", json, fixture.sandbox.baseURL + "/api/guest-\(script).php")
    }

    private func get(_ fixture: Fixture, _ path: String, _ options: String...) async throws -> CurlResponse {
        try await curl(options + [fixture.sandbox.baseURL + "/api/" + path])
    }

    // MARK: The link

    @Test func aLinkReportsItsEventToGuests() async throws {
        let fixture = try await Fixture(arguments: Self.link)
        let response = try await get(fixture, "upload-token.php?token=\(Self.token)&t=1")
        #expect(response.status == 200)
        #expect(
            response.text == #"{"event_id":1,"event_date":"2026-03-01","org_name":"TusBand","event_type":"band"}"#
        )
        let long = String(repeating: "a", count: 129)
        for (query, status, error) in [
            ("", 400, "missing token"), ("?token=\(long)", 400, "invalid token"),
            ("?token=unknown", 404, "invalid or expired"),
        ] {
            let refused = try await get(fixture, "upload-token.php" + query)
            #expect(refused.status == status)
            #expect(refused.text == #"{"error":"\#(error)"}"#)
        }
    }

    @Test func linksAreCreatedAndRevokedByTheControlRoute() async throws {
        let fixture = try await Fixture()
        let made = try await control(fixture, "POST", "event-links", "2026-05-05,Wed & Co,wedding,300")
        let token = try #require(try made.string("token"))
        #expect(token.wholeMatch(of: /[A-Za-z0-9_\-]{43}/) != nil)
        let url = "upload-token.php?token=\(token)"
        #expect(try await get(fixture, url).string("event_type") == "wedding")
        #expect(try await control(fixture, "DELETE", "event-links/\(token)").status == 200)
        #expect(try await get(fixture, url + "&t=1").status == 404)
        // The cache is not updated.
        let cached = try await get(fixture, url)
        #expect(cached.status == 200)
        #expect(cached.headers["age"] != nil)
        let expired = try await control(fixture, "POST", "event-links", "old=2026-05-05,X,band,-1")
        #expect(expired.status == 200)
        #expect(try await get(fixture, "upload-token.php?token=old").status == 404)
        #expect(try await control(fixture, "POST", "event-links", "2026-05-05").status == 400)
        #expect(try await control(fixture, "POST", "event-links", "2026-15-05,X,band").status == 400)
    }

    // MARK: Uploading

    @Test func aGuestUploadsToTheLinksEventRegardlessOfTheFields() async throws {
        let fixture = try await Fixture(arguments: Self.link)
        let response = try await guestUpload(
            fixture,
            "bytes",
            #""label":"my clip","tos_accepted":true,"display_name":"Zoe","org_name":"ignored","event_date":"2020-01-01""#
        )
        #expect(response.status == 201)
        #expect(try response.string("org_name") == "TusBand")
        #expect(try response.string("event_date") == "2026-03-01")
        #expect(try response.int("event_id") == 1)
        #expect(try response.string("status_nonce")?.count == 32)
        #expect(try response.int("upload_job_id") == 1)
        #expect(try response.string("delete_token")?.count == 64)
        // A repeated request returns everything but the token.
        let id = try #require(try await fixture.sandbox.requests().first { $0.method == "PATCH" })
        let again = try await fixture.finalize(
            String(id.path.dropFirst("/files/".count)),
            #""label":"other","tos_accepted":true"#,
            options: Self.header
        )
        #expect(try again.string("status_nonce") == response.string("status_nonce"))
        #expect(try again.int("upload_job_id") == 1)
        #expect(try again.string("delete_token") == nil)
        #expect(try await guestUpload(fixture, "bytes").status == 409)
    }

    @Test(arguments: [
        #""tos_accepted":true"#, #""label":"","tos_accepted":true"#, #""label":"x""#,
        #""label":"x","tos_accepted":false"#, #""label":"x","tos_accepted":"true""#, #""label":"x","tos_accepted":1"#,
        #""label":"\#(String(repeating: "é", count: 128))","tos_accepted":true"#,
    ])
    func theBodyMustContainLabelAndTerms(fields: String) async throws {
        let fixture = try await Fixture(arguments: Self.link)
        // A label in the metadata does not help.
        let id = try await fixture.completeUpload("bytes", ["filename": "a.mp4", "label": "x"], options: Self.header)
        let response = try await fixture.finalize(id, fields, options: Self.header)
        #expect(response.status == 400)
        #expect(
            try response.string("message") == "Missing or invalid token-mode fields (label, tos_accepted)"
        )
        let label = String(repeating: "é", count: 127)
        let corrected = try await fixture.finalize(
            id,
            #""label":"\#(label)","tos_accepted":true"#,
            options: Self.header
        )
        #expect(corrected.status == 201)
    }

    @Test func theTokenIsCheckedAtFinalize() async throws {
        let fixture = try await Fixture()
        let long = ["-H", "X-Upload-Token: " + String(repeating: "a", count: 129)]
        let malformed = try await fixture.finalize("feed", options: long)
        #expect(malformed.status == 400)
        #expect(malformed.text == #"{"error":"invalid token"}"#)
        let unknown = try await guestUpload(fixture, "bytes")
        #expect(unknown.status == 404)
        #expect(unknown.text == #"{"error":"invalid or expired"}"#)
    }

    @Test func guestsAreUnknownBeforeD3() async throws {
        let fixture = try await Fixture(dialect: "d2", arguments: Self.link)
        #expect(try await get(fixture, "upload-token.php?token=\(Self.token)").status == 401)
        #expect(try await get(fixture, "guest-status.php?nonce=x", "-u", "viewer:viewer").status == 404)
    }

    // MARK: Afterwards

    @Test func theStatusFollowsTheDecision() async throws {
        let fixture = try await Fixture(arguments: [
            "--event-link-token", "\(Self.token)=2026-03-01,TusBand,band,300.5",
        ])
        let nonce = try #require(try await guestUpload(fixture, "bytes").string("status_nonce"))
        let url = "guest-status.php?nonce=\(nonce)"
        let pending = try await get(fixture, url)
        #expect(
            pending.text
                == #"{"status":"pending","event_name":"TusBand \\u2014 2026-03-01","video_count":0,"days_remaining":300}"#
        )
        #expect(try await control(fixture, "POST", "guest-jobs/1/approve").status == 200)
        #expect(try await get(fixture, url).text.hasPrefix(#"{"status":"approved","#))
        #expect(try await get(fixture, url).int("video_count") == 1)
        #expect(try await control(fixture, "POST", "guest-jobs/1/reject").status == 200)
        #expect(try await get(fixture, url).string("status") == "rejected")
        #expect(try await control(fixture, "POST", "guest-jobs/2/approve").status == 404)
        // The link expires.
        _ = try await control(fixture, "POST", "event-links", "\(Self.token)=2026-03-01,TusBand,band,-1")
        #expect(try await get(fixture, url).string("status") == "expired")
        let unknown = try await get(fixture, "guest-status.php?nonce=" + String(repeating: "n", count: 32))
        #expect(unknown.status == 404)
        #expect(unknown.text == #"{"error":"not found"}"#)
        let invalid = try await get(fixture, "guest-status.php?nonce=short")
        #expect(invalid.status == 400)
        #expect(invalid.text == #"{"error":"invalid nonce"}"#)
    }

    @Test func deletingHidesAnUploadAndKeepsTheFile() async throws {
        let fixture = try await Fixture(arguments: Self.link)
        let nonce = try #require(try await guestUpload(fixture, "bytes").string("status_nonce"))
        let body = #"{"nonce":"\#(nonce)","upload_job_id":1}"#
        #expect(try await post(fixture, "delete", body).status == 403)
        _ = try await control(fixture, "POST", "guest-jobs/1/approve")
        #expect(try await post(fixture, "delete", #"{"nonce":"\#(nonce)","upload_job_id":2}"#).status == 403)
        let bad = try await post(fixture, "delete", "{}")
        #expect(bad.status == 400)
        #expect(bad.text == #"{"error":"Bad Request"}"#)
        let deleted = try await post(fixture, "delete", body)
        #expect(deleted.status == 200)
        #expect(deleted.text == #"{"status":"deleted"}"#)
        #expect(try await get(fixture, "guest-status.php?nonce=\(nonce)").int("video_count") == 0)
        #expect(try fixture.storedFiles().count == 1)
    }

    @Test func aDeletedAssetIsRejected() async throws {
        let fixture = try await Fixture(arguments: Self.link)
        let upload = try await guestUpload(fixture, "bytes")
        let nonce = try #require(try upload.string("status_nonce"))
        _ = try await control(fixture, "POST", "guest-jobs/1/approve")
        let token = try #require(try upload.string("delete_token"))
        _ = try await fixture.delete(#"{"asset_id":1,"delete_token":"\#(token)"}"#)
        #expect(try await get(fixture, "guest-status.php?nonce=\(nonce)").string("status") == "rejected")
    }

    @Test func aServerErrorHasNoDetails() async throws {
        let fixture = try await Fixture(
            faults: ["token:status=500", "guest-status:status=500", "guest-delete:status=500"]
        )
        for path in ["upload-token.php", "guest-status.php", "guest-delete.php"] {
            let response = try await get(fixture, path)
            #expect(response.status == 500)
            #expect(response.body.isEmpty)
        }
    }
}
