import Foundation
import MediaStore
import Synchronization
import TestSupport
import Testing

/// Settings for server A are not used for a server B from the store, the journal, a report, an import or a response.
///
/// Server A is set in the environment. All requests to B are searched for A's password in any form.
@Suite(.timeLimit(.minutes(4))) struct OtherServerTests {
    static let canaryOfA = "canary-of-server-A"
    static let canaryOfB = "canary-of-server-B"

    /// Every request that a listener received, and whether PATCH requests are interrupted.
    final class Watched: Sendable {
        private let state = Mutex<(heads: [String], cuts: Bool)>(([], false))

        var heads: [String] { state.withLock { $0.heads } }
        func clear() { state.withLock { $0.heads = [] } }
        func add(_ head: String) { state.withLock { $0.heads.append(head) } }
        var cutsUploads: Bool {
            get { state.withLock { $0.cuts } }
            set { state.withLock { $0.cuts = newValue } }
        }

        /// Logins of the requests.
        var logins: [String] {
            heads.flatMap { head in
                head.split(separator: "\r\n").filter { $0.lowercased().hasPrefix("authorization: basic ") }.map {
                    line in
                    let encoded = line.split(separator: " ").last.map(String.init) ?? ""
                    return String(decoding: Data(base64Encoded: encoded) ?? Data(), as: UTF8.self)
                }
            }
        }
    }

    /// A server that accepts uploads over tus and in one request, deletes, and responds to queries; its uploads have
    /// an address on `elsewhere`.
    static func server(_ watched: Watched, elsewhere: String) throws -> ScriptedServer {
        try ScriptedServer { connection, _ in
            while true {
                let (head, _) = try connection.readRequest()
                watched.add(head)
                let words = head.split(separator: " ")
                let path = words.count > 1 ? words[1].split(separator: "?").first.map(String.init) ?? "" : ""
                let tus = "Tus-Resumable: 1.0.0"
                switch (words.first, path) {
                case ("OPTIONS", _):
                    try connection.respond(204, "", headers: [tus, "Tus-Version: 1.0.0", "Tus-Extension: creation"])
                case ("POST", "/files/"):
                    try connection.respond(201, "", headers: [tus, "Location: \(elsewhere)/files/0123456789abcdef"])
                case ("PATCH", _) where watched.cutsUploads: return
                case ("PATCH", _): try connection.respond(204, "", headers: [tus, "Upload-Offset: 3"])
                case ("HEAD", _) where path.hasPrefix("/files/"):
                    try connection.write("HTTP/1.1 200 OK\r\n\(tus)\r\nUpload-Offset: 0\r\nUpload-Length: 3\r\n\r\n")
                case ("POST", _) where path.hasPrefix("/api/uploads"):
                    try connection.respond(201, KnownFile.abc.response)
                case ("POST", _): try connection.respond(200, deletedResponse(KnownFile.abc.id))
                case ("GET", "/db/database.php"): try connection.respond(200, KnownFile.listing(of: [.abc]))
                case ("GET", "/db/health.php"): try connection.respond(200, #"{"status":"ok","message":"fine"}"#)
                default: try connection.respond(404, #"{"error":"Not Found"}"#)
                }
            }
        }
    }

    /// The local state about B before a command.
    enum Past: String, Sendable {
        /// An upload over tus that was interrupted.
        case interrupted
        /// A stored token.
        case uploaded
        /// A token from another machine.
        case imported
        /// A report with a failed upload.
        case report
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var past: Past
        /// `ID` stands for the upload in the journal, `HOST` for B's host, `B` for its address.
        var arguments: [String]
        /// Whether the command sends requests to B if there are credentials for B.
        var requestsB = true

        var testDescription: String { "\(past.rawValue): \(arguments.joined(separator: " "))" }
    }

    static let cases = [
        Case(past: .interrupted, arguments: ["uploads", "resume", "--all"]),
        Case(past: .interrupted, arguments: ["uploads", "resume", "ID"]),
        Case(past: .interrupted, arguments: ["uploads", "resume", "--host", "HOST"]),
        Case(past: .interrupted, arguments: ["uploads", "status"], requestsB: false),
        Case(past: .interrupted, arguments: ["uploads", "discard", "ID", "--yes"]),
        Case(past: .interrupted, arguments: ["uploads", "discard", "ID", "--yes", "--even-unreachable"]),
        Case(past: .uploaded, arguments: ["uploads", "delete", "18", "--host", "HOST", "--yes"]),
        Case(past: .uploaded, arguments: ["uploads", "delete", "18", "--host", "HOST", "--yes", "--as-admin"]),
        Case(past: .uploaded, arguments: ["uploads", "delete", "--last", "--host", "HOST", "--yes"]),
        Case(past: .imported, arguments: ["uploads", "delete", "18", "--host", "HOST", "--yes"]),
        Case(past: .report, arguments: ["upload", "--retry-failed", "report.json"], requestsB: false),
    ]

    /// A, B and a third server that B's responses refer to, and a machine with data about B.
    struct Fixture {
        let a = Watched()
        let b = Watched()
        let c = Watched()
        let servers: (a: ScriptedServer, b: ScriptedServer, c: ScriptedServer)
        private let secrets: TemporaryDirectory
        var bench: Bench
        var host: String { "127.0.0.1:\(servers.b.port)" }

        init() throws {
            secrets = try TemporaryDirectory()
            let third = try OtherServerTests.server(c, elsewhere: "")
            servers = (
                try OtherServerTests.server(a, elsewhere: ""), try OtherServerTests.server(b, elsewhere: third.address),
                third
            )
            bench = try Bench(servers.a.address, password: OtherServerTests.canaryOfA)
            bench.runner.environment["MEDIACTL_SERVER"] = servers.a.address
            bench.runner.environment["MEDIACTL_USER"] = "uploader"
            bench.runner.environment["MEDIACTL_RETRIES"] = "0"
            bench.runner.environment["MEDIACTL_SETTLE_TIMEOUT"] = "0.1"
            // The smallest size: an interrupted larger chunk is sent again in smaller ones, however few retries there
            // are.
            bench.runner.environment["MEDIACTL_CHUNK_SIZE"] = "64K"
        }

        /// A file that only its owner can read, outside the home directory, whose files are searched for secrets.
        func secretFile(_ name: String, _ text: String) throws -> String {
            let path = try secrets.write(name, text.utf8)
            chmod(path, 0o600)
            return path
        }

        func loginOfB() throws -> [String] {
            let password = try secretFile("b", OtherServerTests.canaryOfB)
            return ["--server", servers.b.address, "--user", "b-user", "--password-file", password]
        }

        /// Creates the data about B, with B's own credentials.
        func make(_ past: Past) async throws {
            let login = try loginOfB()
            let file = try bench.file()
            b.cutsUploads = past == .interrupted
            switch past {
            case .interrupted:
                let result = try await bench.runner.run(["upload", file, "--transport", "tus"] + login)
                #expect(result.exitCode != 0)
            case .uploaded, .imported:
                #expect(try await bench.runner.run(["upload", file, "--transport", "multipart"] + login).exitCode == 0)
                if past == .imported {
                    let tokens = bench.runner.home.file("tokens.jsonl")
                    let exported = try await bench.runner.run(["uploads", "export", "--output", tokens])
                    #expect(exported.exitCode == 0)
                    try FileManager.default.removeItem(atPath: bench.dataPath)
                    #expect(try await bench.runner.run(["uploads", "import", tokens]).exitCode == 0)
                }
            case .report:
                let report = bench.runner.home.file("report.json")
                b.cutsUploads = true
                let result = try await bench.runner.run(
                    ["upload", file, "--transport", "tus", "--report", report] + login
                )
                #expect(result.exitCode != 0)
            }
            b.cutsUploads = false
            #expect(b.logins.contains("b-user:\(OtherServerTests.canaryOfB)"))
            for watched in [a, b, c] { watched.clear() }
        }

        func run(_ arguments: [String]) async throws -> ChildResult {
            let id = try bench.journal().first?.uploadID ?? ""
            let words = arguments.map { word in
                switch word {
                case "ID": id
                case "HOST": host
                case "B": servers.b.address
                case "report.json": bench.runner.home.file("report.json")
                default: word
                }
            }
            return try await bench.runner.run(words)
        }

        func expectNoStrayLogin(_ result: ChildResult) {
            for watched in [b, c] {
                for head in watched.heads {
                    #expect(!head.contains(OtherServerTests.canaryOfA))
                }
                for login in watched.logins { #expect(!login.contains(OtherServerTests.canaryOfA), "\(login)") }
            }
            #expect(c.heads.isEmpty, "an address in a response does not select another server")
            #expect(!(result.output + result.errors).contains("canary"))
        }
    }

    @Test(arguments: cases) func thePasswordOfAServerIsNotSentElsewhere(_ each: Case) async throws {
        let fixture = try Fixture()
        try await fixture.make(each.past)
        let result = try await fixture.run(each.arguments)
        fixture.expectNoStrayLogin(result)
        #expect(fixture.b.logins.isEmpty, "B has no credentials here")
        guard each.requestsB else { return }
        let text = result.errors + result.output
        #expect(text.contains("no credentials for \(fixture.servers.b.address)") || result.exitCode == 0, "\(text)")
        #expect(text.contains("--server \(fixture.servers.b.address)") || result.exitCode == 0, "\(text)")
    }

    /// Flags apply to the server of the same command: with `--server A`, they are not used for B.
    @Test(arguments: cases) func flagsApplyToTheServerOfTheCommand(_ each: Case) async throws {
        let fixture = try Fixture()
        try await fixture.make(each.past)
        let secret = try fixture.secretFile("a", Self.canaryOfA)
        var arguments = each.arguments + ["--user", "uploader", "--password-file", secret]
        if each.arguments[1] != "delete" { arguments += ["--server", fixture.servers.a.address] }
        fixture.expectNoStrayLogin(try await fixture.run(arguments))
        #expect(fixture.b.logins.isEmpty)
    }

    /// B's own credentials are used, from a profile that is not the default and from netrc.
    @Test(arguments: cases.filter(\.requestsB), [true, false])
    func theServersOwnCredentialsAreUsed(_ each: Case, fromProfile: Bool) async throws {
        var fixture = try Fixture()
        try await fixture.make(each.past)
        if fromProfile {
            let directory = fixture.bench.runner.home.file("config/mediactl")
            try makeDirectory(directory)
            let text = """
                profiles:
                  b: {server: "\(fixture.servers.b.address)", user: b-user, password_command: [printf, "%s-of-server-B", canary]}
                """
            try Data(text.utf8).write(to: URL(fileURLWithPath: directory + "/config.yaml"))
        } else {
            let entry = "machine 127.0.0.1 login b-user password \(Self.canaryOfB)\n"
            fixture.bench.runner.environment["NETRC"] = try fixture.secretFile("netrc", entry)
        }
        let result = try await fixture.run(each.arguments)
        fixture.expectNoStrayLogin(result)
        #expect(!fixture.b.logins.isEmpty && fixture.b.logins.allSatisfy { $0 == "b-user:\(Self.canaryOfB)" })
    }

    /// A `default` entry in netrc applies only to the command's server.
    @Test func theDefaultEntryOfNetrcAppliesToTheServerOfTheCommand() async throws {
        var fixture = try Fixture()
        try await fixture.make(.uploaded)
        let entry = "default login uploader password \(Self.canaryOfA)\n"
        fixture.bench.runner.environment["NETRC"] = try fixture.secretFile("netrc", entry)
        fixture.bench.runner.environment["MEDIACTL_PASSWORD"] = nil
        let result = try await fixture.run(["uploads", "delete", "18", "--host", "HOST", "--yes"])
        #expect(result.exitCode == 4 && fixture.b.heads.isEmpty)
        fixture.expectNoStrayLogin(result)
    }

    /// The command in the hint works when pasted into a terminal: it prompts for the user name and password for B.
    @Test func theHintWorksWhenPasted() async throws {
        let fixture = try Fixture()
        try await fixture.make(.uploaded)
        let refused = try await fixture.run(["uploads", "delete", "18", "--host", "HOST", "--yes"])
        #expect(refused.exitCode == 4 && fixture.b.heads.isEmpty)
        let hint = refused.errors.split(separator: "\n").first { $0.contains("hint: mediactl ") }
        let words = try #require(
            hint?.components(separatedBy: "hint: mediactl ").last?.split(separator: " ").map(String.init)
        )
        let child = try fixture.bench.runner.start(words + ["--yes"], streams: .terminal(columns: 200))
        try await child.respond(to: "User name for \(fixture.servers.b.address): ", with: "b-user\n")
        try await child.wait(for: "Password for b-user at \(fixture.servers.b.address): ")
        child.write("\(Self.canaryOfB)\n")
        let result = try await child.finish()
        #expect(result.exitCode == 0)
        #expect(fixture.b.logins.allSatisfy { $0 == "b-user:\(Self.canaryOfB)" } && !fixture.b.logins.isEmpty)
    }

    /// A redirect or an upload address on another server does not send a login there.
    @Test func anAddressInAResponseGetsNoRequest() async throws {
        let fixture = try Fixture()
        let upload = ["upload", try fixture.bench.file(), "--transport", "tus"]
        let result = try await fixture.run(upload + fixture.loginOfB())
        #expect(fixture.b.heads.contains { $0.hasPrefix("PATCH /files/0123456789abcdef") })
        fixture.expectNoStrayLogin(result)
    }
}
