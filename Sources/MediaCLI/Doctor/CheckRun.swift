internal import ArgumentParser
internal import Foundation
internal import GigHive
internal import MediaCore
internal import MediaTransport
internal import Synchronization

/// The options that `doctor` and `smoke` share.
struct CheckOptions: ParsableArguments {
    @Option("Maximum time for all checks (default: 60s).", value: "time")
    var timeout: String?

    @Option("Also write a JUnit XML report to this file.", value: .file)
    var junit: String?

    func validate() throws {
        try require(junit != "", "--junit: the path is empty.")
        try requireFile(junit, as: "the report of --junit")
    }

    func limit() throws(UserFacingError) -> Duration {
        try FlagValue.read(timeout, "--timeout", SettingValue.timeout) ?? .seconds(60)
    }
}

/// Runs a list of checks within a time limit, reports each as it finishes, and writes the JUnit report.
struct CheckRun: Sendable {
    typealias OnCheck = @Sendable (ServerCheck) -> Void

    let console: Console
    let server: String
    /// `doctor` or `smoke`.
    let suite: String
    let junit: String?

    /// Grace period after the time limit or a signal for the response to an upload whose last byte was sent.
    private static let finishTime = Duration.seconds(5)

    /// Runs `body`, which must return soon after its task is canceled. Checks in `names` without a result are reported
    /// as skipped. Returns the code of the first failure; without one, `network` after the time limit, otherwise
    /// success. A signal's code takes precedence.
    ///
    /// - Throws: `UserFacingError` if the report cannot be written; an unusable path is detected before the first
    ///   check.
    func run(
        names: [String],
        limit: Duration,
        _ body: @escaping @Sendable (TransferControl, @escaping OnCheck) async -> [ServerCheck]
    ) async throws -> ExitCode {
        let file = try junit.map { path throws(UserFacingError) in
            try NewFile(replacing: RawArguments.bytes(of: path), .junit)
        }
        try console.start(["server": .string(server), "items": JSONValue(names.count), "dry_run": .bool(false)])
        let began = console.context.elapsed()
        let reported = Mutex<[ServerCheck]>([])
        let timeout = Once()
        let timedOut = "timed out after \(Formats.span(limit))"
        let onCheck: OnCheck = { check in
            var check = check
            if timeout.hasBegun, check.error?.code == .cancelled {
                check.error = GigHiveError(.networkTimeout, detail: timedOut, isRetryable: true)
            }
            reported.withLock { $0.append(check) }
            report(check)
        }
        await make(within: limit, timeout) { await body($0, onCheck) }
        var checks = reported.withLock { $0 }
        let reason = timeout.hasBegun ? timedOut : "stopped"
        for name in names where !checks.contains(where: { $0.name == name }) {
            let check = ServerCheck(named: name, .skipped, reason)
            checks.append(check)
            report(check)
        }
        let duration = console.context.elapsed() - began
        let ending = console.ending(exitCode(checks, isOutOfTime: timeout.hasBegun))
        if timeout.hasBegun {
            console.error(UserFacingError(.networkTimeout, "not finished after \(Formats.span(limit))"))
        }
        for check in checks {
            if let remains = UserFacingError(remainsOf: check, on: server) {
                console.error(remains)
            }
        }
        let junitReport = JUnitReport(suite: "mediactl \(suite)", server: server, checks: checks, duration: duration)
        do {
            try file?.write(junitReport.text)
        } catch {
            var userFacingError = error
            userFacingError.exitCode = .failure
            throw userFacingError
        }
        return summarize(checks, duration, ending)
    }

