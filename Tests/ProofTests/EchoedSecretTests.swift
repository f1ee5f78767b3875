import Foundation
import Synchronization
import TestSupport
import Testing

/// Error pages that repeat their request, credentials included: no secret in them is printed or stored.
@Suite struct EchoedSecretTests {
    private static let user = "uploader"
    /// Each kind of escape changes a part of the password.
    private static let password = #"canary-pa"ss/wö&rd+%41<1"#
    private static let basic = Data("\(user):\(password)".utf8).base64EncodedString()
    private static let key = "canary-key-" + String(repeating: "5", count: 53)

    /// The content of an error page: the request as received, and each secret decoded and in each common form.
    private static func echo(_ head: String, _ body: [UInt8], _ secret: String) -> String {
        let request = head.replacing("\r\n", with: " ") + String(decoding: body.prefix(2000), as: UTF8.self)
        return "bad: " + forms(of: secret).joined(separator: ", ") + " in the request " + request
    }

    private static func forms(of secret: String) -> [String] {
        let unreserved = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-._~"))
        let url = secret.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
        let html = secret.replacing("&", with: "&amp;").replacing("\"", with: "&quot;").replacing("<", with: "&lt;")
        return [secret, url, String(quoted(secret).dropFirst().dropLast()), html]
    }

    private static func quoted(_ text: String) -> String {
        let data = try? JSONSerialization.data(withJSONObject: [text])
        return String(decoding: (data ?? Data()).dropFirst().dropLast(), as: UTF8.self)
    }

    /// A server that handles some requests and repeats all others in an error page.
    private static func server(
        status: Int = 400,
        type: String = "application/json",
        secret: String = password,
        _ page: @escaping @Sendable (String) -> String,
        handling: @escaping @Sendable (String, ScriptedServer.Connection) throws -> Bool = { _, _ in false }
    ) throws -> ScriptedServer {
        try ScriptedServer { connection, _ in
            while true {
                let request = try connection.readRequest()
                if try handling(request.head, connection) { continue }
                try connection.respond(status, page(echo(request.head, request.body, secret)), type: type)
            }
        }
    }

    @Sendable private static func gigHivePage(_ echo: String) -> String {
        #"{"error":"Bad Request","message":\#(quoted(echo))}"#
    }

    /// Runs a command as text, with traces, and as JSON. The page must be in the output, masked.
    private func expectMasked(
        by server: ScriptedServer,
        password: String = password,
        extra: [String: String] = [:],
        secrets: [String] = [password, basic],
        _ command: (Bench) async throws -> [String]
    ) async throws {
        // The server listens as long as it is referenced.
        defer { withExtendedLifetime(server) {} }
        let bench = try Bench(server.address, password: password)
        let command = try await command(bench)
        for options in [[], ["-vv"], ["--json", "-vv"]] {
            let result = try await bench.runner.run(command + options + ["--no-input"], extra: extra)
            #expect(result.exitCode != 0)
            let written = result.output + result.errors
            #expect(written.contains("***"), "\(command): \(written)")
            for form in secrets.flatMap(Self.forms) {
                #expect(!written.contains(form.trimmingCharacters(in: ["="])), "\(command + options): \(written)")
            }
            // A truncated text must not end with a part of a secret.
            #expect(!written.contains("canary-"), "\(command + options): \(written)")
        }
        let files = bench.files(containing: "canary-")
        #expect(files.allSatisfy { $0.contains("rescue-") }, "\(command): \(files)")
        if let junit = command.firstIndex(of: "--junit") {
            let report = FileManager.default.contents(atPath: command[junit + 1]) ?? Data()
            #expect(report.range(of: Data("***".utf8)) != nil)
        }
        if secrets.contains(KnownFile.abc.token) {
            let shown = try await bench.runner.run(["uploads", "list", "--show-token", "--json"])
            let token = shown.items.first?["delete_token"] as? String
            #expect(token == KnownFile.abc.token, "a requested token is not masked")
        }
    }

    @Test(arguments: ["application/json", "text/html"]) func multipart(_ type: String) async throws {
        let server = try Self.server(
            type: type,
            { type == "text/html" ? "<title>\($0)</title>" : Self.gigHivePage($0) }
        )
        try await expectMasked(by: server) { ["upload", try $0.file(), "--transport", "multipart"] + $0.login }
    }

    @Test func tus() async throws {
        let server = try Self.server(type: "text/plain", { $0 }) { head, connection in
            guard head.hasPrefix("OPTIONS /files") else { return false }
            let fields = ["Tus-Resumable: 1.0.0", "Tus-Version: 1.0.0", "Tus-Extension: creation,termination"]
            try connection.respond(200, "", headers: fields)
            return true
        }
        try await expectMasked(by: server) {
            ["upload", try $0.file(), "--transport", "tus", "--retries", "0"] + $0.login
        }
    }

