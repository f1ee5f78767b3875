import Foundation
import MediaStore
import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import PhotoSync

/// The login part of a PhotoSync server (contract 1.2 and 1.3): a device belongs to the user who registered its
/// token first.
private final class UserServer: Sendable {
    private struct State {
        /// The device ID and the owner's key of each token.
        var devices: [String: (id: String, key: String)] = [:]
        var keys: Set<String> = ["key-ann", "key-bob"]
        /// The end of a request line, and the response to such requests.
        var failing: (path: String, response: RecordingServer.Response)?
    }

    private final class Users: Sendable {
        let state: Mutex<State>

        init(_ state: consuming State) { self.state = Mutex(state) }
    }

    private let users: Users
    let server: RecordingServer

    init(failing: (path: String, response: RecordingServer.Response)? = nil) throws {
        let users = Users(State(failing: failing))
        self.users = users
        server = try RecordingServer { request, _ in users.state.withLock { Self.response(request, &$0) } }
    }

    private static func response(
        _ request: RecordingServer.Request,
        _ state: inout State
    ) -> RecordingServer.Response {
        if let failing = state.failing, request.line.hasSuffix(failing.path) { return failing.response }
        let key = request.values(of: "x-api-key").first ?? ""
        let token = request.json?["fcmToken"] as? String ?? ""
        switch request.line {
        case "POST /api/mobile/auth/login":
            // The old key is void from now on.
            state.keys.remove("key-ann")
            state.keys.insert("key-new")
            let device = register(token, "key-new", &state)
            return .init(
                body: "{\"user\":{\"email\":\"ann@example.test\"},\"device\":\(device),\"apiKey\":\"key-new\"}"
            )
        case _ where !state.keys.contains(key): return .json(401, "Invalid API key.")
        case "GET /api/sync/status":
            return .init(body: #"{"totalPhotos":0,"devicePhotos":0,"legacyPhotos":0,"otherDevicePhotos":0}"#)
        case "POST /api/devices/register": return .init(body: register(token, key, &state))
        case "GET /api/devices":
            let own = state.devices.values.filter { $0.key == key }.map { json($0.id) }
            return .init(body: "[\(own.joined(separator: ","))]")
        default: return .text(404, "404 page not found")
        }
    }

    private static func register(_ token: String, _ key: String, _ state: inout State) -> String {
        let device = state.devices[token] ?? (id: "d-\(state.devices.count + 1)", key: key)
        state.devices[token] = device
        return json(device.id)
    }

    private static func json(_ id: String) -> String {
        #"{"id":"\#(id)","deviceName":"desk","platform":"android","registeredAt":"2026-11-20T22:17:20Z","#
            + #""lastSeenAt":"2026-11-20T22:17:20Z","isActive":true}"#
    }

    /// Assigns the device of a token to another user.
    func giveAway(_ token: String) {
        users.state.withLock { $0.devices[token] = (id: "d-of-bob", key: "key-bob") }
    }

    func mend() {
        users.state.withLock { $0.failing = nil }
    }

    /// The methods and paths requested so far.
    var lines: [String] { server.requests.map(\.line) }
}

@Suite("Login of a device", .prompt)
struct DeviceRegistrationTests {
    private let directory: TemporaryDirectory
    private let library: LibraryStore

    init() throws {
        directory = try TemporaryDirectory()
        library = try LibraryStore(in: DataDirectory.open(directory.file("data")))
    }

    private func registration(_ users: UserServer, name: String = "desk", retries: Int = 0) throws -> DeviceRegistration
    {
        DeviceRegistration(
            client: try users.server.client(key: nil, retries: retries),
            library: library,
            deviceName: name
        )
    }

    @Test("a pasted key is verified, and this machine is registered with its own token")
    func pastedKey() async throws {
        let users = try UserServer()
        let login = try await registration(users, name: "\u{1b}[31m my\u{202e} desk\r\n").logIn(apiKey: " key-ann\n")
        let address = try users.server.url.description
        #expect(login == Login(server: address, apiKey: "key-ann", deviceID: "d-1", deviceName: "desk"))
        #expect(try library.login(for: address) == login)
        #expect(
            users.lines == ["GET /api/sync/status", "POST /api/devices/register", "GET /api/devices"],
            "no login, which would void the key (trap 9)"
        )
        let sent = try #require(users.server.requests[1].json)
        #expect(sent["deviceName"] as? String == "[31m my desk")
        #expect(sent["platform"] as? String == "android")
        let token = try library.deviceToken(for: address, isRenewed: false)
        #expect(sent["fcmToken"] as? String == token)
        #expect(token.hasPrefix("mediactl-") && token.utf8.count == 45)
    }

    @Test("a later login uses the same device")
    func again() async throws {
        let users = try UserServer()
        let registration = try registration(users)
        let first = try await registration.logIn(apiKey: "key-ann")
        _ = try library.removeLogin(for: first.server)
        #expect(try await registration.logIn(apiKey: "key-ann") == first)
    }

