import Foundation
import Synchronization
import TestSupport
import Testing

@testable import MediaTransport

/// Which responses mean that a server requires a login, the requests sent afterwards, and where secrets are printed.
@Suite struct LoginRequirementTests {
    // MARK: The response

    struct Case: Sendable, CustomTestStringConvertible {
        var fields: [HTTPHeader] = []
        var body = ""
        var challenge: LoginChallenge?
        var status = 401
        var testDescription: String { "\(status) \(fields.map { "\($0.name): \($0.value)" }) \(body)" }
    }

    /// gighive-d4 contract sections 2 (observed) and 12 (drafts); the schemes according to RFC 9110 section 11.6.1.
    @Test(arguments: [
        Case(fields: [challenge(#"Basic realm="GigHive Upload""#)], body: "<html>", challenge: .password),
        Case(fields: [challenge(#"Basic realm="x""#), json], body: #"{"error":"x"}"#, challenge: .password),
        Case(fields: [challenge(#"Bearer realm="x", basic realm="y""#)], challenge: .password),
        Case(fields: [challenge("Bearer"), challenge("Basic")], challenge: .password),
        Case(body: "<html><title>401</title>", challenge: .password),
        Case(challenge: .password),
        Case(fields: [json], body: #"{"error":"unauthenticated"}"#, challenge: .login),
        Case(body: #"{"error":"unauthenticated"}"#, challenge: .login),
        Case(fields: [json], challenge: .login),
        Case(fields: [json], body: " {\"error\":\"unauth", challenge: .login),
        Case(fields: [json, HTTPHeader("Content-Length", "0")], challenge: .password),
        Case(fields: [json], body: "<title>401</title>", challenge: .password),
        Case(fields: [challenge("Bearer")], challenge: .login),
        Case(fields: [challenge(#"Bearer realm="Basic, or so", error="invalid_token""#)], challenge: .login),
        Case(fields: [challenge(#"Bearer realm="a \" Basic x", title = "y""#)], body: "<html>", challenge: .login),
        Case(fields: [json], body: #"{"error":"forbidden"}"#, status: 403),
        Case(fields: [json], body: "{}", status: 200),
    ])
    func aLoginIsDistinguishedFromAPassword(example: Case) {
        let head = HTTPResponseHead(status: example.status, headers: example.fields)
        #expect(LoginChallenge.of(head, body: Array(example.body.utf8)) == example.challenge)
    }

    private static let json = HTTPHeader("content-type", "application/json; charset=utf-8")
    private static func challenge(_ value: String) -> HTTPHeader { HTTPHeader("WWW-Authenticate", value) }

    // MARK: Requests sent

    /// A server that always sends this response, and the heads of the requests it received.
    private static func server(
        _ status: Int,
        _ body: String,
        _ fields: [String] = []
    ) throws -> (ScriptedServer, @Sendable () -> [String]) {
        let heads = Heads()
        let server = try ScriptedServer { connection, _ in
            while true {
                heads.add(try connection.readRequest().head)
                try connection.respond(status, body, headers: fields)
            }
        }
        return (server, { heads.all })
    }

    private func get(_ http: HTTPClient, _ server: ScriptedServer, _ authorization: Authorization) async
        -> TransportError?
    {
        await transportError { () async throws(TransportError) in
            guard let url = try? server.url() else { throw TransportError(.unusable) }
            return try await http.execute(HTTPRequest(.get, url, authorization: authorization, repeatability: .safe))
        }
    }

    @Test("no password is sent after a response that requires a login")
    func neverBasicAgain() async throws {
        let (server, heads) = try Self.server(401, #"{"error":"unauthenticated"}"#)
        let (other, otherHeads) = try Self.server(401, "<html>", [#"WWW-Authenticate: Basic realm="x""#])
        let added = Mutex<[Origin]>([])
        var configuration = HTTPClientConfiguration(retry: RetryPolicy(retries: 3, base: .zero))
        configuration.loginRequirements = LoginRequirements { origin in added.withLock { $0.append(origin) } }
        let http = try HTTPClient(configuration: configuration)
        let origin = try server.url().origin
        let basic = Authorization.basic(user: "u", password: "p", for: origin)
        #expect(await get(http, server, basic) == nil)
        for _ in 0..<3 {
            let error = await get(http, server, basic)
            #expect(error?.kind == .loginRequired(origin) && error?.isBeforeRequest == true)
        }
        #expect(heads().count == 1 && added.withLock { $0 } == [origin])
        // A password for another origin, and a login for this one, are sent.
        let elsewhere = Authorization.basic(user: "u", password: "p", for: try other.url().origin)
        for _ in 0..<2 { #expect(await get(http, other, elsewhere) == nil) }
        #expect(otherHeads().count == 2)
        #expect(await get(http, server, .bearer("t-1", expiresAt: nil, for: origin)) == nil)
        #expect(heads().last?.contains("Authorization: Bearer t-1\r\n") == true)
    }

    /// Eight requests are in progress when the first response arrives; none of their callers sends another one.
    @Test("parallel requests do not send a password after the first response")
    func parallel() async throws {
        let heads = Heads()
        let areAllThere = Gate()
        let server = try ScriptedServer { connection, _ in
            while true {
                if heads.add(try connection.readRequest().head) == 8 {
                    for _ in 0..<8 { areAllThere.open() }
                }
                areAllThere.wait()
                try connection.respond(401, #"{"error":"unauthenticated"}"#)
            }
        }
        let http = try client()
        let basic = Authorization.basic(user: "u", password: "p", for: try server.url().origin)
        let refused = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    var refused = 0
                    for _ in 0..<3 where await get(http, server, basic) != nil { refused += 1 }
                    return refused
                }
            }
            return await group.reduce(0, +)
        }
        #expect(heads.all.count == 8 && refused == 16)
    }

    @Test("the content of a 401 is examined even if a receiver reads it")
    func contentForAReceiver() async throws {
        let (server, heads) = try Self.server(401, #"{"error":"unauthenticated"}"#, ["Content-Type: text/html"])
        let http = try client()
        let basic = Authorization.basic(user: "u", password: "p", for: try server.url().origin)
        var request = HTTPRequest(.post, try server.url(), authorization: basic, repeatability: .atMostOnce)
        request.destination = .receiver(Receiver())
        let response = try await http.execute(request)
        #expect(response.head.refusal == .login(try server.url().origin))
        #expect(await get(http, server, basic)?.kind == .loginRequired(try server.url().origin))
        #expect(heads().count == 1)
    }

    @Test("a 401 about an upload token or an API key does not mean that passwords are refused")
    func otherSchemes() async throws {
        let (server, heads) = try Self.server(401, #"{"error":"Invalid or expired upload token"}"#)
        let http = try client()
        let origin = try server.url().origin
        for (authorization, refusal) in [
            (.uploadToken("t", for: origin), .uploadToken), (.apiKey("k", for: origin), .login(origin)),
        ] as [(Authorization, CredentialRefusal)] {
            let request = HTTPRequest(.get, try server.url(), authorization: authorization, repeatability: .safe)
            #expect(try await http.execute(request).head.refusal == refusal)
        }
        #expect(!http.configuration.loginRequirements.contains(origin))
        #expect(await get(http, server, .basic(user: "u", password: "p", for: origin)) == nil)
        #expect(heads().count == 3)
    }

    @Test("an expired login is not sent")
    func expiredLogin() async throws {
        let (server, heads) = try Self.server(200, "{}")
        let http = try client(retries: 2)
        let origin = try server.url().origin
        let now = Int64(Date().timeIntervalSince1970)
        let error = await get(http, server, .bearer("t-1", expiresAt: now - 1, for: origin))
        #expect(error?.kind == .loginExpired(origin, at: now - 1) && server.connectionCount == 0)
        #expect(await get(http, server, .bearer("t-1", expiresAt: now + 600, for: origin)) == nil)
        #expect(heads().count == 1)
    }

    @Test("a token is sent only to its own origin, and no redirect is followed")
    func originBound() async throws {
        let (elsewhere, otherHeads) = try Self.server(200, "{}")
        let (server, heads) = try Self.server(307, "", ["Location: \(elsewhere.address)/"])
        let http = try client()
        let authorizations = [
            Authorization.bearer("t-1", expiresAt: nil, for: try server.url().origin),
            .uploadToken("t-1", for: try server.url().origin),
        ]
        for authorization in authorizations { #expect(await get(http, server, authorization) == nil) }
        #expect(heads().count == 2 && heads().allSatisfy { $0.contains("t-1") } && otherHeads().isEmpty)
        for authorization in authorizations { #expect(await get(http, elsewhere, authorization) == nil) }
        #expect(otherHeads().count == 2 && otherHeads().allSatisfy { !$0.contains("t-1") })
    }

    // MARK: Disclosure

    @Test("no scheme shows its secret")
    func descriptions() throws {
        let origin = try ServerURL("https://media.example").origin
        let secret = "canary-4711"
        for authorization in [
            Authorization.basic(user: "ann", password: secret, for: origin), .apiKey(secret, for: origin),
            .bearer(secret, expiresAt: 1, for: origin), .uploadToken(secret, for: origin),
        ] {
            let request = HTTPRequest(
                .get,
                try ServerURL("https://media.example").resource("/"),
                authorization: authorization,
                repeatability: .safe
            )
            var texts = ["\(authorization)", String(reflecting: authorization), "\(request)"]
            for value in [authorization, request, [authorization]] as [Any] {
                var text = ""
                dump(value, to: &text)
                texts.append(text)
            }
            for text in texts { #expect(!text.contains(secret)) }
            #expect(["basic", "bearer", "upload_token", "api_key"].contains(authorization.schemeName))
        }
    }
}

private final class Heads: Sendable {
    private let heads = Mutex<[String]>([])
    var all: [String] { heads.withLock { $0 } }
    /// - Returns: The new number.
    @discardableResult func add(_ head: String) -> Int {
        heads.withLock { heads in
            heads.append(head)
            return heads.count
        }
    }
}

private final class Receiver: ResponseReceiver {
    func begin(_ head: HTTPResponseHead) {}
    func receive(_ bytes: UnsafeRawBufferPointer) {}
}
