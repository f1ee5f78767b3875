import Foundation
import TestSupport
import Testing

/// A server with a self-signed certificate: the prompt at the first contact, and its effects.
@Suite("First contact with a self-signed server", .timeLimit(.minutes(4)))
struct FirstContactTests {
    let fixture: Fixture

    init() async throws { fixture = try await Fixture() }

    /// A machine, a sandbox behind TLS, and the file of known servers.
    struct Fixture {
        let sandbox: SandboxProcess
        let proxy: ReverseProxy
        var runner: BinaryRunner
        var server: String { proxy.address(host: "localhost") }
        var known: String { runner.home.file("config/mediactl/known_servers") }
        var settings: String { runner.home.file("config/mediactl/config.yaml") }

        init() async throws {
            sandbox = try await SandboxProcess.start()
            proxy = try await ReverseProxy(before: sandbox.baseURL)
            runner = try BinaryRunner()
            runner.environment.merge([
                "MEDIACTL_SERVER": server, "MEDIACTL_USER": "uploader", "MEDIACTL_PASSWORD": "uploader",
                "no_proxy": "*", "MEDIACTL_RETRIES": "0",
            ]) { $1 }
        }

        func file(_ content: String, name: String = "clip.mp4") throws -> String {
            try runner.home.write(name, content.utf8)
        }

        func setKnown(_ text: String) throws {
            try makeDirectory(runner.home.file("config/mediactl"))
            try Data(text.utf8).write(to: URL(fileURLWithPath: known))
        }
    }

