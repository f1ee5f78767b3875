import Foundation
import TestSupport
import Testing

/// A settings file can run programs and set trusted servers: it must belong to the user.
@Suite struct SettingsFileTrustTests {
    private struct Fixture {
        let runner: BinaryRunner
        let config: String
        let marker: String

        init(name: String = "config.yaml", permissions: mode_t) throws {
            runner = try BinaryRunner()
            marker = runner.home.file("was-run")
            let directory = runner.home.file("config/mediactl")
            try makeDirectory(directory)
            config = directory + "/" + name
            let text = """
                server: http://127.0.0.1:9
                user: ann
                password_command: [/usr/bin/touch, "\(marker)"]
                """
            try Data((name == "config.yaml" ? text : "").utf8).write(to: URL(fileURLWithPath: config))
            chmod(config, permissions)
        }

        func list() async throws -> ChildResult {
            try await runner.run(["media", "list", "--no-input", "--retries", "0"])
        }
    }

    @Test(arguments: [0o620, 0o602, 0o666, 0o664] as [mode_t])
    func aFileThatOthersCanWriteIsRefused(_ permissions: mode_t) async throws {
        let fixture = try Fixture(permissions: permissions)
        let result = try await fixture.list()
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("refused: other users can write to it"))
        #expect(result.errors.contains("hint: run: chmod go-w '\(fixture.config)'"))
        #expect(!FileManager.default.fileExists(atPath: fixture.marker))
    }

    @Test(arguments: [0o600, 0o644, 0o440] as [mode_t])
    func aFileThatOthersCanOnlyReadIsUsed(_ permissions: mode_t) async throws {
        let fixture = try Fixture(permissions: permissions)
        let result = try await fixture.list()
        #expect(!result.errors.contains("refused"))
        #expect(FileManager.default.fileExists(atPath: fixture.marker))
    }

    @Test(.enabled(if: OtherUser.isAvailable, OtherUser.requirement))
    func aFileOfAnotherUserIsRefused() async throws {
        let fixture = try Fixture(permissions: 0o600)
        #expect(chown(fixture.config, OtherUser.id, OtherUser.id) == 0)
        let result = try await fixture.list()
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("refused: it belongs to another user"))
        #expect(!FileManager.default.fileExists(atPath: fixture.marker))
    }

    @Test func knownServersThatOthersCanWriteAreRefused() async throws {
        let fixture = try Fixture(name: "known_servers", permissions: 0o666)
        let result = try await fixture.runner.run(
            ["media", "list", "--server", "https://127.0.0.1:9", "--no-input", "--retries", "0", "--user", "a"],
            extra: ["MEDIACTL_PASSWORD": "secret-word"]
        )
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("known_servers: refused: other users can write to it"))
    }
}

/// Settings whose names were changed.
@Suite struct DeprecatedSettingTests {
    private func config(
        _ arguments: [String] = [],
        _ file: String = "",
        extra: [String: String] = [:]
    ) async throws -> ChildResult {
        let runner = try BinaryRunner()
        let path = try runner.home.write("c.yaml", file.utf8)
        return try await runner.run(["config", "show", "--config", path] + arguments, extra: extra)
    }

    private func timeout(_ result: ChildResult) -> String? {
        let row = result.lines.first { $0.hasPrefix("response_timeout ") }
        return row.map { String($0.split(separator: " ")[1]) }
    }

    @Test func theOldNamesAreAcceptedWithANote() async throws {
        let flag = try await config(["--answer-timeout", "7s"])
        #expect(timeout(flag) == "7s")
        #expect(flag.errors.contains("note: --answer-timeout is deprecated; use --response-timeout"))
        let variable = try await config(extra: ["MEDIACTL_ANSWER_TIMEOUT": "8"])
        #expect(timeout(variable) == "8s")
        #expect(variable.errors.contains("MEDIACTL_ANSWER_TIMEOUT is deprecated; use MEDIACTL_RESPONSE_TIMEOUT"))
        let file = try await config([], "answer_timeout: 9s")
        #expect(timeout(file) == "9s")
        #expect(file.errors.contains("answer_timeout is deprecated; use response_timeout"))
    }

    @Test func theNewNamesHaveNoNote() async throws {
        let flag = try await config(["--response-timeout", "7s"])
        #expect(timeout(flag) == "7s" && flag.errors.isEmpty)
        let variable = try await config(
            extra: ["MEDIACTL_ANSWER_TIMEOUT": "8", "MEDIACTL_RESPONSE_TIMEOUT": "9"]
        )
        #expect(timeout(variable) == "9s")
        let file = try await config([], "response_timeout: 9s")
        #expect(timeout(file) == "9s" && file.errors.isEmpty)
    }

    @Test func bothNamesAtOnceAreRefused() async throws {
        #expect(try await config(["--answer-timeout", "7s", "--response-timeout", "8s"]).exitCode == 2)
        #expect(try await config([], "answer_timeout: 1s\nresponse_timeout: 2s").exitCode == 2)
    }

    @Test func anInvalidValueIsReportedWithItsVariable() async throws {
        let result = try await config(extra: ["MEDIACTL_ANSWER_TIMEOUT": "soon"])
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("error: MEDIACTL_ANSWER_TIMEOUT"))
    }
}
