import Foundation
import MediaStore
import MediaTransport
import TestSupport
import Testing

@testable import PhotoSync

@Suite("Requests", .prompt)
struct RequestTests {
    private typealias Response = RecordingServer.Response

    private static let emptyPage = Response(
        body: #"{"photos":[],"pagination":{"hasMore":false},"sync":{"totalCount":0,"returnedCount":0}}"#
    )
    private static let counts = Response(
        body: #"{"totalPhotos":7,"devicePhotos":4,"legacyPhotos":3,"otherDevicePhotos":0,"serverVersion":7}"#
    )
    private static let device = #"""
        {"id":"d-1","deviceName":"desk","platform":"android","registeredAt":"2026-11-20T22:17:20.211467342Z",
        "lastSeenAt":"2026-11-20T22:17:20Z","isActive":true}
        """#

    @Test("the key is sent in X-API-Key and JSON is accepted; the device is a header field only of the status request")
    func headers() async throws {
        let server = try RecordingServer { request, _ in
            request.line.contains("status") ? Self.counts : Self.emptyPage
        }
        let client = try server.client(key: "abc123")
        _ = try await client.status(device: "d-1")
        _ = try await client.status(device: nil)
        _ = try await client.photos(cursor: nil, device: "d-1")
        #expect(
            server.requests.map(\.line) == ["GET /api/sync/status", "GET /api/sync/status", "POST /api/sync/photos"]
        )
        #expect(server.requests.map { $0.values(of: "x-device-id") } == [["d-1"], [], []])
        for request in server.requests {
            #expect(request.values(of: "x-api-key") == ["abc123"])
            #expect(request.values(of: "accept") == ["application/json"])
            #expect(request.values(of: "authorization").isEmpty)
        }
        #expect(server.requests.last?.values(of: "content-type") == ["application/json"])
    }

    @Test("without a key nothing is sent")
    func noKey() async throws {
        let server = try RecordingServer(Self.counts)
        let client = try server.client(key: nil)
        #expect(await photoSyncError { _ = try await client.status(device: nil) }?.code == .notLoggedIn)
        #expect(await photoSyncError { _ = try await client.photos(cursor: nil, device: nil) }?.code == .notLoggedIn)
        #expect(server.requests.isEmpty)
    }

    @Test("trap 14: if the server URL has a path, requests start with it, and no slash is doubled")
    func basePath() async throws {
        let server = try RecordingServer(Self.counts)
        _ = try await server.client(path: "/photos/v1//").status(device: nil)
        #expect(server.requests.map(\.line) == ["GET /photos/v1/api/sync/status"])
    }

    @Test("a page request has only the specified parameters")
    func page() async throws {
        let (server, client) = try RecordingServer(Self.emptyPage).withClient()
        _ = try await client.photos(cursor: nil, device: nil)
        // The offset would be ignored, and two hours of photos would be skipped (trap 4).
        let since = try #require(PhotoTime(rfc3339: "2024-03-01T00:30:00.5+02:00"))
        _ = try await client.photos(cursor: "a\"b", limit: 100, device: "d-1", since: since)
        let bodies = server.requests.map(\.json)
        #expect(bodies.first == ["limit": 500, "includeThumbnailUrls": false])
        #expect(
            bodies.last == [
                "limit": 100, "includeThumbnailUrls": false, "cursor": "a\"b", "deviceId": "d-1",
                "sinceTimestamp": "2024-02-29T22:30:00.5Z",
            ]
        )
    }

    @Test(
        "trap 18: a limit that the server would misread is never sent",
        arguments: [(501, 500), (Int.max, 500), (0, 1), (-7, 1), (500, 500), (1, 1)]
    )
    func limits(requested: Int, sent: Int) async throws {
        let server = try RecordingServer(Self.emptyPage)
        _ = try await server.client().photos(cursor: nil, limit: requested, device: nil)
        #expect(server.requests.first?.json?["limit"] as? Int == sent)
    }

    @Test("a time after the year 9999 is refused before it is sent (trap 5)")
    func impossibleSince() async throws {
        let (server, client) = try RecordingServer(Self.emptyPage).withClient()
        let since = PhotoTime(text: "later", microseconds: .max)
        let error = await photoSyncError { _ = try await client.photos(cursor: nil, device: nil, since: since) }
        #expect(error?.code == .invalidDate)
        #expect(error?.value == "later")
        #expect(server.requests.isEmpty)
    }

    @Test("digests are checked in blocks of 1,000, and only requested digests are accepted")
    func check() async throws {
        let digests = (0..<2001).map { number in
            String(repeating: "0", count: 60) + String(10_000 + number).suffix(4)
        }
        let server = try RecordingServer { request, _ in
            let requested = request.json?["hashes"] as? [String] ?? []
            // The first of each block exists, in capitals, together with one that was not requested.
            let existing = [requested[0].uppercased(), String(repeating: "F", count: 64)]
            return Response(body: "{\"existing\":[\"\(existing.joined(separator: "\",\""))\"],\"missing\":[]}")
        }
        let existing = try await server.client().existing(digests)
        let sizes = server.requests.map { ($0.json?["hashes"] as? [String])?.count }
        #expect(sizes == [1000, 1000, 1])
        #expect(existing == [digests[0], digests[1000], digests[2000]])
        #expect(try await server.client().existing([]).isEmpty)
        #expect(server.requests.count == 3)
    }

    @Test("claims contain the device, and either all or some IDs")
    func claims() async throws {
        let server = try RecordingServer(Response(body: #"{"claimed":3,"alreadyClaimed":0,"failed":0}"#))
        let client = try server.client()
        #expect(try await client.claimAll(device: "d-1") == 3)
        #expect(try await client.claim(["p-1", "p\"2"], device: "d-1") == 3)
        #expect(server.requests.map(\.line) == Array(repeating: "POST /api/sync/claim-legacy", count: 2))
        #expect(server.requests.first?.json == ["deviceId": "d-1", "claimAll": true])
        #expect(server.requests.last?.json == ["deviceId": "d-1", "claimAll": false, "photoIds": ["p-1", "p\"2"]])
    }

    @Test("trap 10: a device is registered as android, under its token")
    func register() async throws {
        let server = try RecordingServer(Response(body: Self.device))
        let device = try await server.client().registerDevice(name: "my \"desk\"", token: "mediactl-1")
        #expect(device.id == "d-1" && device.name == "desk")
        #expect(server.requests.first?.line == "POST /api/devices/register")
        #expect(
            server.requests.first?.json
                == ["deviceName": "my \"desk\"", "platform": "android", "fcmToken": "mediactl-1"]
        )
    }

    @Test("trap 9: a login has no key and a lowercase address, and is sent once")
    func login() async throws {
        let response = Response(
            body:
                #"{"success":true,"user":{"id":"u","email":"ann@example.test"},"device":\#(Self.device),"apiKey":"k-2"}"#
        )
        let server = try RecordingServer(response)
        let client = try server.client(key: "old")
        let login = try await client.logIn(
            email: "Ann@Example.test",
            password: "pass\\word",
            deviceName: "desk",
            deviceToken: "t"
        )
        #expect(login.apiKey == "k-2" && login.email == "ann@example.test" && login.device?.id == "d-1")
        #expect(server.requests.count == 1)
        let request = try #require(server.requests.first)
        #expect(request.line == "POST /api/mobile/auth/login")
        #expect(request.values(of: "x-api-key").isEmpty)
        #expect(
            request.json == [
                "email": "ann@example.test", "password": "pass\\word", "deviceName": "desk", "platform": "android",
                "fcmToken": "t",
            ]
        )
    }

    @Test(
        "trap 9: a failed login is never retried, and reports the reason",
        arguments: [
            (Response.text(401, "Invalid email or password"), OutcomeCode.notLoggedIn),
            (.text(500, "Failed to save API key"), .keyNotRotated),
            (.text(500, "Internal server error"), .serverError), (.text(500, "Database error"), .serverError),
            (.text(400, "Password not set for this user"), .badRequest),
            (Response(status: 502, body: "<html>", type: "text/html"), .serverError),
        ]
    )
    private func failedLogin(response: Response, code: OutcomeCode) async throws {
        let server = try RecordingServer(response)
        let client = try server.client(key: nil)
        let error = await photoSyncError {
            _ = try await client.logIn(email: "a@b.c", password: "p", deviceName: "d", deviceToken: "t")
        }
        #expect(error?.code == code)
        #expect(server.requests.count == 1)
    }

    @Test("health is queried without a key; an unfinished setup is reported")
    func health() async throws {
        let server = try RecordingServer { request, _ in
            request.line.hasSuffix("/api/health")
                ? Response(body: #"{"status":"healthy","timestamp":"2026-11-20T22:17:20.211467342Z"}"#)
                : Response(body: #"{"isComplete":false,"databaseConfigured":true}"#)
        }
        let health = try await server.client().health()
        #expect(health == ServerHealth(status: "healthy", isSetUp: false))
        #expect(!health.isHealthy)
        #expect(server.requests.map(\.line) == ["GET /api/health", "GET /api/setup/status"])
        #expect(server.requests.allSatisfy { $0.values(of: "x-api-key").isEmpty })
    }
}