    @Test func finalize() async throws {
        let server = try Self.server(Self.gigHivePage) { head, connection in
            let fields = ["Tus-Resumable: 1.0.0", "Tus-Version: 1.0.0", "Tus-Extension: creation,termination"]
            switch head.prefix(while: { $0 != " " }) {
            case "OPTIONS": try connection.respond(200, "", headers: fields)
            case "POST" where head.hasPrefix("POST /files"):
                try connection.respond(
                    201,
                    "",
                    headers: fields + ["Location: /files/0123456789abcdef0123456789abcdef"]
                )
            case "PATCH":
                try connection.write("HTTP/1.1 204 No Content\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 3\r\n\r\n")
            case "HEAD" where head.hasPrefix("HEAD /files"):
                try connection.write(
                    "HTTP/1.1 200 OK\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 3\r\nUpload-Length: 3\r\n\r\n"
                )
            default: return false
            }
            return true
        }
        try await expectMasked(by: server) {
            ["upload", try $0.file(), "--transport", "tus", "--again", "--retries", "0"] + $0.login
        }
    }

    @Test func listing() async throws {
        let server = try Self.server(Self.gigHivePage)
        try await expectMasked(by: server) { ["media", "list"] + $0.login }
    }

    @Test func deletion() async throws {
        final class Once: Sendable {
            let isOver = Atomic(false)
        }
        let once = Once()
        let server = try Self.server(Self.gigHivePage) { head, connection in
            guard head.hasPrefix("POST /api/uploads"), !once.isOver.exchange(true, ordering: .relaxed) else {
                return false
            }
            try connection.respond(201, KnownFile.abc.response)
            return true
        }
        try await expectMasked(by: server, secrets: [Self.password, Self.basic, KnownFile.abc.token]) { bench in
            let file = try bench.file()
            let upload = try await bench.runner.run(["upload", file, "--transport", "multipart"] + bench.login)
            #expect(upload.exitCode == 0, "\(upload.errors)")
            return ["uploads", "delete", "18", "--yes", "--retries", "0"] + bench.login
        }
    }

    @Test func doctor() async throws {
        let server = try Self.server(Self.gigHivePage) { head, connection in
            guard head.hasPrefix("GET /db/health.php") else { return false }
            let message = Self.quoted(Self.echo(head, [], Self.password))
            try connection.respond(200, #"{"status":"error","message":\#(message)}"#)
            return true
        }
        try await expectMasked(by: server) { ["doctor"] + $0.login }
    }

    @Test func smoke() async throws {
        let server = try Self.server(Self.gigHivePage)
        try await expectMasked(by: server) {
            ["smoke", "--junit", $0.runner.home.file("smoke.xml"), "--retries", "0"] + $0.login
        }
    }

    @Test(arguments: ["application/json", "text/plain"]) func sync(_ type: String) async throws {
        let isJSON = type == "application/json"
        let server = try Self.server(type: type, secret: Self.key, { isJSON ? #"{"error":\#(Self.quoted($0))}"# : $0 })
        for command in [["sync"], ["sync", "status"]] {
            let extra = ["MEDIACTL_API_KEY": Self.key]
            try await expectMasked(by: server, password: "", extra: extra, secrets: [Self.key]) { _ in
                command + ["--server", server.address, "--retries", "0"]
            }
        }
    }

    @Test func photoLogin() async throws {
        let server = try Self.server(status: 401, { #"{"error":\#(Self.quoted($0))}"# })
        try await expectMasked(by: server, secrets: [Self.password]) { _ in
            ["login", "--email", "a@example.test", "--yes", "--server", server.address, "--retries", "0"]
        }
    }

    @Test func tapes() async throws {
        let server = try Self.server(secret: Self.key, { #"{"message":\#(Self.quoted($0)),"statusCode":400}"# })
        for command in [["tapes", "library", "status"], ["tapes", "library", "init"]] {
            let extra = ["MEDIACTL_API_KEY": Self.key]
            try await expectMasked(by: server, password: "", extra: extra, secrets: [Self.key]) { _ in
                command + ["--library-url", server.address, "--retries", "0"]
            }
        }
    }

    /// Captures do not require a login, but the password of a proxy is a secret as well.
    @Test func hashOnlyThroughAProxy() async throws {
        let proxyPassword = "canary-proxy-pw%21"
        let server = try Self.server(secret: proxyPassword) {
            #"{"error":{"code":"BROKEN","message":\#(Self.quoted($0))}}"#
        }
        let basic = Data("ann:canary-proxy-pw!".utf8).base64EncodedString()
        try await expectMasked(
            by: server,
            password: "",
            extra: ["http_proxy": "http://ann:\(proxyPassword)@127.0.0.1:\(server.port)"],
            secrets: [proxyPassword, "canary-proxy-pw!", basic]
        ) { _ in
            ["hash-only", "register", "--server", "http://captures.example.test", "--allow-http", "--retries", "0"]
        }
    }

    /// The token of an event link in the address of the request.
    @Test func guest() async throws {
        let token = "canary_token_of_an_event_link_1234567890_ab"
        let server = try Self.server(secret: token, Self.gigHivePage)
        let secrets = try TemporaryDirectory()
        let link = try secrets.write("link", "\(server.address)/upload/\(token)\n".utf8)
        chmod(link, 0o600)
        try await expectMasked(by: server, password: "", secrets: [token]) {
            ["upload", try $0.file(), "--event-link-file", link, "--accept-terms", "--retries", "0"]
        }
    }
}
