import Foundation
import TestSupport
import Testing

/// `mediactl media` and `uploads delete --as-admin`: the program against the sandbox.
@Suite(.prompt) struct MediaCommandTests {
    private struct Fixture: Sendable {
        let sandbox: SandboxProcess
        let runner: BinaryRunner

        init(dialect: String = "d3", faults: [String] = []) async throws {
            sandbox = try await SandboxProcess.start(dialect: dialect, faults: faults)
            var runner = try BinaryRunner()
            runner.environment["MEDIACTL_SERVER"] = sandbox.baseURL
            self.runner = runner
        }

        func file(_ name: String) -> String { runner.home.file(name) }

        /// Uploads a file whose content depends on the first letter of its label; the first file has ID 1.
        func upload(_ label: String, date: String = "2026-03-01", user: String = "uploader") async throws {
            try FaultFixture.writeMovie(to: file("\(label).mp4"), byteCount: 3000, seed: UInt8(label.utf8.first ?? 0))
            let result = try await run(
                ["upload", file("\(label).mp4"), "--event-date", date, "--org-name", "The Larks", "--label", label],
                user: user
            )
            try #require(result.exitCode == 0, "\(result.errors)")
        }

        func run(_ arguments: [String], user: String = "admin") async throws -> ChildResult {
            try await runner.run(arguments + ["--user", user], extra: ["MEDIACTL_PASSWORD": user])
        }
    }

    private static let dialects = ["d1", "d2", "d3"]

    // MARK: Listing

    @Test(arguments: dialects, ["viewer", "uploader", "admin"])
    func anyUserListsAndFinds(_ dialect: String, _ user: String) async throws {
        let fixture = try await Fixture(dialect: dialect)
        try await fixture.upload("Encore")
        try await fixture.upload("First", date: "2026-03-02")
        let list = try await fixture.run(["media", "list"], user: user)
        #expect(list.exitCode == 0)
        #expect(list.lines.count == 3)
        #expect(list.lines[0].hasPrefix("ID  EVENT DATE"))
        let find = try await fixture.run(
            ["media", "find", "--event-date", "2026-03-01", "--org-name", "The  Larks", "--label", "Encore"],
            user: user
        )
        #expect(find.exitCode == 0)
        #expect(find.lines.count == 2)
        #expect(find.lines[1].hasPrefix(" 1  2026-03-01"))
        let byFile = try await fixture.run(["media", "find", "--file", fixture.file("First.mp4")], user: user)
        #expect(byFile.lines.last?.hasPrefix(" 2  2026-03-02") == true)
        let nothing = try await fixture.run(["media", "find", "--label", "Nothing"], user: user)
        #expect(nothing.exitCode == 5)
        #expect(nothing.output.isEmpty)
    }

    /// A deletion needs the settings before the login as well.
    @Test(arguments: ["list", "delete"]) func aWarningAboutTheSettingsIsPrintedOnce(_ command: String) async throws {
        let fixture = try await Fixture()
        let config = try fixture.runner.home.write("config.yaml", "retrys: 3\n".utf8)
        let options = command == "delete" ? ["1", "--dry-run"] : []
        let result = try await fixture.run(["media", command, "--config", config] + options)
        #expect(result.errors.split(separator: "retrys: is an unknown setting").count == 2, "\(result.errors)")
    }

    @Test func recordsHaveTheDocumentedShape() async throws {
        let fixture = try await Fixture()
        try await fixture.upload("One")
        let commands: [(schema: String, arguments: [String], code: Int32)] = [
            ("media-list", ["media", "list"], 0), ("media-list", ["media", "list", "--details"], 0),
            ("media-list", ["media", "list", "--since", "2026-01-01"], 2), ("media-show", ["media", "show", "1"], 0),
            ("media-show", ["media", "show", "9"], 5), ("media-find", ["media", "find", "--label", "One"], 0),
            ("media-find", ["media", "find", "--label", "Two"], 5),
            ("media-delete", ["media", "delete", "1", "--dry-run"], 0),
            ("media-delete", ["media", "delete", "1", "9", "--yes"], 3),
            ("media-delete", ["media", "delete", "1", "--yes"], 5),
        ]
        for (schema, arguments, code) in commands {
            let result = try await fixture.run(arguments + ["--json"])
            #expect(result.exitCode == code, "\(arguments) \(result.errors)")
            try result.expectShapes(schema)
            #expect(result.lines.last?.contains(#""exit_code":\#(code)}"#) == true)
        }
    }

