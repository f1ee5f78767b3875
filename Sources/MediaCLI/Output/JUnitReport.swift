internal import Foundation
internal import GigHive

/// Checks as a JUnit XML report, in the form that CI servers read: one suite, one test case a check.
struct JUnitReport: Sendable {
    /// Name of the suite.
    var suite: String
    /// The server's address, a property of the suite.
    var server: String
    var checks: [ServerCheck]
    var duration: Duration

    /// The document, UTF-8.
    var text: String {
        let failures = checks.count { $0.status == .failed }
        let skipped = checks.count { $0.status == .skipped }
        let suiteName = Self.escaped(suite)
        var lines = [
            #"<?xml version="1.0" encoding="UTF-8"?>"#,
            #"<testsuites name="\#(suiteName)" tests="\#(checks.count)" failures="\#(failures)" "#
                + #"skipped="\#(skipped)" errors="0" time="\#(Self.seconds(duration))">"#,
            #"  <testsuite name="\#(suiteName)" tests="\#(checks.count)" failures="\#(failures)" "#
                + #"skipped="\#(skipped)" errors="0" time="\#(Self.seconds(duration))">"#,
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
            let diagnosis = check.error.map { ErrorCatalogue.diagnosis(of: $0) }
            let message = escaped(diagnosis?.message ?? check.detail)
            let type = escaped(diagnosis?.code ?? "failed")
            return [
                head + ">",
                #"      <failure type="\#(type)" message="\#(message)">\#(escaped(check.detail))</failure>"#,
                "    </testcase>",
            ]
        }
    }

    /// Writes the report, replacing an earlier one.
    ///
    /// - Throws: `Diagnosis`.
    func write(to path: String) throws(Diagnosis) {
        do {
            try NewFile(replacing: RawArguments.bytes(of: path)).write(text)
        } catch {
            var diagnosis = error
            diagnosis.hint = "choose another file with --junit FILE"
            diagnosis.exitCode = .failure
            throw diagnosis
        }
    }

    private static func seconds(_ duration: Duration) -> String {
        let milliseconds = Formats.milliseconds(duration)
        let digits = String(milliseconds % 1000)
        return "\(milliseconds / 1000)." + String(repeating: "0", count: 3 - digits.count) + digits
    }

    /// Characters that XML 1.0 (section 2.2) does not allow become U+FFFD; the five special ones become references.
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
