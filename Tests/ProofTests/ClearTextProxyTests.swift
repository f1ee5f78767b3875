import Foundation
import MediaStore
import TestSupport
import Testing

/// Plain http is exempt on loopback only, and a proxy is another machine: no credentials are sent through one.
@Suite struct ClearTextProxyTests {
    private static let password = "canary-PASSWORD-4711"
    private static let key = "canary-key-" + String(repeating: "5", count: 53)
    /// The form of a token of an event link.
    private static let guestToken = "canary_token_of_an_event_link_1234567890_ab"

    /// A proxy that rejects everything.
    private static func rejectingProxy() throws -> RecordingServer {
        try RecordingServer(.init(status: 502, body: "<title>no</title>", type: "text/html"))
    }

    /// Everything that a server has received.
    private static func received(_ server: RecordingServer) -> String {
        server.requests.map { $0.head + String(decoding: $0.body, as: UTF8.self) }.joined()
    }

    private static let variables = ["http_proxy", "all_proxy", "ALL_PROXY"]

    @Test(arguments: variables) func noCredentialsAreSentThroughAProxy(_ variable: String) async throws {
        let proxy = try Self.rejectingProxy()
        let server = try RecordingServer(.init(status: 201, body: KnownFile.abc.response))
        // Both listen as long as they are referenced.
        defer { withExtendedLifetime((proxy, server)) {} }
        let bench = try Bench(server.address, password: Self.password)
        let file = try bench.file()
        let first = try await bench.runner.run(["upload", file] + bench.login)
        #expect(first.exitCode == 0, "\(first.errors)")
        let link = try bench.runner.home.write("link", "\(server.address)/upload/\(Self.guestToken)\n".utf8)
        chmod(link, 0o600)
        let other = try bench.file(KnownFile.twoBlocks.content, name: "two.mp4")

        let commands: [[String]] = [
            ["upload", other] + bench.login, ["uploads", "delete", "18", "--yes"] + bench.login,
            ["media", "list"] + bench.login, ["smoke"] + bench.login,
            ["upload", other, "--event-link-file", link, "--accept-terms"],
            ["login", "--api-key-stdin", "--server", server.address],
            ["sync", "--server", server.address],
            ["tapes", "library", "init", "--library-url", server.address],
            ["login", "--email", "a@b.test", "--password-stdin", "--yes", "--server", server.address],
        ]
        for command in commands {
            var extra = [variable: proxy.address]
            if ["sync", "tapes"].contains(command[0]) {
                extra["MEDIACTL_API_KEY"] = Self.key
                extra["MEDIACTL_PASSWORD"] = ""
            }
            let input = command.contains("--api-key-stdin") ? Self.key : Self.password
            let result = try await bench.runner.run(command + ["--no-input"], input: input, extra: extra)
            #expect(result.exitCode == 2, "\(command): \(result.output)\(result.errors)")
            #expect(
                result.errors.contains("unencrypted through the proxy set by \(variable)"),
                "\(command): \(result.errors)"
            )
            #expect(result.errors.contains("no_proxy"), "\(command)")
        }
        let doctor = try await bench.runner.run(["doctor"] + bench.login, extra: [variable: proxy.address])
        #expect(doctor.exitCode != 0)
        let basic = Data("uploader:\(Self.password)".utf8).base64EncodedString()
        let seen = Self.received(proxy)
        for secret in [Self.password, basic, Self.key, Self.guestToken, KnownFile.abc.token] {
            #expect(!seen.contains(secret), "\(variable) got \(secret)")
        }
        #expect(try bench.tokens().count == 1)
    }

    /// With permission, the proxy receives the login, which shows that the other test would detect one.
    @Test func aProxyIsSentTheLoginOnlyWithPermission() async throws {
        let proxy = try Self.rejectingProxy()
        let server = try RecordingServer(.init(status: 201, body: KnownFile.abc.response))
        // Both listen as long as they are referenced.
        defer { withExtendedLifetime((proxy, server)) {} }
        let bench = try Bench(server.address, password: Self.password)
        let extra = ["http_proxy": proxy.address]
        let list = ["media", "list", "--retries", "0"] + bench.login
        let allowed = try await bench.runner.run(list + ["--allow-http"], extra: extra)
        #expect(allowed.exitCode == 7, "\(allowed.errors)")
        let basic = Data("uploader:\(Self.password)".utf8).base64EncodedString()
        #expect(Self.received(proxy).contains(basic))

        let before = proxy.requests.count
        for exception in ["127.0.0.1", "127.0.0.0/8", "*"] {
            let file = try bench.file("abc", name: "a.mp4")
            let result = try await bench.runner.run(
                ["upload", file, "--again"] + bench.login,
                extra: extra.merging(["no_proxy": exception]) { $1 }
            )
            #expect(result.exitCode == 0, "\(exception): \(result.errors)")
        }
        #expect(proxy.requests.count == before)
    }

    /// Names that only look like an address may belong to any machine.
    @Test(arguments: ["127.0.0.1.5", "127.999.1.1", "127..1"]) func aNameIsNotLoopback(_ host: String) async throws {
        let bench = try Bench("http://\(host):9", password: Self.password)
        let result = try await bench.runner.run(["media", "list", "--no-input"] + bench.login)
        #expect(result.exitCode == 2, "\(result.errors)")
        #expect(result.errors.contains("refusing to send credentials to http://\(host):9 unencrypted"))
    }
}