    @Test func detailsRequireTheRight() async throws {
        let fixture = try await Fixture()
        try await fixture.upload("One")
        for arguments in [["show", "1"], ["list", "--details"], ["delete", "1", "--yes"]] {
            let result = try await fixture.run(["media"] + arguments, user: "viewer")
            #expect(result.exitCode == 4)
            #expect(result.errors.contains("login failed (401)"))
        }
        let uploader = try await fixture.run(["media", "delete", "1", "--yes"], user: "uploader")
        #expect(uploader.exitCode == 4)
        #expect(uploader.errors.contains("only the administrator can do this; log in with --user admin"))
        #expect(try fixture.sandbox.storedFiles().count == 1)
    }

    @Test(arguments: [
        ["find"], ["delete"], ["delete", "1", "--label", "x"], ["delete", "0"], ["delete", "1", "--yes", "--dry-run"],
        ["list", "--event-date", "2026-02-30"], ["list", "--since", "yesterday"], ["list", "--sha256", "12"],
        ["list", "--label", " "], ["find", "--file", "a", "--sha256", String(repeating: "0", count: 64)],
    ]) func wrongUsageIsRefused(_ arguments: [String]) async throws {
        let result = try await BinaryRunner().run(["media"] + arguments + ["--server", "http://127.0.0.1:1"])
        #expect(result.exitCode == 2)
    }

    // MARK: Deleting

    @Test(arguments: dialects)
    func filteredFilesAreShownConfirmedAndDeleted(_ dialect: String) async throws {
        let fixture = try await Fixture(dialect: dialect)
        for label in ["A", "B", "C"] { try await fixture.upload(label, user: "admin") }
        try await fixture.upload("Kept", date: "2026-03-02")
        let filters = ["--event-date", "2026-03-01", "--org-name", "The Larks"]
        let dry = try await fixture.run(["media", "delete", "-n"] + filters)
        #expect(dry.lines.count == 3 && dry.exitCode == 0)
        #expect(try fixture.sandbox.storedFiles().count == 4)
        let child = try fixture.runner.start(
            ["media", "delete", "--user", "admin"] + filters,
            streams: .terminal(columns: 160),
            extra: ["MEDIACTL_PASSWORD": "admin"]
        )
        try await child.respond(to: "Delete 3 files? [y/N] ", with: "y\n")
        let result = try await child.finish()
        #expect(result.exitCode == 0)
        #expect(result.output.components(separatedBy: "sha-256").count == 4)
        #expect(result.output.components(separatedBy: "deleted").count == 4)
        #expect(try fixture.sandbox.storedFiles().count == 1)
        // The entries of the deleted files are removed as well.
        #expect(try await fixture.runner.run(["uploads", "list"]).lines.count == 2)
    }

