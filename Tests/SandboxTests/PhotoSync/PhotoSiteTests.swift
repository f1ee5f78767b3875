import Foundation
import TestSupport
import Testing

/// Paths, methods, gate, proxies, and the build without owners (photosync contract 0, 2, 3.5, 8 and 9).
@Suite struct PhotoSiteTests {
    @Test func pathsAndMethodsAreExact() async throws {
        let fixture = try await PhotoFixture()
        func response(_ method: String, _ path: String) async throws -> String {
            let response = try await curl(
                PhotoFixture.alice + ["--path-as-is"] + (method == "HEAD" ? ["-I"] : ["-X", method])
                    + [fixture.sandbox.baseURL + path]
            )
            #expect((response.status == 404) == (response.text == "404 page not found\n"), "\(method) \(path)")
            // curl stores the head of a HEAD response as its body.
            if response.status == 405, method != "HEAD" {
                #expect(response.body.isEmpty && response.headers["content-type"] == nil)
            }
            return "\(response.status) \(method) \(path)"
        }
        for expected in [
            "200 GET /health", "200 GET /api/health", "200 GET /api/version", "200 GET /api/setup/status",
            "200 GET /api/devices/",
            "404 GET /api/sync/status/", "404 GET //api/sync/status", "404 GET /api//sync/status",
            "404 GET /api/sync/nothing", "404 GET /api/collections", "404 GET /health/",
            "405 HEAD /api/health", "405 HEAD /api/sync/status", "405 GET /api/sync/photos",
            "405 GET /api/sync/claim-legacy", "405 POST /api/sync/status", "405 PUT /api/photos/x",
            "405 POST /api/photos/x/download", "405 GET /api/devices/x", "405 GET /api/mobile/auth/login",
            "405 POST /api/photos/batch-delete",
        ] {
            let words = expected.split(separator: " ").map(String.init)
            #expect(try await response(words[1], words[2]) == expected)
        }
    }

