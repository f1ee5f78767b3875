import Foundation
import MediaStore
import Synchronization
import TestSupport
import Testing

/// Plain http is exempt on loopback only, and a proxy is another machine: no credentials are sent through one.
@Suite struct ClearTextProxyTests {
    private static let password = "canary-PASSWORD-4711"
    private static let key = "canary-key-" + String(repeating: "5", count: 53)
    /// The form of a token of an event link.
    private static let guestToken = "canary_token_of_an_event_link_1234567890_ab"

    /// A proxy that records and rejects everything.
    private final class FakeProxy: Sendable {
        private final class Log: Sendable {
            let text = Mutex("")
        }

        private let log: Log
        let server: ScriptedServer

        var seen: String { log.text.withLock { $0 } }

        init() throws {
            let log = Log()
            self.log = log
            server = try ScriptedServer { connection, _ in
                while true {
                    let request = try connection.readRequest()
                    log.text.withLock { $0 += request.head + String(decoding: request.body, as: UTF8.self) }
                    try connection.respond(502, "<title>no</title>", type: "text/html")
                }
            }
        }
    }

    private static let variables = ["http_proxy", "all_proxy", "ALL_PROXY"]

    @Test(arguments: variables) func noCredentialsAreSentThroughAProxy(_ variable: String) async throws {
        let proxy = try FakeProxy()
        let server = try ScriptedServer { connection, _ in
            while true {
                _ = try connection.readRequest()
                try connection.respond(201, KnownFile.abc.response)
            }
        }
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
            var extra = [variable: proxy.server.address]
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
        let doctor = try await bench.runner.run(["doctor"] + bench.login, extra: [variable: proxy.server.address])
        #expect(doctor.exitCode != 0)
        let basic = Data("uploader:\(Self.password)".utf8).base64EncodedString()
        let seen = proxy.seen
        for secret in [Self.password, basic, Self.key, Self.guestToken, KnownFile.abc.token] {
            #expect(!seen.contains(secret), "\(variable) got \(secret)")
        }
        #expect(try bench.tokens().count == 1)
    }

    /// With permission, the proxy receives the login, which shows that the other test would detect one.
    @Test func aProxyIsSentTheLoginOnlyWithPermission() async throws {
        let proxy = try FakeProxy()
        let server = try ScriptedServer { connection, _ in
            while true {
                _ = try connection.readRequest()
                try connection.respond(201, KnownFile.abc.response)
            }
        }
        // Both listen as long as they are referenced.
        defer { withExtendedLifetime((proxy, server)) {} }
        let bench = try Bench(server.address, password: Self.password)
        let extra = ["http_proxy": proxy.server.address]
        let list = ["media", "list", "--retries", "0"] + bench.login
        let allowed = try await bench.runner.run(list + ["--allow-http"], extra: extra)
        #expect(allowed.exitCode == 7, "\(allowed.errors)")
        let basic = Data("uploader:\(Self.password)".utf8).base64EncodedString()
        #expect(proxy.seen.contains(basic))

        let before = proxy.server.connectionCount
        for exception in ["127.0.0.1", "127.0.0.0/8", "*"] {
            let file = try bench.file("abc", name: "a.mp4")
            let result = try await bench.runner.run(
                ["upload", file, "--again"] + bench.login,
                extra: extra.merging(["no_proxy": exception]) { $1 }
            )
            #expect(result.exitCode == 0, "\(exception): \(result.errors)")
        }
        #expect(proxy.server.connectionCount == before)
    }

    /// Names that only look like an address may belong to any machine.
    @Test(arguments: ["127.0.0.1.5", "127.999.1.1", "127..1"]) func aNameIsNotLoopback(_ host: String) async throws {
        let bench = try Bench("http://\(host):9", password: Self.password)
        let result = try await bench.runner.run(["media", "list", "--no-input"] + bench.login)
        #expect(result.exitCode == 2, "\(result.errors)")
        #expect(result.errors.contains("refusing to send credentials to http://\(host):9 unencrypted"))
    }
}
