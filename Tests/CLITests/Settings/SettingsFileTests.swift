import Foundation
import TestSupport
import Testing

@testable import MediaCLI

@Suite struct SettingsFileTests {
    struct Refusal: Sendable, CustomTestStringConvertible {
        var text: String
        var line: Int?
        var key: String?
        var value: String?
        /// A part of the hint or of the rule.
        var excerpt: String
        var testDescription: String { text }

        init(_ text: String, line: Int? = nil, key: String? = nil, value: String? = nil, _ excerpt: String) {
            (self.text, self.line, self.key, self.value, self.excerpt) = (text, line, key, value, excerpt)
        }
    }

    static let refusals: [Refusal] = [
        Refusal(
            "profiles:\n  work:\n    profiles: {}",
            line: 3,
            key: "profiles.work.profiles",
            "misspelled security setting"
        ),
        Refusal("retries: many", line: 1, key: "retries", value: "many", "whole number"),
        Refusal("retries: -1", line: 1, key: "retries", value: "-1", "whole number"),
        Refusal("\n\nstall_timeout: -5", line: 3, key: "stall_timeout", value: "-5", "duration"),
        Refusal("limit_rate: 5 MB", line: 1, key: "limit_rate", value: "5 MB", "bytes"),
        Refusal("max_bytes: 0", line: 1, key: "max_bytes", value: "0", "above 0"),
        Refusal("insecure: 1", line: 1, key: "insecure", value: "1", "true or false"),
        Refusal("user: yes", line: 1, key: "user", value: "yes", "quote"),
        Refusal("user:", line: 1, key: "user", "no value"),
        Refusal("user: ''", line: 1, key: "user", value: "", "empty"),
        Refusal("user: [a, b]", line: 1, key: "user", "single value"),
        Refusal("color: blue", line: 1, key: "color", value: "blue", "auto, always, never"),
        Refusal("pinned_key: abc", line: 1, key: "pinned_key", value: "abc", "sha256//"),
        Refusal("server: ftp://a", line: 1, key: "server", value: "ftp://a", "neither http nor https"),
        // URLs of photo servers may have a path; those of upload servers may not.
        Refusal("uploads_url: https://a/api", line: 1, key: "uploads_url", value: "https://a/api", "https://a"),
        // An invalid value is refused even in a profile that is not in use.
        Refusal(
            "profiles:\n  idle:\n    retries: x",
            line: 3,
            key: "profiles.idle.retries",
            value: "x",
            "whole number"
        ),
        // Secrets are refused, and not repeated.
        Refusal("server: https://u:canary@a", line: 1, key: "server", "user name or a password"),
        Refusal("password: canary", line: 1, key: "password", "password_command"),
        Refusal("profiles:\n  a:\n    api-key: canary", line: 3, key: "profiles.a.api-key", "password_command"),
        Refusal("server: a\npassword_command: pass show canary", line: 2, key: "password_command", "list"),
        Refusal("server: a\npassword_command: []", line: 2, key: "password_command", "list"),
        Refusal("password_command: [pass]", key: "password_command", "profile"),
        // Unknown settings.
        Refusal("- a\n- b", line: 1, "must contain settings"),
        Refusal("just words", line: 1, "must contain settings"),
        Refusal("profiles: [a]", line: 1, key: "profiles", "must contain names"),
        Refusal("profiles:\n  a: 3", line: 2, key: "profiles.a", "must contain settings"),
        Refusal("server: [a\nuser: b", line: 2, "is not valid YAML"),
        Refusal("user: a\nuser: b", line: 1, key: "user", "is set twice"),
        Refusal("a: 1\n---\nb: 2", line: 2, "is not valid YAML"),
    ]

    @Test(arguments: refusals) func invalidSettingsAreRefused(refusal: Refusal) async throws {
        let error = await #expect(throws: SettingsError.self) {
            try await resolve(file: refusal.text)
        }
        let found = try #require(error)
        #expect(found.line == refusal.line)
        #expect(found.key == refusal.key)
        #expect(found.value == refusal.value)
        #expect(found.file?.hasSuffix("/config.yaml") == true)
        #expect("\(found.rule) \(found.hint ?? "")".contains(refusal.excerpt), "\(found)")
        #expect(!"\(found) \(found.message)".contains("canary"))
    }

    @Test(arguments: ["", "# nothing\n", "---\n", "profiles:\n", "profiles: {a: }\n"]) func anAlmostEmptyFileIsValid(
        text: String
    )
        async throws
    {
        let settings = try await resolve(file: text)
        #expect(settings.server == nil)
    }

    /// The example that the documentation shows.
    @Test func theDocumentedExampleIsValid() async throws {
        let text = try Repository.text("fixtures/settings/config.yaml")
        let global = try await resolve(file: text)
        #expect(global.stallTimeout.value == .seconds(90))
        #expect(global.limitRate.value == 20_971_520)
        let fixture = try await resolve(file: text, flags: SettingsFlags([.server: "stage.example.org:8443"]))
        #expect(fixture.user == Setting(value: "admin", origin: .profile("stage")))
        #expect(fixture.caFile?.value.hasSuffix("/stage-ca.pem") == true)
        let lan = try await resolve(file: text, flags: SettingsFlags(profile: "lan"))
        #expect(lan.allowHTTP == Setting(value: true, origin: .profile("lan")))
        #expect(lan.maxBytes.value == 11_811_182_592)
        #expect(lan.orgName.value == "The Example Band")
    }

    @Test func messagesHaveOneLine() throws {
        let error = SettingsError(
            file: "/c/config.yaml",
            line: 3,
            key: "retries",
            value: "ma\u{1B}ny",
            rule: "is not a non-negative whole number"
        )
        #expect(error.message == "/c/config.yaml:3: retries: \"ma\\u{1b}ny\" is not a non-negative whole number")
        let flag = SettingsError(key: "--retries", value: "x", rule: "is not a non-negative whole number")
        #expect(flag.message == "--retries: \"x\" is not a non-negative whole number")
    }

    @Test func fileNamesAreRelativeToTheSettingsFile() throws {
        func caFile(_ text: String) throws -> String? {
            try SettingsFile(text: text, path: "/c/m/config.yaml", home: "/home/a").global.values[.caFile]?.text
        }
        #expect(try caFile("cacert: ca.pem") == "/c/m/ca.pem")
        #expect(try caFile("cacert: /x/ca.pem") == "/x/ca.pem")
        #expect(try caFile("cacert: ~/ca.pem") == "/home/a/ca.pem")
    }
}