    @Test("confirming stores the origin and the pin, and later commands use them")
    func yes() async throws {
        let settings = "# as the user wrote it\nserver: \(fixture.server)\n"
        try fixture.setKnown("")
        try Data(settings.utf8).write(to: URL(fileURLWithPath: fixture.settings))
        let child = try fixture.runner.start(
            ["upload", try fixture.file("one")],
            streams: .terminal(columns: 200)
        )
        try await child.respond(to: "Trust this server? [y/N] ", with: "y\n")
        let result = try await child.finish()
        #expect(result.exitCode == 0, "\(result.output)")
        #expect(result.output.contains(fixture.proxy.pin) && result.output.contains("subject:"))
        #expect(result.output.contains("valid:") && result.output.contains("fingerprint:"))
        #expect(
            try String(contentsOfFile: fixture.known, encoding: .utf8) == "\(fixture.server) \(fixture.proxy.pin)\n"
        )
        var status = stat()
        #expect(stat(fixture.known, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(try String(contentsOfFile: fixture.settings, encoding: .utf8) == settings)
        // Without a terminal, and without any option.
        let later = try await fixture.runner.run(["upload", try fixture.file("two", name: "two.mp4")])
        #expect(later.exitCode == 0, "\(later.errors)")
    }

    @Test("any response other than yes stores nothing and sends nothing", arguments: ["n\n", "\n"])
    func no(response: String) async throws {
        let child = try fixture.runner.start(["upload", try fixture.file("one")], streams: .terminal(columns: 200))
        try await child.respond(to: "Trust this server? [y/N] ", with: response)
        #expect(try await child.finish().exitCode == 6)
        #expect(!FileManager.default.fileExists(atPath: fixture.known))
        #expect(try await fixture.sandbox.requests().isEmpty)
    }

    @Test("Ctrl-C at the prompt exits with 130 and prints no error")
    func interrupt() async throws {
        let child = try fixture.runner.start(["upload", try fixture.file("one")], streams: .terminal(columns: 200))
        try await child.signal(SIGINT, after: "Trust this server? [y/N] ")
        let result = try await child.finish()
        #expect(result.exitCode == 130 && !result.output.contains("error:"))
    }

    @Test("without a terminal, and with --no-input, there is no prompt", arguments: [true, false])
    func noPromptWithoutATerminal(isTerminal: Bool) async throws {
        let result = try await fixture.runner.run(
            ["upload", try fixture.file("one"), "--no-input"],
            streams: isTerminal ? .terminal(columns: 200) : .pipes
        )
        #expect(result.exitCode == 6 && !(result.output + result.errors).contains("[y/N]"))
        #expect((result.output + result.errors).contains("hint: use --cacert FILE"))
        #expect(!FileManager.default.fileExists(atPath: fixture.known))
    }

    @Test("a changed key is refused with both pins and the line to remove")
    func changedKey() async throws {
        let old = "sha256//" + String(repeating: "A", count: 43) + "="
        try fixture.setKnown("\(fixture.server) \(old)\n")
        for streams in [ChildStreams.pipes, .terminal(columns: 400)] {
            let result = try await fixture.runner.run(["upload", try fixture.file("one")], streams: streams)
            let text = result.output + result.errors
            #expect(result.exitCode == 6 && text.contains(old) && text.contains(fixture.proxy.pin), "\(text)")
            #expect(text.contains("remove the line for \(fixture.server) from \(fixture.known)"))
            #expect(!text.contains("[y/N]"))
        }
        #expect(try await fixture.sandbox.requests().isEmpty)
    }

    @Test("an explicit option takes precedence over the known pin")
    func explicit() async throws {
        try fixture.setKnown("\(fixture.server) sha256//\(String(repeating: "A", count: 43))=\n")
        for (number, options) in [
            ["--pinned-key", fixture.proxy.pin], ["--cacert", fixture.proxy.authority], ["--insecure"],
        ].enumerated() {
            let file = try fixture.file("file \(number)", name: "\(number).mp4")
            let result = try await fixture.runner.run(["upload", file] + options)
            #expect(result.exitCode == 0, "\(options): \(result.errors)")
        }
    }

    @Test("a malformed line is an error that includes its number")
    func malformed() async throws {
        try fixture.setKnown("# servers\n\(fixture.server)\n")
        let result = try await fixture.runner.run(["upload", try fixture.file("one")])
        #expect(result.exitCode == 2 && result.errors.contains("\(fixture.known):2: must be an origin and its pin"))
        #expect(try await fixture.sandbox.requests().isEmpty)
    }

    @Test("--insecure prints one warning, and doctor reports the server as unverified")
    func insecure() async throws {
        let upload = try await fixture.runner.run(["upload", try fixture.file("one"), "--insecure"])
        #expect(upload.exitCode == 0)
        #expect(upload.errors.components(separatedBy: "is not verified (--insecure)").count == 2, "\(upload.errors)")
        let doctor = try await fixture.runner.run(["doctor", "--json", "--insecure"])
        let tls = try doctor.records().first { $0["name"] as? String == "tls" }
        #expect(tls?["status"] as? String == "warned")
        #expect((tls?["detail"] as? String)?.hasPrefix("not verified (--insecure): ") == true)
        #expect(doctor.errors.components(separatedBy: "warning:").count == 2, "\(doctor.errors)")
    }

    @Test("the pin or exemption of one server does not apply to another")
    func otherServer() async throws {
        var fixture = fixture
        let upload = try await fixture.runner.run(["upload", try fixture.file("one"), "--insecure"])
        #expect(upload.exitCode == 0)
        // From here on, the environment is for a different server, and the entry's own server has its own credentials.
        let netrc = fixture.runner.home.path + "-netrc"
        try Data("machine localhost login uploader password uploader\n".utf8).write(to: URL(fileURLWithPath: netrc))
        chmod(netrc, 0o600)
        defer { try? FileManager.default.removeItem(atPath: netrc) }
        fixture.runner.environment["NETRC"] = netrc
        fixture.runner.environment["MEDIACTL_SERVER"] = "https://127.0.0.1:9"
        let host = "localhost:\(fixture.proxy.port)"
        for options in [["--insecure"], ["--pinned-key", fixture.proxy.pin]] {
            let result = try await fixture.runner.run(["uploads", "delete", "1", "--host", host, "--yes"] + options)
            #expect(result.exitCode == 6 && result.errors.contains("certificate is not trusted"), "\(result.errors)")
        }
    }

    @Test(
        "options of hash-only retry and verify apply to the server of the capture",
        arguments: ["", "https://127.0.0.1:9"]
    )
    func serverOfCaptures(configured: String) async throws {
        var fixture = fixture
        fixture.runner.environment["MEDIACTL_SERVER"] = configured
        let trust = ["--cacert", fixture.proxy.authority]
        let registered = try await fixture.runner.run(["hash-only", "register", "--server", fixture.server] + trust)
        #expect(registered.exitCode == 0, "\(registered.errors)")
        let photo = try fixture.file("a photo", name: "photo.jpg")
        let send = ["hash-only", "send", photo, "--media-type", "photo", "--no-depth", "--server", fixture.server]
        #expect(try await fixture.runner.run(send).exitCode == 6)
        let refused = try await fixture.runner.run(["hash-only", "retry", "--all"])
        #expect(refused.exitCode == 6 && refused.errors.contains("hint: use --cacert FILE"), "\(refused.errors)")
        let retried = try await fixture.runner.run(["hash-only", "retry", "--all"] + trust)
        #expect(retried.exitCode == 0, "\(retried.errors)")
        let verified = try await fixture.runner.run(["hash-only", "verify", photo] + trust)
        #expect(verified.exitCode == 0, "\(verified.errors)")
    }

    @Test("doctor prints the pin every time, and the command that works with it")
    func doctorHint() async throws {
        for _ in 0..<30 {
            let result = try await fixture.runner.run(["doctor"])
            #expect(result.output.contains(fixture.proxy.pin))
            let command = "mediactl doctor --server \(fixture.server) --pinned-key '\(fixture.proxy.pin)'"
            #expect(result.errors.contains(command))
        }
        let works = try await fixture.runner.run([
            "doctor", "--server", fixture.server, "--pinned-key", fixture.proxy.pin,
        ])
        #expect(works.exitCode == 0, "\(works.output)")
    }
}
