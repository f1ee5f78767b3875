import Foundation
import TestSupport
import Testing

/// Users, keys and devices (photosync contract 1).
@Suite struct PhotoPeopleTests {
    private func login(
        _ fixture: PhotoFixture,
        email: String = "alice@example.test",
        password: String = "alice",
        name: String = "laptop",
        platform: String = "android",
        token: String = "t"
    ) async throws -> CurlResponse {
        let json = try JSONSerialization.data(withJSONObject: [
            "email": email, "password": password, "deviceName": name, "platform": platform, "fcmToken": token,
        ])
        return try await fixture.post("/api/mobile/auth/login", String(decoding: json, as: UTF8.self), as: [])
    }

    @Test func everyRejectionOfALogin() async throws {
        let key = String(repeating: "c", count: 64)
        let fixture = try await PhotoFixture([
            "--photosync-user", "nopw@example.test:", "--photosync-user", "new@example.test:new:\(key)",
        ])
        func expect(_ response: CurlResponse, _ status: Int, _ text: String) {
            #expect(response.status == status, "\(text)")
            #expect(response.text == text + "\n")
        }
        expect(try await fixture.post("/api/mobile/auth/login", "x"), 400, "Invalid request body")
        expect(try await login(fixture, email: ""), 400, "Email is required")
        expect(try await login(fixture, password: ""), 400, "Password is required")
        expect(try await login(fixture, name: ""), 400, "Device name is required")
        expect(try await login(fixture, platform: ""), 400, "Platform is required")
        expect(try await login(fixture, token: ""), 400, "FCM token is required")
        expect(try await login(fixture, platform: "linux"), 400, "platform must be 'ios' or 'android'")
        expect(try await login(fixture, name: " "), 400, "device name cannot be empty")
        expect(try await login(fixture, email: "nopw@example.test"), 400, "Password not set for this user")
        expect(try await login(fixture, email: "x@example.test"), 401, "Invalid email or password")
        expect(try await login(fixture, password: "x"), 401, "Invalid email or password")
        try await fixture.sandbox.photoSync("PATCH", "users/alice@example.test", #"{"isActive":false}"#)
        expect(try await login(fixture), 500, "Internal server error")
        // None of these requests changed a key; the key of a disabled account is not accepted.
        #expect(try await fixture.get("/api/sync/status").text == #"{"error":"Invalid API key."}"# + "\n")
        #expect(try await fixture.get("/api/sync/status", as: PhotoFixture.bob).status == 200)
        #expect(try await fixture.get("/api/sync/status", as: ["-H", "x-api-key: \(key)"]).status == 200)
    }

    /// Trap 8: a login voids the earlier key; both states survive a restart.
    @Test func aLoginRotatesTheKeyPermanently() async throws {
        let data = try TemporaryDirectory()
        let fixture = try await PhotoFixture(data: data)
        let first = try #require(try await login(fixture, platform: "IOS").string("apiKey"))
        #expect(first.wholeMatch(of: /[0-9a-f]{64}/) != nil)
        let second = try #require(try await login(fixture).string("apiKey"))
        #expect(try await login(fixture, email: "bob@example.test", password: "bob", token: "b").status == 200)
        _ = try await fixture.uploadNew("a.jpg", as: ["-H", "X-API-Key: " + second])
        let rows = try await fixture.sandbox.photos()
        try await fixture.sandbox.stop()

        let restarted = try await PhotoFixture(data: data)
        for (key, status) in [(SandboxProcess.aliceKey, 401), (first, 401), (second, 200)] {
            #expect(try await restarted.get("/api/sync/status", as: ["-H", "X-API-Key: " + key]).status == status)
        }
        #expect(try await restarted.sandbox.photos() == rows)
        let download = "/api/photos/\(rows[0].id)/download"
        #expect(try await restarted.get(download, as: ["-H", "X-API-Key: " + second]).status == 200)
        let devices = try await restarted.get("/api/devices", as: ["-H", "X-API-Key: " + second])
        #expect(devices.text.contains(#""platform":"ios""#))
    }

    @Test func onlyOneUserOfThePublishedServerCanLogInAgain() async throws {
        let fixture = try await PhotoFixture(["--photosync", "published"])
        for _ in 1...2 { #expect(try await login(fixture).status == 200) }
        let refused = try await login(fixture, email: "bob@example.test", password: "bob", token: "b")
        #expect(refused.status == 500)
        #expect(refused.text == "Failed to save API key\n")
        #expect(try await fixture.get("/api/devices", as: PhotoFixture.bob).text.contains("laptop"))
    }

    /// Trap 10: the token identifies the device for all users, and only its last-seen time changes.
    @Test func aTokenIdentifiesADevice() async throws {
        let fixture = try await PhotoFixture()
        func register(_ json: String, as user: [String] = PhotoFixture.alice) async throws -> CurlResponse {
            try await fixture.post("/api/devices/register", json, as: user)
        }
        for (json, text) in [
            ("[]", "Invalid request body"), (#"{"deviceName":"x","platform":"ios"}"#, "FCM token is required"),
            (#"{"platform":"ios","fcmToken":"t"}"#, "device name cannot be empty"),
            (#"{"deviceName":"x","platform":"linux","fcmToken":"t"}"#, "platform must be 'ios' or 'android'"),
        ] {
            let response = try await register(json)
            #expect(response.status == 400)
            #expect(response.text == text + "\n")
        }
        #expect(try await fixture.get("/api/devices").text == "[]\n")
        let first = try await register(#"{"DeviceName":"x","platform":"Android","fcmToken":"t"}"#)
        let other = try await fixture.register("u")
        let again = try await register(#"{"deviceName":"y","platform":"ios","fcmToken":"t"}"#, as: PhotoFixture.bob)
        #expect(try again.string("id") == first.string("id"))
        #expect(try again.string("deviceName") == "x")
        #expect(try again.string("platform") == "android")
        // The response contains the previous last-seen time, to the microsecond.
        let registered = try #require(try first.string("registeredAt"))
        #expect(try first.string("lastSeenAt") == registered)
        #expect(try again.string("lastSeenAt") == again.string("registeredAt"))
        // The device that was seen last comes first.
        let devices =
            try JSONSerialization.jsonObject(with: try await fixture.get("/api/devices").body) as? [[String: Any]]
        #expect(devices?.compactMap { $0["id"] as? String } == [try first.string("id"), other])
        #expect(try await fixture.get("/api/devices", as: PhotoFixture.bob).text == "[]\n")
        let theirs = try await fixture.delete("/api/devices/" + other, as: PhotoFixture.bob)
        #expect(theirs.status == 404)
        #expect(theirs.text == "Device not found\n")
        #expect(try await fixture.delete("/api/devices/" + other).status == 200)
        #expect(try await fixture.delete("/api/devices/" + other).status == 404)
    }
}
