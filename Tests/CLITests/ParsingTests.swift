import ArgumentParser
import Foundation
import GigHive
import MediaFiles
import TestSupport
import Testing

@testable import MediaCLI

@Suite struct ParsingTests {
    @Test func uploadTakesEveryFlag() throws {
        let command = try #require(
            try MediactlCommand.parseAsRoot([
                "upload", "a.mp4", "--event-date", "2026-03-01", "--org-name", "Tus", "--event-type", "wedding",
                "--label", "One", "--participants", "Ann, Bo", "--keywords", "live", "--location", "Ulm", "--rating",
                "9", "--notes", "n", "--transport", "tus", "--chunk-size", "1M", "-j", "8", "--force",
                "--dry-run", "b.mp4", "--user", "uploader",
                "--server", "https://h", "--profile", "p", "--pinned-key", "sha256//x",
                "--insecure", "--allow-http", "--http2", "--connect-timeout", "5s", "--stall-timeout", "6s",
                "--response-timeout", "7s", "--limit-rate", "1M",
                "--retries", "0",
                "--password-file", "pw", "--json", "--progress-events", "-vv", "--color", "never", "--no-input",
                "--config", "c.yaml", "--data-dir", "d",
            ]) as? Upload
        )
        #expect(command.paths == ["a.mp4", "b.mp4"])
        #expect(command.details.eventDate == "2026-03-01")
        #expect(command.details.eventType == "wedding")
        #expect(command.details.rating == "9")
        #expect(command.sending.transfer.transport?.value == .tus)
        #expect(command.sending.force && command.sending.dryRun)
        #expect(command.credentials.passwordFile == "pw")
        #expect(command.global.json && command.global.noInput && command.global.progressEvents)
        #expect(command.global.verbose == 2)
        let flags = command.connection.flags + command.details.flags + command.sending.flags
        #expect(
            flags + SettingsFlags([.color: command.global.color])
                == SettingsFlags(
                    [
                        .server: "https://h", .user: "uploader", .pinnedKey: "sha256//x", .insecure: "true",
                        .allowHTTP: "true", .http2: "true", .connectTimeout: "5s", .stallTimeout: "6s",
                        .responseTimeout: "7s", .limitRate: "1M",
                        .retries: "0", .color: "never", .orgName: "Tus", .eventType: "wedding", .jobs: "8",
                        .transport: "tus", .chunkSize: "1M",
                    ],
                    profile: "p"
                )
        )
    }

    @Test func globalFlagsMayPrecedeTheCommand() throws {
        let command = try #require(
            try MediactlCommand.parseAsRoot(["--json", "--server", "h", "upload", "a"]) as? Upload
        )
        #expect(command.global.json)
        #expect(command.connection.base.choice.server == "h")
    }

    @Test func flagsAfterTwoDashesAreFileNames() throws {
        let command = try #require(try MediactlCommand.parseAsRoot(["upload", "--", "--json", "-v"]) as? Upload)
        #expect(command.paths == ["--json", "-v"])
        #expect(!command.global.json)
        #expect(command.global.verbose == 0)
    }

    @Test func absentOptionsAreNil() throws {
        let command = try #require(try MediactlCommand.parseAsRoot(["upload", "a"]) as? Upload)
        #expect(command.connection.flags + command.details.flags == SettingsFlags())
        #expect(command.global.color == nil)
    }

    @Test(arguments: [
        ["uploads", "list", "--server", "h:8080", "--show-token"], ["uploads", "list", "--all"],
        [
            "uploads", "list", "--event-date", "2026-03-01", "--org-name", "o", "--event-type", "band", "--label", "l",
            "--since", "2026-03-01", "--limit", "3",
        ],
        ["uploads", "import", "--web", "t.json", "--server", "https://h", "--user", "u", "--password-file", "p"],
        ["uploads", "export", "-o", "-"], ["upload", "a", "--any-extension", "--again", "-j2"],
        ["sync", "push", "d", "-j2"],
        ["uploads", "show", "18", "--server", "h", "--show-token"],
        ["uploads", "delete", "18", "19", "-y", "--server", "h", "--on-invalid-token", "remove"],
        ["uploads", "delete", "18", "19", "-y", "--server", "h", "--as-admin"],
        ["uploads", "delete", "--last", "--dry-run"], ["uploads", "delete", "--as-admin", "--file", "a.mp4"],
        ["uploads", "delete", "18", "--as-admin", "--sha256", String(repeating: "0a", count: 32)],
        ["media", "list", "--event-date", "2026-03-01", "--org-name", "A", "--event-type", "band", "--details"],
        ["media", "list", "--label", "x", "--file-name", "x.mp4", "--since", "2026-03-01 10:00", "--type", "audio"],
        ["media", "show", "18"], ["media", "find", "--file", "a.mp4"],
        ["media", "find", "--sha256", String(repeating: "0A", count: 32)],
        ["media", "delete", "18", "19", "-y"], ["media", "delete", "--label", "x", "-n"],
        ["uploads", "clear", "--all", "-y", "-n"], ["uploads", "clear", "--server", "h"],
        ["uploads", "status", "--server", "h", "-n"], ["config", "show", "--server", "h"],
        ["help", "exit-codes"], ["upload", "-", "--stdin-name", "a.mp4"],
        [
            "upload", "in", "-r", "--include", "*.mp4", "--include", "*.mov", "--exclude", "old", "--shard", "1/4",
            "--date-from-media", "--order", "largest-first", "--fail-fast", "--report", "r.json", "--parallel-parts",
            "3",
        ],
        ["upload", "--files-from", "-"], ["upload", "--files-from0", "l"], ["upload", "--manifest", "m.csv"],
        ["upload", "--retry-failed", "r.json"], ["upload", "--watch", "d", "--include", "*.mp4"],
        ["upload", "a", "--event-link-file", "l", "--accept-terms", "--display-name", "Ann", "--transport", "tus"],
        ["upload", "a", "--event-link", "ask"], ["upload", "a", "--upload-token-file", "t"],
        ["uploads", "resume"], ["uploads", "resume", "u-1", "--label", "x"],
        ["uploads", "resume", "--all", "--server", "h", "-n"],
        ["uploads", "responses", "--discard", "r-5", "-y", "-n"],
        ["uploads", "discard", "u-1", "u-2", "-y", "--even-unreachable", "-n"],
    ])
    func everyCommandParses(arguments: [String]) throws {
        let command = try MediactlCommand.parseAsRoot(arguments + ["--json"])
        let runnable = try #require(command as? any ContextCommand)
        #expect(runnable.global.json)
    }

    @Test(arguments: [
        (["upload"], "specify files to upload, or use --files-from, --manifest or --watch"),
        (["upload", "-"], "standard input requires a name: --stdin-name NAME"),
        (["upload", "-", "-", "--stdin-name", "a"], "standard input can be uploaded only once"),
        (["upload", "a", "--stdin-name", "b"], "--stdin-name requires the path -"),
        (
            ["upload", "-", "--stdin-name", "a", "--password-stdin"],
            "standard input cannot be both the file and the password"
        ),
        (
            ["upload", "a", "--include", "*.mp4"],
            "--include and --exclude apply only to files found in directories: add --recursive"
        ),
        (["upload", "a", "--watch", "d"], "--watch cannot be combined with other inputs"),
        (
            ["upload", "--watch", "d", "--manifest", "m"],
            "--watch cannot be combined with other inputs"
        ),
        (["upload", "--watch", "d", "--dry-run"], "--watch cannot be combined with --dry-run or --fail-fast"),
        (
            ["upload", "--files-from", "-", "--password-stdin"],
            "standard input can be read only once; it is used by --password-stdin and --files-from"
        ),
        (
            ["upload", "-", "--stdin-name", "a.mp4", "--shard", "0/2"],
            "standard input cannot be combined with --shard"
        ),
        (["upload", "a", "--parallel-parts", "0"], "--parallel-parts must be a whole number from 1 to 16"),
        (
            ["upload", "a", "--parallel-parts", "2", "--transport", "multipart"],
            "--parallel-parts requires tus and cannot be combined with --transport multipart"
        ),
        (
            ["upload", "a", "--chunk-size", "1M", "--transport", "multipart"],
            "--chunk-size requires tus and cannot be combined with --transport multipart"
        ),
        (
            ["upload", "--watch", "d", "--order", "largest-first"],
            "--watch uploads files in the order in which they are complete: omit --order"
        ),
        (
            ["upload", "a", "--event-link-file", "l", "--event-link", "ask"],
            "specify only one of --event-link-file, --event-link and --upload-token-file"
        ),
        (
            [
                "upload", "a", "--event-link-file", "l", "--accept-terms", "--display-name",
                String(repeating: "ü", count: 51),
            ],
            "--display-name must not exceed 100 bytes of UTF-8"
        ),
        (
            ["upload", "a", "--accept-terms"],
            "--accept-terms and --display-name require an event link: --event-link-file FILE"
        ),
        (
            ["upload", "a", "--event-link-file", "l", "--org-name", "x", "--event-date", "2026-01-01"],
            "the event link specifies the event: omit --event-date, --org-name"
        ),
        (
            ["upload", "a", "--event-link-file", "l", "--transport", "multipart"],
            "event links require tus: omit --transport multipart"
        ),
        (
            ["upload", "a", "--event-link-file", "l", "--date-from-media"],
            "the event link specifies the event: omit --date-from-media"
        ),
        (
            ["--user", "x", "upload", "a", "--upload-token-file", "t", "--password-stdin", "--api-key-file", "k"],
            "an event link is used without a login: omit --user, --password-stdin, --api-key-file"
        ),
        (
            ["upload", "a", "--event-link", "ask", "--verify"],
            "an event link does not permit reading the server's listing: omit --verify"
        ),
        (
            ["uploads", "discard", "u-1", "--event-link-file", "l", "--accept-terms"],
            "--accept-terms and --display-name are for uploads; only the event link is used to discard one"
        ),
        (
            ["uploads", "delete", "1", "--as-admin", "--on-invalid-token", "keep"],
            "--as-admin does not use a token and cannot be combined with --on-invalid-token"
        ),
        (
            ["uploads", "export", "--output", "f", "--show-token"],
            "--show-token applies only to standard output: omit it with --output FILE"
        ),
        (["upload", "a", ""], "the path is empty"),
        (["uploads", "resume", "u-1", "--all"], "--all cannot be combined with IDs"),
        (["uploads", "delete"], "specify an ID, --sha256, --file or --last"),
        (["uploads", "delete", "1", "--last"], "--last cannot be combined with IDs, --sha256 or --file"),
        (["uploads", "delete", "0"], "an ID must be 1 or more"),
        (["media", "delete", "1", "--label", "x"], "IDs cannot be combined with --file or filters"),
        (["uploads", "clear"], "specify --server URL or --all"),
        (["uploads", "list", "--host", "h", "--all-hosts"], "--server cannot be combined with --all"),
        (["nonsense", "--help"], "unknown command \"nonsense\""),
        (["--json", "upload", "a", "-q", "-v"], "--quiet cannot be combined with --verbose"),
        (["-q", "upload", "a", "-v"], "--quiet cannot be combined with --verbose"),
        (["upload", "a", "--progress-events"], "--progress-events requires --json"),
        (["upload", "a", "--config", ""], "--config: the path is empty"),
        (["upload", "a", "--data-dir", ""], "--data-dir: the path is empty"),
        (
            ["upload", "a", "--insecure", "--cacert", "c.pem"],
            "--insecure cannot be combined with --cacert"
        ),
        (
            ["upload", "a", "--transport", "x"],
            "--transport: \"x\" is not valid; valid values: auto, multipart, tus"
        ),
        (
            ["upload", "a", "--rating", "-1"],
            "--rating: \"-1\" looks like a flag; specify a whole number from 0 to 9"
        ),
        (
            ["upload", "--limit-rate", "-5", "a"],
            "--limit-rate: \"-5\" looks like a flag; specify a number of bytes per second, or 0 for no limit"
        ),
        (
            ["upload", "a", "--jobs", "-1"],
            "--jobs: \"-1\" looks like a flag; specify a whole number from 1 to 16"
        ),
        (
            ["upload", "a", "--stall-timeout", "-1s"],
            "--stall-timeout: \"-1s\" looks like a flag; specify a number above 0"
        ),
    ])
    func usageErrorsReportTheMistake(arguments: [String], message: String) {
        let userFacingError = ParseFailure.ofLine(arguments)?.userFacingError
        #expect(userFacingError?.message == message)
        #expect(userFacingError?.exitCode == .usage)
    }

    @Test(arguments: [
        (["--server", "h", "uploads", "lst"], "did you mean: mediactl uploads list"),
        (["list", "--help"], "did you mean: mediactl uploads list"), (["list"], "did you mean: mediactl uploads list"),
        (["uploads", "lst", "-h"], "did you mean: mediactl uploads list"),
        (["upload", "a", "--rating", "-1"], "to use a value that begins with -, write --rating=-1"),
        (["upload", "a", "--bogus"], "see mediactl upload --help"),
    ])
    func hintsAreUsefulCommands(arguments: [String], hint: String) {
        #expect(ParseFailure.ofLine(arguments)?.userFacingError.hint == hint)
    }

    @Test(arguments: [
        ["--json", "upload", "a", "--progress-events"], ["--progress-events", "upload", "a", "--json"],
        ["-q", "upload", "a"], ["upload", "a", "--pinned-key", "x", "--insecure"],
    ])
    func relatedFlagsMayBeSeparated(arguments: [String]) {
        #expect(ParseFailure.ofLine(arguments)?.userFacingError == nil)
    }

    @Test(arguments: [
        ("clip.mp4", "clip"), ("a.b.mp4", "a.b"), (".hidden", ".hidden"), ("name.", "name."), ("plain", "plain"),
    ])
    func labelIsTheStem(name: String, stem: String) {
        #expect(name.nameParts.stem == stem)
    }

    @Test(arguments: [
        [UInt8]("é ;q.mp4".utf8), [0x61, 0xff, 0x62], [0xc3], [0xed, 0xa0, 0x80], [0xf0, 0x9f, 0x8e, 0xb8], [],
        [0xef, 0xbf, 0xbd], [UInt8]("a\u{10ff41}\u{10ff80}\u{10ffff}".utf8),
    ])
    func argumentsKeepTheirBytes(bytes: [UInt8]) {
        #expect(RawArguments.bytes(of: RawArguments.text(of: bytes)) == bytes)
    }
}
