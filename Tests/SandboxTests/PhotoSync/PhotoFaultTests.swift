import Foundation
import TestSupport
import Testing

/// Every PhotoSync fault has its documented effect.
@Suite(.prompt) struct PhotoFaultTests {
    /// Errors have two kinds of body; statuses that only a proxy sends are HTML.
    @Test func statusesHaveTheRightKindOfBody() async throws {
        let fixture = try await PhotoFixture(faults: [
            "photos-status:status=500,times=1", "photos-check:status=500,times=1", "photos-status:status=502,times=2",
            "photos-list:status=401,times=1", "photos-claim:early-status=504", "devices:500-after-store",
            "login:status=500", "photos-health:status=503",
        ])
        let status = try await fixture.get("/api/sync/status")
        #expect(status.status == 500 && status.text == "Database error\n")
        let check = try await fixture.post("/api/photos/check", #"{"hashes":["x"]}"#)
        #expect(check.status == 500 && check.text == #"{"error":"Database error."}"# + "\n")
        let proxy = try await fixture.get("/api/sync/status")
        #expect(proxy.status == 502 && proxy.headers["content-type"]?.hasPrefix("text/html") == true)
        #expect(try await fixture.post("/api/sync/photos", "{}").text == #"{"error":"Invalid API key."}"# + "\n")
        #expect(try await fixture.post("/api/sync/claim-legacy", "{}").status == 504)
        let device = #"{"deviceName":"x","platform":"ios","fcmToken":"t"}"#
        #expect(try await fixture.post("/api/devices/register", device).text == "Database error\n")
        try await fixture.sandbox.clearFaults()
        #expect(try await fixture.get("/api/devices").text.contains(#""deviceName":"x""#))
    }

    @Test func faultsOfPages() async throws {
        let fixture = try await PhotoFixture()
        try await fixture.sandbox.addPhotos(#"{"count":10}"#)
        let first = try await fixture.list(#"{"limit":4}"#)
        let cursor = try #require(first.pagination.cursor)
        func page(_ fault: String) async throws -> PhotoPageResponse {
            try await fixture.sandbox.clearFaults()
            try await fixture.sandbox.addFaults("photos-list:" + fault)
            return try await fixture.list(#"{"limit":4,"cursor":"\#(cursor)"}"#)
        }
        let repeated = try await page("repeated-cursor")
        #expect(repeated.pagination.cursor == cursor && repeated.pagination.hasMore)
        let endless = try await page("endless")
        #expect(endless.photos.map(\.id) == first.photos.map(\.id) && endless.pagination.hasMore)
        #expect(try await page("endless").pagination.cursor != endless.pagination.cursor)
        let empty = try await page("empty-page")
        #expect(empty.photos.isEmpty && empty.pagination.hasMore && empty.pagination.cursor != nil)
        let expired = try await page("expired-cursor")
        #expect(expired.photos.isEmpty && !expired.pagination.hasMore && expired.sync.totalCount == 10)
        let short = try await page("lost-photo")
        #expect(short.photos.count == 3 && short.sync.returnedCount == 3 && short.sync.totalCount == 10)
        #expect(try await page("total=99").sync.totalCount == 99)
        #expect(try await page("hostile-names").photos.first?.originalFilename == "../../etc/passwd")
        #expect(try await fixture.list(#"{"limit":4}"#).photos.map(\.id) == first.photos.map(\.id))
    }

    @Test func faultsOfDownloads() async throws {
        let fixture = try await PhotoFixture(["--photosync-rewrite", "off"])
        let content = String(repeating: "x", count: 300_000)
        let id = try #require(try await fixture.upload(try fixture.file("a.jpg", content.utf8)).string("id"))
        func get(_ fault: String, _ options: String...) async throws -> CurlResponse {
            try await fixture.sandbox.clearFaults()
            try await fixture.sandbox.addFaults("photos-download:" + fault)
            return try await curl(
                PhotoFixture.alice + options + [fixture.sandbox.baseURL + "/api/photos/\(id)/download"]
            )
        }
        let corrupt = try await get("corrupt-byte")
        #expect(corrupt.status == 200 && corrupt.body.count == content.utf8.count)
        #expect(corrupt.text == "y" + content.dropFirst())
        #expect(try await get("corrupt-byte", "-r", "5-7").text == "yxx")
        let whole = try await get("ignore-range", "-r", "5-7")
        #expect(whole.status == 200 && whole.text == content)
        #expect(try await get("truncate=1000").exitCode == 18)
        #expect(try await get("wrong-length").exitCode == 18)
        #expect(try await get("reset,after=response-headers").exitCode == 56)
        let reset = try await get("reset,after=response+1000")
        #expect(reset.exitCode == 56 && reset.body.count == 1000)
        let stalled = try await get("stall,after=response+1000", "--max-time", "4")
        #expect(stalled.exitCode == 28 && stalled.body.count == 1000)
        #expect(try await get("stall,after=response+1000,for=0.01").text == content)
        let elsewhere = try await get("redirect=http://other.invalid/x")
        #expect(elsewhere.status == 307 && elsewhere.headers["location"] == "http://other.invalid/x")
        #expect(try await get("content-type=text/html").headers["content-type"] == "text/html")
        let page = try await get("html")
        #expect(page.status == 200 && page.headers["content-type"]?.hasPrefix("text/html") == true)
    }

    @Test func faultsOfUploads() async throws {
        let fixture = try await PhotoFixture()
        let path = try fixture.file("a.jpg", [UInt8](repeating: 7, count: 3_000_000))
        func upload(_ fault: String) async throws -> CurlResponse {
            try await fixture.sandbox.clearFaults()
            try await fixture.sandbox.addFaults("photos-upload:" + fault)
            return try await fixture.upload(path)
        }
        // Trap 17: exceeding the time limit of a body is reported as a bad request.
        try await fixture.sandbox.addFaults("photos-upload:slow=100000", "photos-upload:body-timeout=0.2")
        let slow = try await fixture.upload(path)
        #expect(slow.status == 400 && slow.headers["connection"] == "close")
        #expect(try slow.string("error") == "Request must be multipart/form-data.")
        try await fixture.sandbox.clearFaults()
        #expect(try await fixture.sandbox.photos().isEmpty)
        #expect([55, 56].contains(try await upload("reset,after=65536").exitCode))
        #expect(try await upload("limit=1000").status == 413)
        #expect(try await fixture.sandbox.photos().isEmpty)
        #expect(try await upload("drop-response").exitCode == 52)
        #expect(try await fixture.sandbox.photos().count == 1)
        let again = try await upload("body-timeout=60")
        #expect(try again.object()["isDuplicate"] as? Bool == true)
    }

    @Test func jsonWithoutAnEnd() async throws {
        let fixture = try await PhotoFixture(faults: ["photos-list:endless-json=3000000", "photos-status:wrong-types"])
        let response = try await fixture.post("/api/sync/photos", "{}")
        #expect(response.body.count >= 3_000_000 && response.text.hasPrefix(#"{"photos":[{"id":"xxx"#))
        #expect(try await fixture.get("/api/sync/status").string("totalPhotos") == "many")
        try await fixture.sandbox.addFaults("devices:whitespace=5000", "photos-health:wrong-length")
        #expect(try await fixture.get("/api/devices").body.prefix(5000).allSatisfy { $0 == 32 })
        #expect(try await fixture.get("/api/health").exitCode == 18)
    }

    @Test func aRejectedKeyDoesNotReadALongBody() async throws {
        let fixture = try await PhotoFixture()
        let path = try fixture.file("a.jpg", [UInt8](repeating: 7, count: 3_000_000))
        for expectation in ["Expect:", "Expect: 100-continue"] {
            let response = try await fixture.upload(path, as: ["-H", expectation])
            #expect(response.status == 401 && response.headers["connection"] == "close")
            #expect(response.text == #"{"error":"API key is required."}"# + "\n")
        }
        let short = try await fixture.upload(try fixture.file("b.jpg", "x".utf8), as: [])
        #expect(short.status == 401 && short.headers["connection"] == nil)
    }
}
