import Foundation
import MediaStore
import TestSupport
import Testing

/// Invalid addresses, and servers that are unreachable or not trusted.
@Suite struct ServerAddressFaultTests {
    @Test(arguments: [
        (
            "http://uploader:canary@127.0.0.1:1",
            ExpectedFault(2, "invalid_setting", "contains a user name or a password", hint: "--password-file")
        ),
        (
            "https://media.example/db/upload.php",
            ExpectedFault(2, "invalid_setting", "must not contain a path", hint: "try https://media.example")
        ),
        (
            "ftp://media.example",
            ExpectedFault(2, "invalid_setting", "neither http nor https", hint: "https://media.example.org")
        ),
        ("https://", ExpectedFault(2, "invalid_setting", "is not an address", hint: "https://media.example.org")),
        ("h/path", ExpectedFault(2, "invalid_setting", "must not contain a path")),
        ("http://", ExpectedFault(2, "invalid_setting", "is not an address")),
        ("http://media.invalid", ExpectedFault(2, "usage", "http://media.invalid unencrypted", hint: "--allow-http")),
        // RFC 2606 section 2: .invalid never resolves.
        (
            "https://media.invalid",
            ExpectedFault(6, "unknown_host", "cannot resolve host", hint: "spelling of --server")
        ),
        (
            "http://127.0.0.1:1",
            ExpectedFault(6, "cannot_connect", "cannot connect to the server", hint: "check --server")
        ),
    ])
    func invalidAddress(_ address: String, _ fault: ExpectedFault) async throws {
        let fixture = try FaultFixture(address)
        let report = try await fixture.upload()
        report.expect(fault)
        #expect(!(report.result.output + report.result.errors).contains("canary"))
        #expect(try fixture.states() == (fault.exitCode == 6 ? [.failed] : []))
        #expect(try fixture.journal().first?.failureCode == (fault.exitCode == 6 ? fault.code : nil))
        #expect(report.failure?.retryable == true || fault.code != "cannot_connect")
    }

    @Test func serverThatNeverAcceptsTheConnection() async throws {
        let silent = try SilentListener()
        let fixture = try FaultFixture("http://127.0.0.1:\(silent.port)")
        let report = try await fixture.upload(["--connect-timeout", "0.3s"])
        report.expect(ExpectedFault(6, "network_timeout", "network timeout", hint: "--connect-timeout"))
        #expect(try fixture.states() == [.failed])
    }

    @Test func plainServerBehindHTTPS() async throws {
        let site = try ScriptedServer { connection, _ in
            try connection.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            connection.waitForClose()
        }
        let fixture = try FaultFixture("https://127.0.0.1:\(site.port)")
        let report = try await fixture.upload()
        report.expect(ExpectedFault(6, "tls_failed", "no secure connection", hint: "https server"))
        #expect(try fixture.states() == [.failed])
    }

    /// The pages that Apache and nginx return for plain HTTP on an HTTPS port.
    @Test(arguments: [
        """
        <html><head>\n<title>400 Bad Request</title>\n</head><body>\n<h1>Bad Request</h1>
        <p>Your browser sent a request that this server could not understand.<br />
        Reason: You're speaking plain HTTP to an SSL-enabled server port.<br />
        </p>\n</body></html>
        """,
        """
        <html>\n<head><title>400 The plain HTTP request was sent to HTTPS port</title></head>
        <body>\n<center><h1>400 Bad Request</h1></center>
        <center>The plain HTTP request was sent to HTTPS port</center>\n</body>\n</html>
        """,
    ])
    func plainRequestToAnHTTPSPort(page: String) async throws {
        let site = try ScriptedServer { connection, _ in
            _ = try connection.readRequest()
            try connection.write(
                "HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nContent-Length: \(page.utf8.count)\r\n"
                    + "Connection: close\r\n\r\n\(page)"
            )
            connection.waitForClose()
        }
        let runner = try BinaryRunner()
        let address = "http://127.0.0.1:\(site.port)"
        let clip = try runner.home.write("a.mp4", Data(repeating: 1, count: 100))
        let login = ["MEDIACTL_USER": "u", "MEDIACTL_PASSWORD": "p", "MEDIACTL_RETRIES": "0"]
        let key = ["MEDIACTL_API_KEY": String(repeating: "a", count: 64), "MEDIACTL_RETRIES": "0"]
        let commands: [(arguments: [String], variables: [String: String])] = [
            (["media", "list", "--server", address], login), (["upload", clip, "--server", address], login),
            (["doctor", "--server", address], login), (["sync", "--server", address], key),
            (["hash-only", "register", "--server", address], key),
            (["tapes", "library", "init", "--library-url", address], key),
        ]
        for (arguments, variables) in commands {
            let result = try await runner.run(arguments, extra: variables)
            let text = result.output + result.errors
            #expect(result.exitCode == 2, "\(arguments): \(text)")
            #expect(text.contains("this port requires https"), "\(arguments): \(text)")
            let hint = arguments[0] == "tapes" ? "check the address of the server" : "try https://"
            #expect(text.contains(hint), "\(arguments): \(text)")
        }
    }