    /// Runs the checks in a task that is canceled by a signal, or by the time limit, which also marks `timeout`.
    private func make(
        within limit: Duration,
        _ timeout: Once,
        _ body: @escaping @Sendable (TransferControl) async -> [ServerCheck]
    ) async {
        let control = TransferControl()
        let work = Task { await body(control) }
        let clock = Task {
            try await Task.sleep(for: limit)
            _ = timeout.begin()
            control.stop(finishWithin: Self.finishTime)
            work.cancel()
        }
        let onSignal = { @Sendable (request: Interruption.Request) in
            control.handle(request, finishWithin: Self.finishTime)
            work.cancel()
        }
        _ = await console.context.interruption.handling(onSignal) { await work.value }
        clock.cancel()
    }

    private func exitCode(_ checks: [ServerCheck], isOutOfTime: Bool) -> ExitCode {
        guard let failure = checks.first(where: { $0.status == .failed }) else {
            return isOutOfTime ? .network : .success
        }
        return failure.error.map { ExitCode($0.code) } ?? .server
    }

    // MARK: Messages

    private func report(_ check: ServerCheck) {
        var userFacingError = check.error.map { ErrorCatalog.userFacingError(of: $0) }
        if let pin = check.facts["pinned_key"], check.error?.code != .pinnedKeyMismatch, userFacingError != nil {
            userFacingError?.hint =
                "verify the pin with the operator, then: mediactl \(suite) --server \(ErrorCatalog.clean(server)) "
                + "--pinned-key '\(ErrorCatalog.clean(pin))'"
        }
        console.result(
            JSONRenderer.check(check, userFacingError),
            TextRenderer.check(check, userFacingError, width: console.outputWidth, console.outputStyle)
        )
        if let hint = userFacingError?.hint {
            console.announce(["mediactl: hint: \(hint)"])
        }
    }

    private func summarize(_ checks: [ServerCheck], _ duration: Duration, _ ending: Ending) -> ExitCode {
        func count(_ status: ServerCheck.Status) -> Int { checks.count { $0.status == status } }
        let code = ending.summary([
            "server": .string(server), "items": JSONValue(checks.count), "passed": JSONValue(count(.passed)),
            "warned": JSONValue(count(.warned)), "failed": JSONValue(count(.failed)),
            "skipped": JSONValue(count(.skipped)), "duration_ms": .integer(Formats.milliseconds(duration)),
        ])
        let warned = count(.warned) > 0 ? ", \(Formats.count(count(.warned), "warning"))" : ""
        let failed = count(.failed) > 0 ? ", \(count(.failed)) failed" : ""
        let skipped = count(.skipped) > 0 ? ", \(count(.skipped)) skipped" : ""
        console.note("\(count(.passed)) of \(checks.count) checks passed\(warned)\(failed)\(skipped)")
        return code
    }
}

extension UserFacingError {
    /// A file that a smoke test could not delete, with the command that deletes it; nil if there is no such file.
    fileprivate init?(remainsOf check: ServerCheck, on server: String) {
        guard let id = check.facts["left_file_id"] else { return nil }
        let event = [check.facts["left_event_date"], check.facts["left_org_name"]].compactMap { $0 }
        let asAdmin = check.facts["left_checksum_sha256"].map { " --as-admin --sha256 \($0)" } ?? ""
        self.init(
            .leftOnServer,
            "the test file is still on the server: \(id), in the event of \(event.joined(separator: ", "))",
            hint: "mediactl uploads delete \(id)\(asAdmin) --server \(server)"
        )
    }
}

extension JSONRenderer {
    static func check(_ check: ServerCheck, _ userFacingError: UserFacingError?) -> JSONObject {
        let facts = check.facts.sorted { $0.key < $1.key }
            .map { JSONValue.object(["name": .string($0.key), "value": .string($0.value)]) }
        return [
            "name": .string(check.name), "status": .string(check.status.rawValue), "detail": .string(check.detail),
            "facts": .array(facts), "duration_ms": .integer(Formats.milliseconds(check.duration)),
            "error": .error(userFacingError),
        ]
    }
}