    /// On D1 and D2 one label is enough for a file to be listed in both events (gighive contract section 7); on D3
    /// the bytes are linked.
    @Test(arguments: dialects)
    func aFileOfTwoEventsIsNotDeletedByOneOfThem(_ dialect: String) async throws {
        let fixture = try await Fixture(dialect: dialect)
        try await fixture.upload("Kept")
        if dialect == "d3" {
            try await fixture.upload("Kept", date: "2026-03-02")
        } else {
            try FaultFixture.writeMovie(to: fixture.file("other.mp4"), byteCount: 4000, seed: 9)
            let event = ["--event-date", "2026-03-02", "--org-name", "Others", "--label", "Kept"]
            #expect(
                try await fixture.run(["upload", fixture.file("other.mp4")] + event, user: "uploader").exitCode == 0
            )
        }
        try await fixture.upload("Gone")
        let before = try fixture.sandbox.storedFiles().count
        let result = try await fixture.run(["media", "delete", "--event-date", "2026-03-01", "--yes", "--json"])
        #expect(try fixture.sandbox.storedFiles().count == before - 1)
        #expect(result.output.contains("\"code\":\"in_other_event\""))
        #expect(result.exitCode == 3)
        #expect(result.errors.contains("mediactl media delete 1"))
        // A deletion by ID deletes it from both events.
        #expect(try await fixture.run(["media", "delete", "1", "--yes"]).exitCode == 0)
        #expect(try fixture.sandbox.storedFiles().count == before - 2)
    }

    @Test func nothingIsDeletedWithoutConfirmation() async throws {
        let fixture = try await Fixture()
        try await fixture.upload("One")
        let result = try await fixture.run(["media", "delete", "1"])
        #expect(result.exitCode == 2)
        let child = try fixture.runner.start(
            ["media", "delete", "1", "--user", "admin"],
            streams: .terminal(columns: 100),
            extra: ["MEDIACTL_PASSWORD": "admin"]
        )
        try await child.respond(to: "Delete 1 file? [y/N] ", with: "\n")
        #expect(try await child.finish().exitCode == 1)
        #expect(try fixture.sandbox.storedFiles().count == 1)
    }

    /// The file name in an organizer's email is not a name on the server, but usually the label.
    @Test(arguments: dialects)
    func anOriginalFileNameLeadsToTheFile(_ dialect: String) async throws {
        let fixture = try await Fixture(dialect: dialect)
        try await fixture.upload("encore 1")
        try await fixture.upload("other")
        let found = try await fixture.run(["media", "find", "--file-name", "Encore 1.mp4"])
        #expect(found.exitCode == 0 && found.lines.count == 2)
        let deleted = try await fixture.run(["media", "delete", "--file-name", "encore 1.mp4", "--yes"])
        #expect(deleted.output == "deleted 1 \"encore 1\" from \(fixture.sandbox.scope)\n")
        #expect(try fixture.sandbox.storedFiles().count == 1)
    }

    /// Labels are not unique, so `--yes` confirms a guess only if it is unambiguous.
    @Test(arguments: dialects)
    func anAmbiguousFileNameIsNotConfirmedInAdvance(_ dialect: String) async throws {
        let fixture = try await Fixture(dialect: dialect)
        for (index, date) in ["2026-03-01", "2026-03-02"].enumerated() {
            let file = fixture.file("\(index).mp4")
            try FaultFixture.writeMovie(to: file, byteCount: 3000, seed: UInt8(index))
            let result = try await fixture.run(
                ["upload", file, "--event-date", date, "--label", "encore"],
                user: "uploader"
            )
            try #require(result.exitCode == 0)
        }
        let result = try await fixture.run(["media", "delete", "--file-name", "encore.mp4", "--yes"])
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("2 files match --file-name \"encore.mp4\", and --yes confirms only one"))
        let hint = try #require(result.errors.split(separator: "\n").first { $0.contains("hint:") })
        #expect(Set(hint.split(separator: " ").suffix(4).prefix(2).map(String.init)) == ["1", "2"], "\(hint)")
        #expect(try fixture.sandbox.storedFiles().count == 2)
        let child = try fixture.runner.start(
            ["media", "delete", "--file-name", "encore.mp4", "--user", "admin"],
            streams: .terminal(columns: 160),
            extra: ["MEDIACTL_PASSWORD": "admin"]
        )
        try await child.respond(to: "Delete 2 files? [y/N] ", with: "y\n")
        #expect(try await child.finish().exitCode == 0)
        #expect(try fixture.sandbox.storedFiles().isEmpty)
    }

    @Test(arguments: [["media", "find"], ["media", "delete", "--yes"], ["uploads", "delete", "--yes"]])
    func aMissingLocalFileIsReportedAsMissing(_ command: [String]) async throws {
        let runner = try BinaryRunner()
        let server = ["--server", "http://127.0.0.1:1", "--user", "admin"]
        let missing = try await runner.run(command + ["--file", "/nowhere/x.mp4"] + server)
        #expect(missing.exitCode == 2)
        #expect(
            missing.errors == "mediactl: error: cannot read \"/nowhere/x.mp4\": no such file\n"
                + "mediactl: hint: check the spelling of the path\n"
        )
        let directory = try await runner.run(command + ["--file", runner.home.path] + server)
        #expect(directory.exitCode == 2)
        #expect(directory.errors.contains("cannot read \"\(runner.home.path)\": it is a directory"))
    }

    // MARK: Hints

    /// The command in a hint uses the server and the login from the command line.
    @Test func theCommandOfAHintWorksWhenPasted() async throws {
        let fixture = try await Fixture()
        try await fixture.upload("One")
        var runner = try BinaryRunner()
        runner.environment["MEDIACTL_PASSWORD"] = "admin"
        let login = ["--server", fixture.sandbox.baseURL, "--user", "admin"]
        let refused = try await runner.run(["uploads", "delete", "1", "--as-admin", "--yes"] + login)
        let hint = try #require(refused.errors.components(separatedBy: "hint: mediactl ").last)
        #expect(hint == "media show 1 --server \(fixture.sandbox.baseURL) --user admin\n")
        let words = hint.split(whereSeparator: \.isWhitespace).map(String.init)
        #expect(try await runner.run(words).output.contains("One"))
        let unknown = try await runner.run(["uploads", "delete", "1", "--yes"] + login)
        #expect(
            unknown.errors.contains(
                "hint: an administrator can delete it: mediactl uploads delete 1 --as-admin "
                    + "--server \(fixture.sandbox.baseURL) --user admin\n"
            )
        )
    }

    @Test func severalProfilesAreSuggested() async throws {
        let runner = try BinaryRunner()
        let file = runner.home.file("config.yaml")
        let text = "profiles:\n  a: {server: \"http://127.0.0.1:1\"}\n  b: {server: \"http://127.0.0.1:2\"}\n"
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        for command in [["media", "list"], ["doctor"]] {
            let result = try await runner.run(command + ["--config", file])
            #expect(result.exitCode == 2)
            #expect(
                result.errors == "mediactl: error: no server configured\n"
                    + "mediactl: hint: set --server URL or --profile NAME, or default_profile in the settings\n"
            )
        }
    }

    // MARK: Lost tokens

    @Test(arguments: dialects)
    func aFileWithALostTokenCanBeDeleted(_ dialect: String) async throws {
        let fixture = try await Fixture(dialect: dialect, faults: ["upload:no-token"])
        try await fixture.upload("One")
        let bare = try await fixture.run(["uploads", "delete", "1", "--yes"])
        #expect(bare.exitCode == 11)
        #expect(bare.errors.contains("mediactl uploads delete 1 --as-admin"))
        // The journal on this machine has the checksum; on another machine, it must be specified.
        let result = try await fixture.run(["uploads", "delete", "1", "--as-admin", "--yes"])
        #expect(result.output == "deleted 1 \"\(dialect == "d2" ? "one" : "One")\" from \(fixture.sandbox.scope)\n")
        #expect(try fixture.sandbox.storedFiles().isEmpty)
    }

    @Test func elsewhereAChecksumIsRequired() async throws {
        let fixture = try await Fixture()
        try await fixture.upload("One")
        let other = try BinaryRunner()
        func delete(_ arguments: [String]) async throws -> ChildResult {
            try await other.run(
                ["uploads", "delete", "--as-admin", "--user", "admin", "--server", fixture.sandbox.baseURL] + arguments,
                extra: ["MEDIACTL_PASSWORD": "admin"]
            )
        }
        #expect(try await delete(["1", "--yes"]).exitCode == 2)
        let wrong = try await delete(["1", "--yes", "--sha256", String(repeating: "0", count: 64)])
        #expect(wrong.exitCode == 11)
        #expect(wrong.errors.contains("the server has a different file with the ID 1; nothing was deleted"))
        #expect(try await delete(["7", "--yes", "--file", fixture.file("One.mp4")]).exitCode == 5)
        #expect(try fixture.sandbox.storedFiles().count == 1)
        let dry = try await delete(["1", "--dry-run"])
        #expect(dry.output == "1 \"One\" would be deleted from \(fixture.sandbox.scope)\n")
        // Without an ID, the listing finds the file.
        let found = try await delete(["--yes", "--file", fixture.file("One.mp4")])
        #expect(found.output == "deleted 1 \"One\" from \(fixture.sandbox.scope)\n")
        #expect(try fixture.sandbox.storedFiles().isEmpty)
        #expect(try await delete(["--yes", "--file", fixture.file("One.mp4")]).exitCode == 5)
    }

    @Test func theServersFileIsShownBeforeThePrompt() async throws {
        let fixture = try await Fixture()
        try await fixture.upload("One")
        let other = try BinaryRunner()
        let child = try other.start(
            ["uploads", "delete", "1", "--as-admin", "--user", "admin", "--server", fixture.sandbox.baseURL],
            streams: .terminal(columns: 160),
            extra: ["MEDIACTL_PASSWORD": "admin"]
        )
        try await child.respond(to: "Delete it? [y/N] ", with: "no\n")
        let result = try await child.finish()
        #expect(result.exitCode == 1)
        #expect(result.output.contains("  1  2026-03-01  The Larks  \"One\"  (3.00 kB, sha-256 "))
        #expect(try fixture.sandbox.storedFiles().count == 1)
    }

    @Test func aChecksumSelectsALocalEntry() async throws {
        let fixture = try await Fixture()
        try await fixture.upload("One")
        try await fixture.upload("Two")
        let none = try await fixture.run(
            ["uploads", "delete", "--yes", "--sha256", String(repeating: "0", count: 64)],
            user: "uploader"
        )
        #expect(none.exitCode == 11)
        let other = try await fixture.run(
            ["uploads", "delete", "1", "--yes", "--file", fixture.file("Two.mp4")],
            user: "uploader"
        )
        #expect(other.exitCode == 2 && other.errors.contains("1 has a different checksum: "), "\(other.errors)")
        let result = try await fixture.run(
            ["uploads", "delete", "--yes", "--file", fixture.file("Two.mp4")],
            user: "uploader"
        )
        #expect(result.output == "deleted 2 \"Two\" from \(fixture.sandbox.scope)\n")
        #expect(try fixture.sandbox.storedFiles().count == 1)
    }
}