    @Test("trap 10: another user's device is not used")
    func foreignToken() async throws {
        let users = try UserServer()
        let address = try users.server.url.description
        let token = try library.deviceToken(for: address, isRenewed: false)
        users.giveAway(token)
        let login = try await registration(users).logIn(apiKey: "key-ann")
        #expect(login.deviceID == "d-2")
        #expect(try library.deviceToken(for: address, isRenewed: false) != token)
    }

    @Test("a login fails if the server never lists the device")
    func unlisted() async throws {
        let users = try UserServer(failing: (path: "GET /api/devices", response: .init(body: "[]")))
        let registration = try registration(users)
        #expect(await photoSyncError { _ = try await registration.logIn(apiKey: "key-ann") }?.code == .invalidDevice)
        #expect(try library.logins().isEmpty)
    }

    @Test(
        "trap 8: a rejected key keeps the earlier login",
        arguments: [
            ("key-void", OutcomeCode.unauthorized, 1), ("", .unauthorized, 0), ("a b", .unauthorized, 0),
            ("key\r\nX-Evil: 1", .unauthorized, 0), ("schlüssel", .unauthorized, 0),
        ]
    )
    func refusedKey(key: String, code: OutcomeCode, requests: Int) async throws {
        let users = try UserServer()
        let earlier = Login(server: try users.server.url.description, apiKey: "key-bob", deviceID: "d-9")
        try library.keep(earlier)
        let registration = try registration(users)
        let error = await photoSyncError { _ = try await registration.logIn(apiKey: key) }
        #expect(error?.code == code)
        #expect(users.lines.count == requests)
        #expect(try library.login(for: earlier.server) == earlier)
    }

    @Test("a failed registration stores nothing")
    func failedRegistration() async throws {
        let users = try UserServer(failing: (path: "register", response: .text(500, "Failed to register device")))
        let registration = try registration(users)
        #expect(await photoSyncError { _ = try await registration.logIn(apiKey: "key-ann") }?.code == .serverError)
        #expect(try library.logins().isEmpty)
    }

    @Test("trap 9: a login by email address stores the new key, since the old one is void")
    func byAddress() async throws {
        let users = try UserServer()
        let login = try await registration(users).logIn(email: "Ann@Example.Test", password: "secret")
        #expect(login.apiKey == "key-new" && login.deviceID == "d-1" && login.email == "ann@example.test")
        #expect(try library.login(for: login.server) == login)
        #expect(users.server.requests.first?.json?["email"] as? String == "ann@example.test")
    }

    @Test("the new key is stored even if a later step fails")
    func byAddressHalfWay() async throws {
        let users = try UserServer(failing: (path: "GET /api/devices", response: .text(500, "Failed to list devices")))
        let registration = try registration(users)
        let error = await photoSyncError { _ = try await registration.logIn(email: "ann@example.test", password: "p") }
        #expect(error?.code == .serverError)
        let kept = try #require(try library.logins().first)
        #expect(kept.apiKey == "key-new" && kept.deviceID == nil)
        users.mend()
        #expect(try await registration.logIn(apiKey: kept.apiKey).deviceID == "d-1")
    }

    @Test("a malformed response to a login by email address loses neither the new key nor the device")
    func byAddressBroken() async throws {
        let broken = RecordingServer.Response(body: #"{"success":true,"apiKey":"key-bob","device":{"id":"#)
        let users = try UserServer(failing: (path: "auth/login", response: broken))
        let login = try await registration(users).logIn(email: "Bob@Example.Test", password: "p")
        #expect(login.apiKey == "key-bob" && login.deviceID == "d-1" && login.email == "bob@example.test")
        #expect(try library.login(for: login.server) == login)
    }

    @Test("with a login by email address, another user's device is replaced as well (trap 10)")
    func byAddressForeignToken() async throws {
        let users = try UserServer()
        users.giveAway(try library.deviceToken(for: users.server.url.description, isRenewed: false))
        let login = try await registration(users).logIn(email: "ann@example.test", password: "p")
        #expect(login.deviceID == "d-2" && login.apiKey == "key-new")
    }

    @Test("trap 9: a server that cannot rotate a second key changes nothing")
    func keyNotRotated() async throws {
        let users = try UserServer(failing: (path: "login", response: .text(500, "Failed to save API key")))
        let earlier = Login(server: try users.server.url.description, apiKey: "key-ann", deviceID: "d-9")
        try library.keep(earlier)
        let registration = try registration(users, retries: 3)
        let error = await photoSyncError { _ = try await registration.logIn(email: "ann@example.test", password: "p") }
        #expect(error?.code == .keyNotRotated)
        #expect(users.lines == ["POST /api/mobile/auth/login"])
        #expect(try library.login(for: earlier.server) == earlier)
    }

    @Test(
        "device names are ones that servers accept and other clients can display",
        arguments: [
            ("desk", "desk"), ("", "mediactl"), (" \t\r\n", "mediactl"), ("\u{0}\u{7f}\u{9b}", "mediactl"),
            (" Zoë's desk ", "Zoë's desk"), ("a\u{202e}b\u{2028}c\u{feff}", "abc"),
            (String(repeating: "é", count: 300), String(repeating: "é", count: 100)),
        ]
    )
    func names(name: String, cleaned: String) {
        #expect(DeviceName.cleaned(name) == cleaned)
    }
}