    @Test func smokeTestsRequireNoKey() async throws {
        let fixture = try await PhotoFixture()
        func text(_ path: String) async throws -> String { try await fixture.get(path, as: []).text }
        #expect(try await text("/api/health").hasPrefix(#"{"status":"healthy","timestamp":"20"#))
        #expect(
            try await text("/api/version") == #"{"version":"dev","gitCommit":"unknown","buildTime":"unknown"}"# + "\n"
        )
        #expect(
            try await text("/api/setup/status")
                == #"{"isComplete":true,"databaseConfigured":true,"firebaseConfigured":false,"adminCreated":true}"#
                + "\n"
        )
    }

    @Test func beforeTheSetupFewRoutesRespond() async throws {
        let fixture = try await PhotoFixture(["--photosync-setup", "incomplete"])
        let refused = try await fixture.get("/api/sync/status")
        #expect(refused.status == 503)
        #expect(try refused.string("error") == "Setup required")
        #expect(try refused.string("setupUrl") == "/setup")
        for path in ["/api/version", "/api/photos/x", "/api/devices"] {
            #expect(try await fixture.get(path).status == 503)
        }
        for path in ["/health", "/api/health", "/api/setup/status"] {
            #expect(try await fixture.get(path).status == 200)
        }
        #expect(try await fixture.post("/api/mobile/auth/login", "{}").status == 400)
    }

    @Test func aReverseProxyServesItBelowAPath() async throws {
        let fixture = try await PhotoFixture(["--base-path", "/photos/app"])
        #expect(try await fixture.get("/photos/app/api/sync/status").status == 200)
        #expect(try await fixture.get("/photos/app//api/sync/status").status == 404)
        #expect(try await fixture.get("/api/sync/status").status != 200)
    }

    @Test func gigHiveKeepsItsPaths() async throws {
        let fixture = try await Fixture()
        #expect(try await fixture.upload(try fixture.file(content: "x"), to: "/api/uploads").status == 201)
        #expect(try await fixture.get("/api/uploads/1", user: "uploader").status == 200)
        #expect(try await fixture.get("/api/media-files", user: "uploader").status == 501)
    }

    /// Section 8: the owner of a photo is not checked.
    @Test func anyKeyReadsAndDeletesAnyPhoto() async throws {
        let fixture = try await PhotoFixture()
        let id = try await fixture.uploadNew()
        let path = try #require(try await fixture.sandbox.photos().first).storedPath
        #expect(try await fixture.get("/api/photos/" + id, as: PhotoFixture.bob).string("storedPath") == path)
        let file = fixture.sandbox.data.file("photos/" + path)
        #expect(FileManager.default.fileExists(atPath: file))
        let deleted = try await fixture.delete("/api/photos/" + id, as: PhotoFixture.bob)
        #expect(deleted.status == 204 && deleted.body.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: file))
        for response in [try await fixture.delete("/api/photos/" + id), try await fixture.get("/api/photos/" + id)] {
            #expect(response.status == 404)
            #expect(try response.string("error") == "Photo not found.")
        }
    }

    // MARK: The published build

    @Test func uploadsToThePublishedBuildHaveNoOwnerAndArePurged() async throws {
        let data = try TemporaryDirectory()
        let fixture = try await PhotoFixture(["--photosync", "published"], data: data)
        let device = try await fixture.register("t")
        let id = try await fixture.uploadNew("a.jpg", ["deviceId=" + device])
        let photo = try #require(try await fixture.sandbox.photos().first)
        #expect(photo.user == nil)
        #expect(try await fixture.get("/api/photos/\(id)/download").text == "Access denied\n")
        #expect(try await fixture.post("/api/photos/check", #"{"hashes":["\#(photo.fileHash)"]}"#).text.contains("[]}"))
        #expect(
            try await fixture.post("/api/sync/claim-legacy", #"{"deviceId":"\#(device)","claimAll":true}"#).int(
                "claimed"
            ) == 0
        )

        // Up to a hundred photos are purged at every start; photos with an owner are kept.
        try await fixture.sandbox.addPhotos(#"{"user":"","count":99}"#)
        try await fixture.sandbox.addPhotos()
        try await fixture.sandbox.stop()
        let restarted = try await PhotoFixture(["--photosync", "published"], data: data)
        #expect(try await restarted.sandbox.photos().map(\.user) == ["alice@example.test"])
        #expect(!FileManager.default.fileExists(atPath: data.file("photos/" + photo.storedPath)))
    }

    // MARK: Control

    @Test func manyRowsAreCreatedInBulkAndChanged() async throws {
        let fixture = try await PhotoFixture()
        let device = try await fixture.register("t")
        #expect(try await fixture.sandbox.addPhotos(#"{"count":20000,"device":"\#(device)"}"#).count == 1000)
        #expect(try await fixture.status(device: device)["devicePhotos"] == 20_000)
        let id = try await fixture.sandbox.addPhotos(
            #"{"content":"text","originalFilename":"../x.jpg","dateTaken":"1960-05-06T07:08:09Z"}"#
        )[0]
        let response = try await fixture.get("/api/photos/\(id)/download")
        #expect(response.text == "text")
        #expect(response.headers["x-photosync-datetaken"] == "1960-05-06T07:08:09Z")
        try await fixture.sandbox.photoSync(
            "PATCH",
            "photos/" + id,
            #"{"device":"\#(device)","user":"bob@example.test","originalFilename":"y.jpg","fileSize":7}"#
        )
        let photo = try #require(try await fixture.list("{}", as: PhotoFixture.bob).photos.first)
        #expect(photo.originalFilename == "y.jpg" && photo.fileSize == 7 && photo.originDevice?.id == device)
        for (method, path, json) in [
            ("PATCH", "photos/none", "{}"), ("DELETE", "photos/none", ""), ("POST", "photos", #"{"user":"x"}"#),
            ("POST", "photos", "["), ("POST", "photos", #"{"count":2,"content":"x"}"#),
            ("PATCH", "users/none", "{}"), ("POST", "none", ""),
        ] {
            await #expect(throws: SandboxProcess.Failure.self, "\(method) \(path)") {
                try await fixture.sandbox.photoSync(method, path, json)
            }
        }
    }
}
