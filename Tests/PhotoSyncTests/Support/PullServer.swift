import Foundation
import MediaCore
import MediaStore
import Synchronization
import TestSupport

@testable import PhotoSync

/// A PhotoSync server over HTTP whose listing a test can change between pages and make inconsistent.
final class PullServer: Sendable {
    struct State: Sendable {
        var serverPhotos: ServerPhotos
        var requests: [ServerPhotos.Request] = []
        /// IDs of each claim by ID; nil for `claimAll`.
        var claims: [[String]?] = []
        /// Changes the photos before a listing is returned, given the request's number, from 1.
        var before: (@Sendable (inout ServerPhotos, Int) -> Void)?
        /// Changes the response, given the request's number, from 1.
        var after: (@Sendable (inout PhotoPage, ServerPhotos.Request, Int) -> Void)?
        /// Whether claims are confirmed without being carried out.
        var ignoresClaims = false
        var statusCode = 200
    }

    /// State shared by the threads of the scripted server and the test.
    private final class Shared: Sendable {
        let value: Mutex<State>
        init(_ state: State) { value = Mutex(state) }
    }

    private let state: Shared
    private let server: ScriptedServer

    init(_ serverPhotos: ServerPhotos) throws {
        let state = Shared(State(serverPhotos: serverPhotos))
        self.state = state
        server = try ScriptedServer { connection, _ in
            while true {
                let (head, body) = try connection.readRequest()
                let (status, text, type) = state.value.withLock { Self.response(head, body, &$0) }
                try connection.respond(status, text, type: type)
            }
        }
    }

    var address: String { server.address }
    var serverPhotos: ServerPhotos { state.value.withLock { $0.serverPhotos } }
    var requests: [ServerPhotos.Request] { state.value.withLock { $0.requests } }
    var claims: [[String]?] { state.value.withLock { $0.claims } }

    func change(_ body: (inout State) -> Void) {
        state.value.withLock { body(&$0) }
    }

    private static func response(_ head: String, _ body: [UInt8], _ state: inout State) -> (Int, String, String) {
        let target = head.split(separator: " ")[1]
        let request = (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any] ?? [:]
        switch target {
        case "/api/sync/photos":
            return (200, json(list(request, &state)), "application/json")
        case "/api/sync/status":
            guard state.statusCode == 200 else {
                return (state.statusCode, "Database error\n", "text/plain; charset=utf-8")
            }
            return (200, json(status(head, state.serverPhotos)), "application/json")
        case "/api/sync/claim-legacy":
            return claim(request, &state)
        case "/api/health":
            return (200, #"{"status":"healthy","timestamp":"2026-01-11T10:00:00.123456789Z"}"#, "application/json")
        case "/api/setup/status":
            let members = "databaseConfigured\":true,\"firebaseConfigured\":true,\"adminCreated\":true}"
            return (200, "{\"isComplete\":true,\"" + members, "application/json")
        default:
            return (404, "404 page not found\n", "text/plain; charset=utf-8")
        }
    }

    private static func list(_ body: [String: Any], _ state: inout State) -> [String: Any] {
        let since = (body["sinceTimestamp"] as? String).flatMap { RFC3339.microseconds($0) }
        let request = ServerPhotos.Request(
            cursor: body["cursor"] as? String,
            since: since,
            device: body["deviceId"] as? String
        )
        state.requests.append(request)
        state.before?(&state.serverPhotos, state.requests.count)
        var page = state.serverPhotos.page(request)
        state.after?(&page, request, state.requests.count)
        var pagination: [String: Any] = ["hasMore": page.hasMore]
        if let cursor = page.cursor { pagination["cursor"] = cursor }
        return [
            "photos": page.photos.map(item),
            "pagination": pagination,
            "sync": [
                "totalCount": page.totalCount, "returnedCount": page.photos.count, "serverVersion": page.totalCount,
            ],
        ]
    }

    private static func item(_ photo: PhotoRecord) -> [String: Any] {
        var item: [String: Any] = [
            "id": photo.id, "fileHash": photo.sha256, "originalFilename": photo.originalFilename,
            "fileSize": photo.fileSize, "dateTaken": photo.takenAt.text, "uploadedAt": photo.uploadedAt.text,
        ]
        if let device = photo.originDevice {
            item["originDevice"] = [
                "id": device.id, "name": device.name, "platform": device.platform, "isCurrentDevice": false,
            ]
        }
        return item
    }

    private static func status(_ head: String, _ serverPhotos: ServerPhotos) -> [String: Any] {
        let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("x-device-id: ") }
        let status = serverPhotos.status(of: line.map { String($0.dropFirst(13)) })
        return [
            "totalPhotos": status.totalPhotos, "devicePhotos": status.devicePhotos,
            "legacyPhotos": status.legacyPhotos, "otherDevicePhotos": status.otherDevicePhotos,
            "serverVersion": status.totalPhotos, "needsLegacyClaim": status.legacyPhotos > 0,
        ]
    }

    /// Contract section 7: two of the numbers are always 0, and unknown and claimed IDs are skipped silently.
    private static func claim(_ body: [String: Any], _ state: inout State) -> (Int, String, String) {
        guard body["deviceId"] as? String == ServerPhotos.device.id else {
            return (400, "Invalid device\n", "text/plain; charset=utf-8")
        }
        let ids = body["claimAll"] as? Bool == true ? nil : body["photoIds"] as? [String] ?? []
        state.claims.append(ids)
        let legacy = state.serverPhotos.photos.filter { $0.originDevice == nil && ids?.contains($0.id) ?? true }
        if !state.ignoresClaims {
            for photo in legacy { state.serverPhotos.setOrigin(ServerPhotos.device, of: photo.id) }
        }
        return (200, json(["claimed": legacy.count, "alreadyClaimed": 0, "failed": 0]), "application/json")
    }

    private static func json(_ object: [String: Any]) -> String {
        let data = (try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys])) ?? Data()
        return String(decoding: data, as: UTF8.self) + "\n"
    }
}
