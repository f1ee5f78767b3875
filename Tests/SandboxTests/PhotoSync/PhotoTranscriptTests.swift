import Foundation
import TestSupport
import Testing

/// The recorded responses of the real server are the reference: status, headers, texts, keys, order, types.
@Suite struct PhotoTranscriptTests {
    private func expect(_ response: CurlResponse, like recording: PhotoSyncTranscript.Response, _ title: String) throws
    {
        if let status = recording.status {
            #expect(response.status == status, "\(title): \(response.text)")
            var headers = response.headers
            headers["date"] = recording.headers["date"]
            // Lengths are those of the recorded values; only their presence is compared.
            if !Self.isExact(recording.text), headers["content-length"] == String(response.body.count) {
                headers["content-length"] = recording.headers["content-length"]
            }
            #expect(headers == recording.headers, "\(title)")
        }
        if Self.isExact(recording.text) {
            #expect(response.text == recording.text + (recording.text.isEmpty ? "" : "\n"), "\(title)")
        } else {
            #expect(try JSONShape(response.text) == JSONShape(recording.text), "\(title)")
            #expect(response.text.hasSuffix("\n") && response.text.filter { $0 == "\n" }.count == 1, "\(title)")
        }
    }

    private static func isExact(_ body: String) -> Bool {
        !body.hasPrefix("{") && !body.hasPrefix("[") || body.hasPrefix(#"{"error""#)
    }

    private func login(_ name: String, _ password: String, more: String) -> String {
        #"{"email":"\#(name)@example.test","password":"\#(password)"\#(more)}"#
    }

    @Test func keysAndLogin() async throws {
        let recorded = try PhotoSyncTranscript("auth")
        let fixture = try await PhotoFixture(["--photosync", "published"])
        let phone = #","deviceName":"mediactl","platform":"Android","fcmToken":"t-alice""#
        let linux = #","deviceName":"mediactl","platform":"linux","fcmToken":"t""#
        let path = "/api/mobile/auth/login"
        let steps: [(title: String, response: CurlResponse)] = [
            ("no key", try await fixture.get("/api/sync/status", as: [])),
            ("bad key", try await fixture.get("/api/sync/status", as: ["-H", "X-API-Key: bad"])),
            ("login missing", try await fixture.post(path, login("alice", "alice", more: ""))),
            ("login platform linux", try await fixture.post(path, login("alice", "alice", more: linux))),
            ("login bad pw", try await fixture.post(path, login("alice", "wrong", more: phone))),
            ("login email uppercase", try await fixture.post(path, login("ALICE", "alice", more: phone))),
            ("login ok", try await fixture.post(path, login("alice", "alice", more: phone), as: [])),
            ("old key now", try await fixture.get("/api/sync/status")),
            (
                "bob login after alice",
                try await fixture.post(
                    path,
                    login("bob", "bob", more: #","deviceName":"bobcli","platform":"ios","fcmToken":"t-bob""#)
                )
            ),
            // Bob's device is still listed.
            ("bob old key still", try await fixture.get("/api/devices", as: PhotoFixture.bob)),
        ]
        for step in steps { try expect(step.response, like: recorded(step.title), step.title) }
    }

    @Test func statusAndListing() async throws {
        let recorded = try PhotoSyncTranscript("sync")
        let fixture = try await PhotoFixture()
        let device = try await fixture.register("alice-laptop")
        let bobs = try await fixture.register("bob-laptop", as: PhotoFixture.bob)
        for number in 1...7 {
            let file = try fixture.file("IMG_000\(number).jpg", jpeg(width: 64, height: 48))
            let fields = number <= 4 ? ["deviceId=" + device] : []
            #expect(try await fixture.upload(file, fields + ["dateTaken=2024-01-11T10:30:00Z"]).status == 200)
        }
        let bobsPhoto = try await fixture.uploadNew(as: PhotoFixture.bob)
        func expect(_ title: String, _ response: CurlResponse) throws {
            try self.expect(response, like: recorded(title), title)
        }
        func status(_ id: String) async throws -> CurlResponse {
            try await fixture.get("/api/sync/status", "-H", "X-Device-ID: " + id)
        }
        func list(_ json: String) async throws -> CurlResponse { try await fixture.post("/api/sync/photos", json) }

        try expect("status no device", try await fixture.get("/api/sync/status"))
        try expect("status device", try await status(device))
        try expect("status unknown device", try await status("nobody"))
        try expect("status bob's device", try await status(bobs))
        var page = try await list(#"{"limit":2,"deviceId":"\#(device)","includeThumbnailUrls":true}"#)
        try expect("page1 limit2 thumbs", page)
        var cursor = ""
        for number in 2...4 {
            cursor = try #require(try JSONDecoder().decode(PhotoPageResponse.self, from: page.body).pagination.cursor)
            page = try await list(#"{"limit":2,"deviceId":"\#(device)","cursor":"\#(cursor)"}"#)
            try expect("page\(number)", page)
        }
        try expect("status device after sync", try await status(device))
        let last = try #require(try JSONDecoder().decode(PhotoPageResponse.self, from: page.body).photos.last?.id)
        try expect("cursor = last photo (end)", try await list(#"{"cursor":"\#(last)"}"#))
        try expect("garbage cursor", try await list(#"{"cursor":"garbage"}"#))
        try expect("cursor of bob's photo", try await list(#"{"cursor":"\#(bobsPhoto)"}"#))
        try expect("limit string", try await list(#"{"limit":"2"}"#))
        try expect("empty body", try await list(""))
        try expect("unknown deviceId", try await list(#"{"deviceId":"nobody","limit":1}"#))
        try expect("since bad", try await list(#"{"sinceTimestamp":"yesterday"}"#))
        try expect("since numeric", try await list(#"{"sinceTimestamp":1700000000}"#))
        try expect("GET on sync/photos", try await fixture.get("/api/sync/photos"))
        try expect("trailing slash", try await fixture.get("/api/sync/status/"))
    }

    @Test func devicesAndUploads() async throws {
        let recorded = try PhotoSyncTranscript("upload")
        let fixture = try await PhotoFixture(["--photosync", "published"])
        func expect(_ title: String, _ response: CurlResponse) throws {
            try self.expect(response, like: recorded(title), title)
        }
        func register(_ name: String, as user: [String] = PhotoFixture.alice) async throws -> CurlResponse {
            let json = #"{"deviceName":"\#(name)","platform":"ios","fcmToken":"second"}"#
            return try await fixture.post("/api/devices/register", json, as: user)
        }
        let registration = try await register("second")
        try expect("reg device", registration)
        try expect("reg device same token again other name", try await register("other"))
        try expect("reg device bob with alice token", try await register("bobs", as: PhotoFixture.bob))
        try expect("devices list (slash)", try await fixture.get("/api/devices/"))
        try expect("devices list", try await fixture.get("/api/devices"))

        let device = "deviceId=" + (try registration.string("id") ?? "")
        let first = try fixture.file("IMG_0001.jpg", jpeg(width: 64, height: 48))
        try expect(
            "upload 1 date Z + device",
            try await fixture.upload(first, ["dateTaken=2024-01-11T10:30:00Z", device])
        )
        try expect("upload 1 again (dup)", try await fixture.upload(first))
        func upload(_ name: String, _ fields: String..., content: [UInt8]? = nil) async throws -> CurlResponse {
            try await fixture.upload(try fixture.file(name, content ?? Array(UUID().uuidString.utf8)), fields)
        }
        try expect(
            "upload 2 date +02:00 across month, no device",
            try await upload("IMG_0002.jpg", "dateTaken=2024-03-01T00:30:00+02:00")
        )
        let turned = jpeg(width: 64, height: 48, exif: exif(orientation: 6, date: "2019:07:03 12:00:00"))
        let dated = try await upload("IMG_0003.jpg", content: turned)
        try expect("upload 3 no date, EXIF date, orientation 6", dated)
        #expect(try dated.string("storedPath") == "2019/07/IMG_0003.jpg")
        try expect("upload 5 bad date", try await upload("IMG_0005.jpg", "dateTaken=2024-01-31 23:59:59"))
        try expect("upload 6 unknown device", try await upload("IMG_0006.jpg", "deviceId=nobody"))
        let second = try await upload("IMG_0001.jpg", "dateTaken=2024-01-12T10:30:00Z")
        try expect("upload 6 fields first, same name as 1", second)
        #expect(try second.string("storedPath") == "2024/01/IMG_0001_001.jpg")
        try expect("fake.jpg", try await upload("fake.jpg"))
        try expect("empty.jpg", try await upload("empty.jpg", content: []))
        for (title, name) in [("movie", "a.mp4"), ("bmp", "a.bmp"), ("tiff", "a.tiff"), ("no ext", "a")] {
            try expect(title, try await upload(name))
        }
        try expect("png", try await upload("p.png"))
        try expect("webp", try await upload("w.webp"))
        let path = fixture.sandbox.baseURL + "/api/photos/upload"
        try expect("no file", try await curl(PhotoFixture.alice + ["-F", "dateTaken=x", path]))
        try expect("not multipart", try await curl(PhotoFixture.alice + ["-d", "file=x", path]))
        try expect("no key upload", try await fixture.upload(first, as: []))
        // The published build has no owners.
        try expect("status with device", try await fixture.get("/api/sync/status"))
        try expect("sync/photos", try await fixture.post("/api/sync/photos", "{}"))
        try expect("sync/photos wrong", try await fixture.post("/api/sync/photos", "[]"))
    }
}