    @Test func doctorShowsWhereAServerRedirects() async throws {
        let site = try ScriptedServer { connection, _ in
            _ = try connection.readRequest()
            try connection.write(
                "HTTP/1.1 301 Moved\r\nLocation: https://media.example.org/\r\nContent-Length: 0\r\n"
                    + "Connection: close\r\n\r\n"
            )
            connection.waitForClose()
        }
        let result = try await BinaryRunner().run(["doctor", "--server", "http://127.0.0.1:\(site.port)"])
        #expect(result.exitCode == 1, "\(result.output)")
        let text = "FAIL  kind      the server redirects this request (301): https://media.example.org/"
        #expect(result.output.contains(text), "\(result.output)")
        #expect(result.errors.contains("redirects are not followed"), "\(result.errors)")
    }

    @Test func unusableFileOfAuthorities() async throws {
        let runner = try BinaryRunner()
        let (missing, empty) = (runner.home.file("nosuch.pem"), runner.home.file("empty.pem"))
        try Data("no certificate\n".utf8).write(to: URL(fileURLWithPath: empty))
        let config = try runner.home.write("config.yaml", "cacert: nosuch.pem\n".utf8)
        let cases: [(flags: [String], variables: [String: String], text: String)] = [
            (["--cacert", missing], [:], "cannot read \"\(missing)\" (--cacert): no such file"),
            ([], ["MEDIACTL_CACERT": missing], "cannot read \"\(missing)\" (MEDIACTL_CACERT): no such file"),
            (["--config", config], [:], "cannot read \"\(missing)\" (cacert, \(config)): no such file"),
            (
                ["--cacert", runner.home.path], [:],
                "cannot read \"\(runner.home.path)\" (--cacert): is a directory"
            ),
            (["--cacert", empty], [:], "cannot use \"\(empty)\" (--cacert): it does not contain a certificate in PEM"),
        ]
        for (flags, variables, text) in cases {
            for command in [["media", "list"], ["doctor"]] {
                let address = ["--server", "https://127.0.0.1:1"]
                let result = try await runner.run(command + address + flags, extra: variables)
                #expect(result.exitCode == 2, "\(command): \(result.errors)")
                #expect(result.errors.contains("mediactl: error: \(text)"), "\(command): \(result.errors)")
            }
        }
    }

    /// The host in the address, and the options; CERTIFICATE is the server's. No key has the SHA-256 of empty input.
    @Test(arguments: [
        (
            "localhost", [],
            ExpectedFault(6, "certificate_untrusted", "certificate is not trusted", hint: "--cacert FILE")
        ),
        (
            "127.0.0.1", ["--cacert", "CERTIFICATE"],
            ExpectedFault(6, "certificate_name_mismatch", "certificate is for a different host", hint: "--pinned-key")
        ),
        (
            "localhost", ["--pinned-key", "sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="],
            ExpectedFault(6, "pinned_key_mismatch", "is not the pinned one", hint: "confirm with")
        ),
    ])
    func serverThatIsNotTrusted(_ host: String, _ options: [String], _ fault: ExpectedFault) async throws {
        let server = try await SelfSignedServer()
        let fixture = try FaultFixture("https://\(host):\(server.port)")
        let report = try await fixture.upload(options.map { $0.replacing("CERTIFICATE", with: server.certificate) })
        report.expect(fault)
        #expect(report.failure?.hint?.contains("--insecure") == false)
        #expect(try fixture.states() == [.failed])
        #expect(try fixture.journal().first?.failureCode == fault.code)
    }
}
