import ArgumentParser
import MediaFiles
import MediaStore
import PhotoSync
import Testing

@testable import MediaCLI

@Suite struct SyncParsingTests {
    @Test func pullTakesEveryFlag() throws {
        let words = ["sync", "pull", "--full", "--dry-run", "--full-interval", "2d"]
        let command = try #require(try MediactlCommand.parseAsRoot(words) as? SyncPull)
        #expect(command.listing.full && command.dryRun && command.listing.fullInterval == "2d")
    }

    @Test(arguments: [["sync"], ["--json", "sync"]])
    func syncWithoutACommandIsPull(words: [String]) throws {
        let command = try #require(try MediactlCommand.parseAsRoot(words + ["--full", "--dry-run"]) as? SyncDirectory)
        #expect(command.listing.full && command.dryRun && command.directory == nil)
        #expect(command.recordSchema == SyncPull.schema)
    }

    @Test func syncTakesADirectory() throws {
        let command = try #require(
            try MediactlCommand.parseAsRoot(["sync", "/tmp", "-y", "-n", "--limit-rate", "1M"]) as? SyncDirectory
        )
        #expect(command.directory == "/tmp" && command.yes && command.dryRun)
        #expect(command.recordSchema == "mediactl.sync/1")
    }

    @Test(arguments: [
        ["sync", "/tmp", "/tmp"], ["sync", "--yes"], ["sync", "--limit-rate", "1M"],
    ])
    func invalidSyncArgumentsAreRefused(words: [String]) {
        #expect(throws: (any Error).self) { try MediactlCommand.parseAsRoot(words) }
    }

    @Test func pushTakesEveryFlag() throws {
        let command = try #require(
            try MediactlCommand.parseAsRoot([
                "sync", "push", "a", "--include", "*.jpg", "--include", "*.heic", "--exclude", "x/", "-j", "3",
                "--dry-run", "--changed", "--restore", "--no-default-excludes", "b", "--api-key-file", "k", "--server",
                "https://h/photos",
            ]) as? SyncPush
        )
        #expect(command.paths == ["a", "b"])
        #expect(command.include == ["*.jpg", "*.heic"] && command.exclude == ["x/"])
        #expect(try FlagValue.read(command.jobs, "--jobs", SettingValue.jobs) == 3)
        #expect(command.dryRun && command.key.apiKeyFile == "k")
        #expect(command.changed && command.restore && command.noDefaultExcludes)
        #expect(try MediactlCommand.parseAsRoot(["sync", "forget", "a", "--dry-run"]) is SyncForget)
    }

    @Test func listAndDownloadTakeEveryFlag() throws {
        let list = try #require(
            try MediactlCommand.parseAsRoot(["sync", "list", "--device", "other", "--since", "2026-05-01", "--gone"])
                as? SyncList
        )
        #expect(list.device == "other" && list.since == "2026-05-01" && list.gone)
        let download = try #require(
            try MediactlCommand.parseAsRoot(["sync", "download", "p-1", "p-2", "--output", "d", "--jobs", "8"])
                as? SyncDownload
        )
        #expect(download.ids == ["p-1", "p-2"] && download.target == "d")
        #expect(try FlagValue.read(download.jobs, "--jobs", SettingValue.jobs) == 8)
        #expect(try MediactlCommand.parseAsRoot(["sync", "download", "--missing", "--output", "d"]) is SyncDownload)
        #expect(try MediactlCommand.parseAsRoot(["sync", "verify", "--read-content"]) is SyncVerify)
        #expect(try MediactlCommand.parseAsRoot(["sync", "status", "--api-key-stdin"]) is SyncStatusCommand)
    }

    @Test(arguments: [
        ["--server", "h", "--profile", "p", "sync", "list"], ["sync", "list", "--server", "h", "--profile", "p"],
        ["--server", "h", "sync", "--profile", "p", "status"], ["sync", "--server", "h", "--profile", "p"],
        ["logout", "--server", "h", "--profile", "p"],
    ])
    func serverMayPrecedeOrFollowTheCommand(words: [String]) throws {
        let flags =
            switch try MediactlCommand.parseAsRoot(words) {
            case let command as SyncList: command.connection.flags
            case let command as SyncStatusCommand: command.connection.flags
            case let command as SyncDirectory: command.connection.flags
            case let command as LogOut: command.connection.flags
            default: SettingsFlags()
            }
        #expect(flags == SettingsFlags([.server: "h"], profile: "p"))
    }

    @Test func claimTakesManyIDs() throws {
        let command = try #require(
            try MediactlCommand.parseAsRoot(["claim-legacy", "--ids", "a", "b", "c", "--yes"]) as? ClaimLegacy
        )
        #expect(command.ids == ["a", "b", "c"] && command.yes)
    }

    @Test func loginTakesEveryFlag() throws {
        let key = try #require(
            try MediactlCommand.parseAsRoot(["login", "--device-name", "Studio", "--api-key-stdin", "--dry-run"])
                as? LogIn
        )
        #expect(key.deviceName == "Studio" && key.key.apiKeyStdin && key.dryRun)
        let mail = try #require(
            try MediactlCommand.parseAsRoot(["login", "--email", "a@b", "--password-file", "p", "--yes"]) as? LogIn
        )
        #expect(mail.mail.email == "a@b" && mail.mail.passwordFile == "p" && mail.yes)
        #expect(try MediactlCommand.parseAsRoot(["logout", "--dry-run"]) is LogOut)
    }

    @Test(arguments: [
        ["claim-legacy"], ["claim-legacy", "--all", "--list"], ["claim-legacy", "--all", "--ids", "a"],
        ["claim-legacy", "--ids", "a", "--ids-file", "f"], ["claim-legacy", "--list", "--yes"],
        ["claim-legacy", "--list", "--dry-run"], ["sync", "push", "a", "--test-ownership", "--dry-run"],
        ["claim-legacy", "--ids-file", "-", "--api-key-stdin"], ["sync", "download", "--output", "d"],
        ["sync", "download", "--missing"], ["sync", "download", "--missing", "p-1", "--output", "d"],
        ["sync", "download", "--since", "2026-01-01", "p-1", "--output", "d"],
        ["sync", "download", "", "-o", "d"],
        ["sync", "download", "--missing", "--output", ""], ["sync", "push"], ["sync", "push", ""],
        ["sync", "list", "--device", ""], ["sync", "pull", "extra"], ["login", "--email", "nobody"],
        ["login", "--password-stdin"], ["login", "--email", "a@b", "--api-key-stdin"],
        ["login", "--email", "a@b", "--password-stdin", "--password-file", "p"], ["login", "--device-name", " "],
        ["login", "--api-key-stdin", "--api-key-file", "k"],
    ])
    func contradictionsAreUsage(words: [String]) {
        #expect(throws: (any Error).self) { try MediactlCommand.parseAsRoot(words) }
    }

    @Test(arguments: ["0", "17", "x", "-1"])
    func jobsAreOneToSixteen(value: String) throws {
        let command = try #require(try MediactlCommand.parseAsRoot(["sync", "push", "a", "-j=\(value)"]) as? SyncPush)
        #expect(throws: UserFacingError.self) { try FlagValue.read(command.jobs, "--jobs", SettingValue.jobs) }
    }

    // Trap 4: a server drops any time zone but Z, so times must be sent as UTC.
    @Test(arguments: [
        ("2026-05-01T18:30:00Z", "2026-05-01T18:30:00Z"), ("2026-05-01T18:30:00.25+02:00", "2026-05-01T16:30:00.25Z"),
        ("1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z"),
    ])
    func timesAreConvertedToUTC(text: String, utc: String) throws {
        #expect(try PointInTime.parse(text, flag: "--since").text == utc)
    }

    @Test(arguments: ["", "yesterday", "2026-02-30", "2026-5-1", "2026-05-01 18:30:00", "2026-05-01T18:30:00"])
    func invalidTimesAreUsageErrors(text: String) {
        #expect { try PointInTime.parse(text, flag: "--since") } throws: {
            ($0 as? UserFacingError)?.exitCode == .usage
                && ($0 as? UserFacingError)?.message.hasPrefix("--since: ") == true
        }
    }
}
