import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import MediaCLI

@Suite struct ParsingTests {
    @Test func uploadTakesEveryFlag() throws {
        let command = try #require(
            try MediactlCommand.parseAsRoot([
                "upload", "a.mp4", "--event-date", "2026-03-01", "--org-name", "Tus", "--event-type", "wedding",
                "--label", "One", "--participants", "Ann, Bo", "--keywords", "live", "--location", "Ulm", "--rating",
                "9", "--notes", "n", "--transport", "multipart", "--force", "--dry-run", "b.mp4", "--user", "uploader",
                "--server", "https://h", "--profile", "p", "--cacert", "c.pem", "--pinned-key", "sha256//x",
                "--insecure", "--allow-http", "--http2", "--connect-timeout", "5s", "--stall-timeout", "6s",
                "--answer-timeout", "7s", "--finish-timeout", "8s", "--settle-timeout", "9s", "--limit-rate", "1M",
                "--retries", "0",
                "--password-file", "pw", "--json", "--progress-events", "-q", "-vv", "--color", "never", "--no-input",
                "--config", "c.yaml", "--data-dir", "d",
            ]) as? Upload
        )
        #expect(command.paths == ["a.mp4", "b.mp4"])
        #expect(command.details.eventDate == "2026-03-01")
        #expect(command.details.eventType == "wedding")
        #expect(command.details.rating == "9")
        #expect(command.transport == .multipart)
        #expect(command.force && command.dryRun)
        #expect(command.credentials.passwordFile == "pw")
        #expect(command.global.json && command.global.quiet && command.global.noInput && command.global.progressEvents)
        #expect(command.global.verbose == 2)
        let flags = SettingsFlags(global: command.global, connection: command.connection, details: command.details)
        #expect(
            flags
                == SettingsFlags(
                    server: "https://h",
                    profile: "p",
                    user: "uploader",
                    caFile: "c.pem",
                    pinnedKey: "sha256//x",
                    insecure: true,
                    allowHTTP: true,
                    http2: true,
                    connectTimeout: "5s",
                    stallTimeout: "6s",
                    answerTimeout: "7s",
                    finishTimeout: "8s",
                    settleTimeout: "9s",
                    limitRate: "1M",
                    retries: "0",
                    color: "never",
                    orgName: "Tus",
                    eventType: "wedding"
                )
        )
    }

    @Test func globalFlagsStandBeforeTheCommandToo() throws {
        let command = try #require(
            try MediactlCommand.parseAsRoot(["--json", "--server", "h", "upload", "a"]) as? Upload
        )
        #expect(command.global.json)
        #expect(command.connection.server == "h")
    }

    @Test func flagsBehindTwoDashesAreFileNames() throws {
        let command = try #require(try MediactlCommand.parseAsRoot(["upload", "--", "--json", "-v"]) as? Upload)
        #expect(command.paths == ["--json", "-v"])
        #expect(!command.global.json)
        #expect(command.global.verbose == 0)
    }

    @Test func silenceIsNil() throws {
        let command = try #require(try MediactlCommand.parseAsRoot(["upload", "a"]) as? Upload)
        let flags = SettingsFlags(global: command.global, connection: command.connection, details: command.details)
        #expect(flags == SettingsFlags())
    }

    @Test(arguments: [
        ["uploads", "list", "--host", "h:8080", "--show-token"], ["uploads", "list", "--all-hosts"],
        ["uploads", "show", "18", "--host", "h", "--show-token"],
        ["uploads", "delete", "18", "19", "--yes", "--host", "h", "--on-invalid-token", "remove", "--as-admin"],
        ["uploads", "delete", "--last", "--dry-run"],
        ["uploads", "clear", "--all-hosts", "--yes", "--dry-run"], ["uploads", "clear", "--host", "h"],
        ["uploads", "status", "--host", "h", "--dry-run"], ["config", "show", "--server", "h"],
        ["help", "exit-codes"], ["upload", "-", "--stdin-name", "a.mp4"],
    ])
    func everyCommandParses(arguments: [String]) throws {
        let command = try MediactlCommand.parseAsRoot(arguments + ["--json"])
        let runnable = try #require(command as? any ContextCommand)
        #expect(runnable.global.json)
    }

    @Test(arguments: [
        (["upload"], "missing expected argument '<path> ...'"),
        (["upload", "-"], "standard input needs a name: --stdin-name NAME"),
        (["upload", "-", "-", "--stdin-name", "a"], "standard input can be uploaded once only"),
        (["upload", "a", "--stdin-name", "b"], "--stdin-name is for standard input, and no path is -"),
        (
            ["upload", "-", "--stdin-name", "a", "--password-stdin"],
            "standard input cannot be both the file and the password"
        ),
        (["uploads", "delete"], "name a file by its number, or use --last"),
        (["uploads", "delete", "1", "--last"], "--last and numbers exclude each other"),
        (["uploads", "delete", "0"], "a file's number is 1 or more"),
        (["uploads", "clear"], "name one host with --host HOST, or all of them with --all-hosts"),
        (["uploads", "list", "--host", "h", "--all-hosts"], "--host and --all-hosts exclude each other"),
        (["uplaod", "a"], "unknown command \"uplaod\""),
        (["uploads", "lst"], "unknown command \"lst\""),
    ])
    func wrongUsageIsNamed(arguments: [String], message: String) {
        let diagnosis = failure(arguments)
        #expect(diagnosis?.message == message)
        #expect(diagnosis?.exitCode == .usage)
    }

    @Test(arguments: [
        (["uplaod", "a"], "did you mean: mediactl upload"),
        (["--server", "h", "uploads", "lst"], "did you mean: mediactl uploads list"),
        (["xyzzy"], "mediactl --help lists the commands"),
        (["upload", "a", "--bogus"], "see mediactl upload --help"),
    ])
    func hintsLeadOn(arguments: [String], hint: String) {
        #expect(failure(arguments)?.hint == hint)
    }

    private func failure(_ arguments: [String]) -> Diagnosis? {
        do {
            _ = try MediactlCommand.parseAsRoot(arguments)
            return nil
        } catch {
            return ParseFailure(error, arguments: arguments).diagnosis
        }
    }

    @Test(arguments: [
        ("clip.mp4", "clip"), ("a.b.mp4", "a.b"), (".hidden", ".hidden"), ("name.", "name."), ("plain", "plain"),
    ])
    func labelIsTheStem(name: String, stem: String) {
        #expect(DetailOptions.stem(of: name) == stem)
    }

    @Test(arguments: [
        [UInt8]("é ;q.mp4".utf8), [0x61, 0xff, 0x62], [0xc3], [0xed, 0xa0, 0x80], [0xf0, 0x9f, 0x8e, 0xb8], [],
        [0xef, 0xbf, 0xbd],
    ])
    func argumentsKeepTheirBytes(bytes: [UInt8]) {
        #expect(RawArguments.bytes(of: RawArguments.text(of: bytes)) == bytes)
    }
}