extension TextRenderer {
    /// `ok    tls      CN=media.example.org, valid until …`
    static func check(
        _ check: ServerCheck,
        _ userFacingError: UserFacingError?,
        width: Int?,
        _ style: Style
    ) -> [String] {
        let word =
            switch check.status {
            case .passed: style.green("ok  ")
            case .warned: style.yellow("warn")
            case .failed: style.red("FAIL")
            case .skipped: style.dim("skip")
            }
        let name = check.name.padding(toLength: 8, withPad: " ", startingAt: 0)
        // The role is more informative than the server's error message.
        let found = check.facts["role"] == nil ? userFacingError?.message : nil
        let detail = ErrorCatalog.clean(found ?? check.detail)
        let indent = String(repeating: " ", count: 16)
        // The text is not wrapped to 12 columns or fewer.
        let room = width.map { $0 - indent.count } ?? .max
        let parts = room > 12 ? WordWrap.lines(detail, width: room) : [detail]
        var lines = ["\(word)  \(name)  \(parts[0])"] + parts.dropFirst().map { indent + $0 }
        if check.name == "tls", let pin = check.facts["pinned_key"] {
            lines.append("      \(style.dim("pin"))       \(ErrorCatalog.clean(pin))")
        }
        return lines
    }
}

/// A JUnit XML report of checks, in the format read by CI servers: one suite, with one test case per check.
struct JUnitReport: Sendable {
    var suite: String
    /// Address of the server, written as a property of the suite.
    var server: String
    var checks: [ServerCheck]
    var duration: Duration

    var text: String {
        let failures = checks.count { $0.status == .failed }
        let skipped = checks.count { $0.status == .skipped }
        let suiteName = Self.escaped(suite)
        let counts =
            #"name="\#(suiteName)" tests="\#(checks.count)" failures="\#(failures)" "#
            + #"skipped="\#(skipped)" errors="0" time="\#(Self.seconds(duration))""#
        var lines = [
            #"<?xml version="1.0" encoding="UTF-8"?>"#, "<testsuites \(counts)>", "  <testsuite \(counts)>",
            #"    <properties><property name="server" value="\#(Self.escaped(server))"/></properties>"#,
        ]
        lines += checks.flatMap { Self.testCase($0, suite: suiteName) }
        lines += ["  </testsuite>", "</testsuites>", ""]
        return lines.joined(separator: "\n")
    }

    private static func testCase(_ check: ServerCheck, suite: String) -> [String] {
        let head =
            #"    <testcase classname="\#(suite)" name="\#(escaped(check.name))" time="\#(seconds(check.duration))""#
        switch check.status {
        case .passed, .warned:
            return [head + ">", "      <system-out>\(escaped(check.detail))</system-out>", "    </testcase>"]
        case .skipped:
            return [head + ">", #"      <skipped message="\#(escaped(check.detail))"/>"#, "    </testcase>"]
        case .failed:
            let userFacingError = check.error.map { ErrorCatalog.userFacingError(of: $0) }
            let message = escaped(userFacingError?.message ?? check.detail)
            let type = escaped(userFacingError?.code ?? "failed")
            return [
                head + ">",
                #"      <failure type="\#(type)" message="\#(message)">\#(escaped(check.detail))</failure>"#,
                "    </testcase>",
            ]
        }
    }

    private static func seconds(_ duration: Duration) -> String {
        let milliseconds = Formats.milliseconds(duration)
        return "\(milliseconds / 1000).\((milliseconds % 1000).padded(3))"
    }

    /// The five special characters, tabs and line breaks become references; other control characters, U+FFFE and
    /// U+FFFF, most of which XML 1.0 (section 2.2) does not allow, become U+FFFD.
    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&apos;"
            case "\t", "\n", "\r": escaped += "&#\(scalar.value);"
            case "\u{0}"..."\u{1f}", "\u{7f}"..."\u{9f}", "\u{fffe}", "\u{ffff}": escaped += "\u{fffd}"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
