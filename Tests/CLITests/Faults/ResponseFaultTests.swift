import Foundation
import MediaStore
import MediaTransport
import TestSupport
import Testing

@testable import MediaCLI

/// The possible responses to an upload (gighive contract 2.5): each is reported, and the file is sent only once.
@Suite struct ResponseFaultTests {
    /// A response and its meaning.
    struct Row: Sendable, CustomTestStringConvertible {
        var status: Int
        var body: String
        var type = "application/json"
        var headers: [String] = []
        let fault: ExpectedFault
        var testDescription: String { "\(status) \(type)" }

        /// A JSON response from the application.
        init(_ status: Int, _ body: String, _ fault: ExpectedFault) {
            self.status = status
            self.body = body
            self.fault = fault
        }

        /// An error page from the web server.
        init(page status: Int, _ title: String, headers: [String] = [], _ fault: ExpectedFault) {
            self.status = status
            body = ScriptedSite.page(title)
            type = "text/html; charset=iso-8859-1"
            self.headers = headers
            self.fault = fault
        }
    }

    static let refusals: [Row] = [
        Row(
            400,
            #"{"error":"Bad Request","message":"Label is required"}"#,
            ExpectedFault(2, "bad_request", "the server refused the request (400): Label is required")
        ),
        // Trap T2: a wrong role looks the same.
        Row(
            page: 401,
            "401 Unauthorized",
            ExpectedFault(
                4,
                "unauthorized",
                "wrong user name or password, or missing permission",
                hint: "as uploader or admin"
            )
        ),
        Row(403, #"{"error":"Forbidden"}"#, ExpectedFault(4, "forbidden", "does not allow this (403): Forbidden")),
        Row(page: 404, "404 Not Found", ExpectedFault(5, "not_found", "(404)", hint: "check --server")),
        Row(
            page: 408,
            "408 Request Timeout",
            ExpectedFault(6, "request_timeout", "timed out reading the request (408)")
        ),
        // Trap T4: two kinds of 413, and neither always means the size.
        Row(
            413,
            #"{"error":"Payload Too Large","message":"Upload exceeds the limit"}"#,
            ExpectedFault(2, "payload_too_large", "too large, or as malformed (413): Upload exceeds the limit")
        ),
        Row(
            page: 413,
            "413 Request Entity Too Large",
            ExpectedFault(2, "payload_too_large", "the web server refused the size", hint: "1 GiB")
        ),
        Row(page: 415, "415 Unsupported Media Type", ExpectedFault(2, "unsupported_media", "this type of file (415)")),
        Row(423, #"{"error":"Locked"}"#, ExpectedFault(10, "locked", "on the server (423)", hint: "retry later")),
        Row(
            page: 429,
            "429 Too Many Requests",
            headers: ["Retry-After: 7"],
            ExpectedFault(6, "rate_limited", "rate limited by the server (429)", hint: "retry in 7 s")
        ),
        // A redirect is not followed: credentials and file would go to a different address.
        Row(
            page: 307,
            "307 Temporary Redirect",
            headers: ["Location: https://elsewhere.example/api/uploads.php"],
            ExpectedFault(1, "redirected", "https://elsewhere.example/api/uploads.php", hint: "not followed")
        ),
    ]

    /// After the whole body, these responses do not show whether the file was stored: the listing is queried, and does
    /// not contain the file.
    static let breakdowns: [Row] = [
        Row(
            500,
            #"{"error":"Server Error","message":"SQLSTATE[HY000] [2002] Connection refused"}"#,
            ExpectedFault(7, "server_error", "the server failed (500): SQLSTATE[HY000]", hint: "retry later")
        ),
        Row(page: 502, "502 Bad Gateway", ExpectedFault(7, "server_error", "the server failed (502)")),
        Row(
            page: 503,
            "503 Service Unavailable",
            headers: ["Retry-After: 1"],
            ExpectedFault(7, "server_unavailable", "server unavailable (503)", hint: "to continue: mediactl upload ")
        ),
        Row(page: 504, "504 Gateway Timeout", ExpectedFault(7, "server_error", "(504)")),
        Row(
            201,
            #"{"id":"#,
            ExpectedFault(7, "unexpected_answer", "unexpected response from the server (201)", hint: "check --server")
        ),
        Row(page: 200, "It works!", ExpectedFault(7, "unexpected_answer", "(200)", hint: "may come from a proxy")),
    ]

    @Test(arguments: refusals + breakdowns)
    func leavesAFailedUploadAndOneRequest(_ row: Row) async throws {
        let site = try ScriptedSite(respondingWith: row.status, row.body, type: row.type, headers: row.headers)
        let fixture = try FaultFixture(site.address)
        let report = try await fixture.upload()
        report.expect(row.fault)
        #expect(report.failure?.httpStatus == row.status)
        #expect(site.posts == 1)
        #expect(try fixture.states() == [.failed])
        #expect(try fixture.journal().first?.failureCode == row.fault.code)
        #expect(try fixture.journal().first?.httpStatus == row.status)
        #expect(try fixture.tokens().isEmpty)
        #expect(report.items.map(\.hasDeleteToken) == [false])
    }

    /// Nothing at the address confirms or denies the file: the address is wrong, or the server stores files and then
    /// redirects.
    @Test func aServerThatRedirectsEverything() async throws {
        let location = "Location: https://elsewhere.example/"
        let site = try ScriptedSite(
            posts: { connection, head in
                try connection.readBody(of: head)
                try connection.respond(301, "", type: "text/html", headers: [location])
            },
            queries: { connection, head in
                let length = head.hasPrefix("HEAD ") ? "" : "Content-Length: 0\r\n"
                try connection.write("HTTP/1.1 301 Moved Permanently\r\n\(length)\(location)\r\n\r\n")
            }
        )
        let fixture = try FaultFixture(site.address)
        let expected = ExpectedFault(
            6,
            "unknown_outcome",
            "redirects this request (301); whether it has the file is unknown: https://elsewhere.example/",
            hint: "specify it with --server"
        )
        try await fixture.upload().expect(expected)
        #expect(try fixture.states() == [.unknownOutcome])
        let status = try await fixture.runner.run(["uploads", "status"] + fixture.login)
        #expect(status.exitCode == 6 && status.errors.contains("redirects this request (301)"), "\(status)")
        #expect(site.posts == 1)
    }

    /// The server refuses the file as a duplicate of one that it does not have.
    @Test(arguments: ["existing_asset_id", "existing_file_id"])
    func duplicateThatTheServerDoesNotHave(_ key: String) async throws {
        let body = #"{"error":"Duplicate Upload","message":"Already there","\#(key)":8,"checksum_sha256":"ab"}"#
        let site = try ScriptedSite(respondingWith: 409, body)
        let fixture = try FaultFixture(site.address)
        let report = try await fixture.upload()
        #expect(report.result.exitCode != 0)
        #expect(try report.item().hasDeleteToken == false)
        #expect(!report.result.errors.contains("no delete token was discovered"))
        #expect(try fixture.states().allSatisfy { !$0.isStored })
        #expect(site.posts == 1)
    }

    @Test func duplicateOfOtherBytes() async throws {
        let other = String(repeating: "0f", count: 32)
        let body = #"{"error":"Duplicate Upload","existing_asset_id":8,"checksum_sha256":"\#(other)"}"#
        let site = try ScriptedSite(respondingWith: 409, body)
        let fixture = try FaultFixture(site.address)
        try await fixture.upload().expect(ExpectedFault(7, "unexpected_answer", other))
        #expect(try fixture.states() == [.failed])
    }

    /// Without retries there is no wait either, not even in the check for the file.
    @Test(.timeLimit(.minutes(1))) func aRateLimitFailsWithoutRetries() async throws {
        let limited = { @Sendable (connection: ScriptedServer.Connection, head: String) in
            try connection.readBody(of: head)
            let body = head.hasPrefix("HEAD ") ? "" : "{}"
            try connection.respond(429, body, headers: ["Retry-After: 3600"])
        }
        let site = try ScriptedSite(posts: limited, queries: limited)
        var fixture = try FaultFixture(site.address)
        fixture.runner.environment["MEDIACTL_SETTLE_TIMEOUT"] = nil
        let listing = try await fixture.runner.run(["media", "list"] + fixture.login)
        #expect(listing.exitCode == 6 && listing.errors.contains("rate limited by the server (429)"))
        let other = try fixture.movie("other.mp4")
        let report = try await fixture.upload([other])
        #expect(report.result.exitCode == 6, "\(report.result.errors)")
        #expect(report.items.map(\.state) == ["unknown_outcome", "failed"])
        #expect(report.result.errors.contains("rate limited by the server (429)"))
        #expect(site.posts == 1)
    }

    @Test func aLongWaitIsReported() throws {
        let console = try TestConsole()
        let waits = WaitReport(console.console())
        for (status, delay, requested) in [(429, 120, 3600), (429, 119, 3600), (503, 4, 4)] {
            waits.report(WaitNotice(status: status, delay: .seconds(delay), requested: .seconds(requested)))
        }
        #expect(console.errors == "mediactl: note: the server requests a wait of 1 h (429); retrying in 2 min\n")
        let quiet = try TestConsole()
        WaitReport(quiet.console(OutputPreferences(isQuiet: true)))
            .report(WaitNotice(status: 429, delay: .seconds(120), requested: .seconds(3600)))
        #expect(quiet.errors.isEmpty)
        let failure = WaitNotice(status: 502, delay: .seconds(9), requested: nil)
        #expect(WaitReport.message(failure) == "the server failed (502); retrying in 9 s")
    }

    /// These responses come before the body, so nothing was stored, and they are temporary: the file may be sent again.
    @Test(arguments: ["upload:early-status=429,times=1,retry-after=1", "upload:early-status=503,times=1"])
    func isRetriedWhereThatIsSafe(_ fault: String) async throws {
        let sandbox = try await SandboxProcess.start(faults: [fault])
        let fixture = try FaultFixture(sandbox.baseURL, byteCount: 8_000_000)
        let report = try await fixture.upload(["--retries", "1"])
        report.expectSuccess("done")
        #expect(try report.item().attempts == 2)
        #expect(try sandbox.storedFiles().count == 1)
        #expect(try fixture.tokens().count == 1)
    }

    /// With 100-continue, no body is sent before a rejection.
    @Test(arguments: [
        (401, ExpectedFault(4, "unauthorized", "wrong user name or password, or missing permission")),
        (413, ExpectedFault(2, "payload_too_large", "the web server refused the size")),
    ])
    func responseBeforeTheBodyIsRead(_ status: Int, _ fault: ExpectedFault) async throws {
        let sandbox = try await SandboxProcess.start(faults: ["upload:early-status=\(status)"])
        let fixture = try FaultFixture(sandbox.baseURL, byteCount: 8_000_000)
        let report = try await fixture.upload(["--transport", "multipart"])
        report.expect(fault)
        #expect(try report.item().bytesSent == 0)
        #expect(try await sandbox.posts() == 1)
        #expect(try sandbox.storedFiles().isEmpty)
        #expect(try fixture.states() == [.failed])
    }

    @Test func wrongPasswordAndWrongRoleLookTheSame() async throws {
        let sandbox = try await SandboxProcess.start()
        let fixture = try FaultFixture(sandbox.baseURL)
        let message = "login failed (401): wrong user name or password"
        let expected = ExpectedFault(4, "unauthorized", message, hint: "--user")
        let wrongPassword = try await fixture.upload(extra: ["MEDIACTL_PASSWORD": "canary"])
        wrongPassword.expect(expected)
        #expect(wrongPassword.failure?.hint?.hasPrefix("log in as uploader or admin") == true)
        #expect(!(wrongPassword.result.output + wrongPassword.result.errors).contains("canary"))
        let wrongRole = try await fixture.upload(["--user", "viewer"], extra: ["MEDIACTL_PASSWORD": "viewer"])
        wrongRole.expect(expected)
        #expect(try sandbox.storedFiles().isEmpty)
        #expect(try fixture.states() == [.failed, .failed])
    }

    /// The token is stored, but a file whose bytes the server cannot have read completely is not reported as a success.
    @Test func successBeforeTheBodyIsRead() async throws {
        let site = try ScriptedSite(receiveBuffer: 65_536) { connection, _ in
            try connection.respond(201, ScriptedSite.success, headers: ["Connection: close"])
            connection.waitForClose()
        }
        let fixture = try FaultFixture(site.address, byteCount: 24_000_000)
        let report = try await fixture.upload(["--retries", "3"])
        report.expect(ExpectedFault(7, "unexpected_answer", "responded before the whole file was sent"))
        #expect(try fixture.states() == [.failed])
        #expect(try fixture.tokens().map(\.fileID) == [18])
        #expect(site.posts == 1)
    }

    /// The request is repeated once without 100-continue for a server that does not support it (RFC 9110 section
    /// 10.1.1).
    @Test func expectationThatFails() async throws {
        let site = try ScriptedSite { connection, head in
            guard !head.lowercased().contains("expect:") else {
                return try connection.respond(417, "", headers: ["Connection: close"])
            }
            try connection.readBody(of: head)
            try connection.respond(201, ScriptedSite.success)
        }
        let fixture = try FaultFixture(site.address, byteCount: 1_000_000)
        let report = try await fixture.upload()
        report.expectSuccess("done")
        #expect(site.posts == 2)
        #expect(try fixture.tokens().count == 1)
    }

    @Test func noPasswordAndNoTerminal() async throws {
        let site = try ScriptedSite()
        var fixture = try FaultFixture(site.address)
        fixture.runner.environment["MEDIACTL_PASSWORD"] = nil
        let report = try await fixture.upload()
        report.expect(ExpectedFault(4, "no_credentials", "password", hint: "MEDIACTL_PASSWORD"))
        #expect(site.connections == 0)
        #expect(try fixture.states().isEmpty)
    }
}
