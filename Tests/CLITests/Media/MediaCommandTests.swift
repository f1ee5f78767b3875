import Foundation
import TestSupport
import Testing

/// `mediactl media` and `uploads delete --as-admin`: the program against the sandbox.
@Suite(.prompt) struct MediaCommandTests {
    private struct Scene: Sendable {
        let sandbox: SandboxProcess
        let runner: BinaryRunner

        init(dialect: String = "d3", faults: [String] = []) async throws {
            sandbox = try await SandboxProcess.start(dialect: dialect, faults: faults)
            var runner = try BinaryRunner()
            runner.environment["MEDIACTL_SERVER"] = sandbox.baseURL
            self.runner = runner
        }

        var scope: String { String(sandbox.baseURL.dropFirst("http://".count)) }

        func file(_ name: String) -> String { runner.home.file(name) }

        /// Uploads a file with unique content; the first has ID 1.
        func upload(_ label: String, date: String = "2026-03-01", user: String = "uploader") async throws {
            try FaultStage.writeMovie(to: file("\(label).mp4"), byteCount: 3000, seed: UInt8(label.utf8.first ?? 0))
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
        let scene = try await Scene(dialect: dialect)
        try await scene.upload("Encore")
        try await scene.upload("First", date: "2026-03-02")
        let list = try await scene.run(["media", "list"], user: user)
        #expect(list.exitCode == 0)
        #expect(list.lines.count == 3)
        #expect(list.lines[0].hasPrefix("ID  EVENT DATE"))
        let find = try await scene.run(
            ["media", "find", "--event-date", "2026-03-01", "--org-name", "The  Larks", "--label", "Encore"],
            user: user
        )
        #expect(find.exitCode == 0)
        #expect(find.lines.count == 2)
        #expect(find.lines[1].hasPrefix(" 1  2026-03-01"))
        let byFile = try await scene.run(["media", "find", "--file", scene.file("First.mp4")], user: user)
        #expect(byFile.lines.last?.hasPrefix(" 2  2026-03-02") == true)
        let nothing = try await scene.run(["media", "find", "--label", "Nothing"], user: user)
        #expect(nothing.exitCode == 5)
        #expect(nothing.output.isEmpty)
    }

    @Test func recordsHaveTheDocumentedShape() async throws {
        let scene = try await Scene()
        try await scene.upload("One")
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
            let result = try await scene.run(arguments + ["--json"])
            #expect(result.exitCode == code, "\(arguments) \(result.errors)")
            for line in result.lines { try JSONSchemaTests.expectExactShape(line, schema: schema) }
            #expect(result.lines.last?.contains(#""exit_code":\#(code)}"#) == true)
        }
    }

    @Test func detailsRequireTheRight() async throws {
        let scene = try await Scene()
        try await scene.upload("One")
        for arguments in [["show", "1"], ["list", "--details"], ["delete", "1", "--yes"]] {
            let result = try await scene.run(["media"] + arguments, user: "viewer")
            #expect(result.exitCode == 4)
            #expect(result.errors.contains("login failed (401)"))
        }
        let uploader = try await scene.run(["media", "delete", "1", "--yes"], user: "uploader")
        #expect(uploader.exitCode == 4)
        #expect(uploader.errors.contains("only the administrator can do this; log in with --user admin"))
        #expect(try scene.sandbox.storedFiles().count == 1)
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
        let scene = try await Scene(dialect: dialect)
        for label in ["A", "B", "C"] { try await scene.upload(label, user: "admin") }
        try await scene.upload("Kept", date: "2026-03-02")
        let filters = ["--event-date", "2026-03-01", "--org-name", "The Larks"]
        let dry = try await scene.run(["media", "delete", "-n"] + filters)
        #expect(dry.lines.count == 3 && dry.exitCode == 0)
        #expect(try scene.sandbox.storedFiles().count == 4)
        let child = try scene.runner.start(
            ["media", "delete", "--user", "admin"] + filters,
            streams: .terminal(columns: 160),
            extra: ["MEDIACTL_PASSWORD": "admin"]
        )
        try await child.wait(for: "Delete 3 files? [y/N] ")
        child.write("y\n")
        let result = try await child.finish()
        #expect(result.exitCode == 0)
        #expect(result.output.components(separatedBy: "sha-256").count == 4)
        #expect(result.output.components(separatedBy: "deleted").count == 4)
        #expect(try scene.sandbox.storedFiles().count == 1)
        // The entries of the deleted files are gone as well.
        #expect(try await scene.runner.run(["uploads", "list"]).lines.count == 2)
    }

    /// On D1 and D2 one label is enough for a file to be listed in both events (gighive contract section 7); on D3
    /// the bytes are linked.
    @Test(arguments: dialects)
    func aFileOfTwoEventsIsNotDeletedByOneOfThem(_ dialect: String) async throws {
        let scene = try await Scene(dialect: dialect)
        try await scene.upload("Kept")
        if dialect == "d3" {
            try await scene.upload("Kept", date: "2026-03-02")
        } else {
            try FaultStage.writeMovie(to: scene.file("other.mp4"), byteCount: 4000, seed: 9)
            let event = ["--event-date", "2026-03-02", "--org-name", "Others", "--label", "Kept"]
            #expect(try await scene.run(["upload", scene.file("other.mp4")] + event, user: "uploader").exitCode == 0)
        }
        try await scene.upload("Gone")
        let before = try scene.sandbox.storedFiles().count
        let result = try await scene.run(["media", "delete", "--event-date", "2026-03-01", "--yes", "--json"])
        #expect(try scene.sandbox.storedFiles().count == before - 1)
        #expect(result.output.contains("\"code\":\"in_other_event\""))
        #expect(result.exitCode == 3)
        #expect(result.errors.contains("mediactl media delete 1"))
        // By its ID it is deleted from all of them.
        #expect(try await scene.run(["media", "delete", "1", "--yes"]).exitCode == 0)
        #expect(try scene.sandbox.storedFiles().count == before - 2)
    }

    @Test func nothingIsDeletedWithoutConfirmation() async throws {
        let scene = try await Scene()
        try await scene.upload("One")
        let result = try await scene.run(["media", "delete", "1"])
        #expect(result.exitCode == 2)
        let child = try scene.runner.start(
            ["media", "delete", "1", "--user", "admin"],
            streams: .terminal(columns: 100),
            extra: ["MEDIACTL_PASSWORD": "admin"]
        )
        try await child.wait(for: "Delete 1 file? [y/N] ")
        child.write("\n")
        #expect(try await child.finish().exitCode == 1)
        #expect(try scene.sandbox.storedFiles().count == 1)
    }

    /// The file name in an organizer's mail is not a name on the server, but usually the label.
    @Test(arguments: dialects)
    func anOriginalFileNameLeadsToTheFile(_ dialect: String) async throws {
        let scene = try await Scene(dialect: dialect)
        try await scene.upload("encore 1")
        try await scene.upload("other")
        let found = try await scene.run(["media", "find", "--file-name", "Encore 1.mp4"])
        #expect(found.exitCode == 0 && found.lines.count == 2)
        let deleted = try await scene.run(["media", "delete", "--file-name", "encore 1.mp4", "--yes"])
        #expect(deleted.output == "deleted 1 \"encore 1\" from \(scene.scope)\n")
        #expect(try scene.sandbox.storedFiles().count == 1)
    }

    /// Labels are not unique, so `--yes` confirms a guess only if it is unambiguous.
    @Test(arguments: dialects)
    func anAmbiguousFileNameIsNotConfirmedInAdvance(_ dialect: String) async throws {
        let scene = try await Scene(dialect: dialect)
        for (index, date) in ["2026-03-01", "2026-03-02"].enumerated() {
            let file = scene.file("\(index).mp4")
            try FaultStage.writeMovie(to: file, byteCount: 3000, seed: UInt8(index))
            let result = try await scene.run(
                ["upload", file, "--event-date", date, "--label", "encore"],
                user: "uploader"
            )
            try #require(result.exitCode == 0)
        }
        let result = try await scene.run(["media", "delete", "--file-name", "encore.mp4", "--yes"])
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("2 files match --file-name \"encore.mp4\", and --yes confirms only one"))
        let hint = try #require(result.errors.split(separator: "\n").first { $0.contains("hint:") })
        #expect(Set(hint.split(separator: " ").suffix(4).prefix(2).map(String.init)) == ["1", "2"], "\(hint)")
        #expect(try scene.sandbox.storedFiles().count == 2)
        let child = try scene.runner.start(
            ["media", "delete", "--file-name", "encore.mp4", "--user", "admin"],
            streams: .terminal(columns: 160),
            extra: ["MEDIACTL_PASSWORD": "admin"]
        )
        try await child.wait(for: "Delete 2 files? [y/N] ")
        child.write("y\n")
        #expect(try await child.finish().exitCode == 0)
        #expect(try scene.sandbox.storedFiles().isEmpty)
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

    /// The command of a hint uses the server and the login of the command line.
    @Test func theCommandOfAHintWorksWhenPasted() async throws {
        let scene = try await Scene()
        try await scene.upload("One")
        var runner = try BinaryRunner()
        runner.environment["MEDIACTL_PASSWORD"] = "admin"
        let login = ["--server", scene.sandbox.baseURL, "--user", "admin"]
        let refused = try await runner.run(["uploads", "delete", "1", "--as-admin", "--yes"] + login)
        let hint = try #require(refused.errors.components(separatedBy: "hint: mediactl ").last)
        #expect(hint == "media show 1 --server \(scene.sandbox.baseURL) --user admin\n")
        let words = hint.split(whereSeparator: \.isWhitespace).map(String.init)
        #expect(try await runner.run(words).output.contains("One"))
        let unknown = try await runner.run(["uploads", "delete", "1", "--yes"] + login)
        #expect(
            unknown.errors.contains(
                "hint: an administrator can delete it: mediactl uploads delete 1 --as-admin "
                    + "--server \(scene.sandbox.baseURL) --user admin\n"
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
        let scene = try await Scene(dialect: dialect, faults: ["upload:no-token"])
        try await scene.upload("One")
        let bare = try await scene.run(["uploads", "delete", "1", "--yes"])
        #expect(bare.exitCode == 11)
        #expect(bare.errors.contains("mediactl uploads delete 1 --as-admin"))
        // The journal of this machine has the checksum; another machine must specify it.
        let result = try await scene.run(["uploads", "delete", "1", "--as-admin", "--yes"])
        #expect(result.output == "deleted 1 \"\(dialect == "d2" ? "one" : "One")\" from \(scene.scope)\n")
        #expect(try scene.sandbox.storedFiles().isEmpty)
    }

    @Test func elsewhereAChecksumIsRequired() async throws {
        let scene = try await Scene()
        try await scene.upload("One")
        let other = try BinaryRunner()
        func delete(_ arguments: [String]) async throws -> ChildResult {
            try await other.run(
                ["uploads", "delete", "--as-admin", "--user", "admin", "--server", scene.sandbox.baseURL] + arguments,
                extra: ["MEDIACTL_PASSWORD": "admin"]
            )
        }
        #expect(try await delete(["1", "--yes"]).exitCode == 2)
        let wrong = try await delete(["1", "--yes", "--sha256", String(repeating: "0", count: 64)])
        #expect(wrong.exitCode == 11)
        #expect(wrong.errors.contains("the server has another file with the ID 1; nothing was deleted"))
        #expect(try await delete(["7", "--yes", "--file", scene.file("One.mp4")]).exitCode == 5)
        #expect(try scene.sandbox.storedFiles().count == 1)
        let dry = try await delete(["1", "--dry-run"])
        #expect(dry.output == "1 \"One\" would be deleted from \(scene.scope)\n")
        // Without an ID, the listing finds the file.
        let found = try await delete(["--yes", "--file", scene.file("One.mp4")])
        #expect(found.output == "deleted 1 \"One\" from \(scene.scope)\n")
        #expect(try scene.sandbox.storedFiles().isEmpty)
        #expect(try await delete(["--yes", "--file", scene.file("One.mp4")]).exitCode == 5)
    }

    @Test func theServersFileIsShownBeforeThePrompt() async throws {
        let scene = try await Scene()
        try await scene.upload("One")
        let other = try BinaryRunner()
        let child = try other.start(
            ["uploads", "delete", "1", "--as-admin", "--user", "admin", "--server", scene.sandbox.baseURL],
            streams: .terminal(columns: 160),
            extra: ["MEDIACTL_PASSWORD": "admin"]
        )
        try await child.wait(for: "Delete it? [y/N] ")
        child.write("no\n")
        let result = try await child.finish()
        #expect(result.exitCode == 1)
        #expect(result.output.contains("  1  2026-03-01  The Larks  \"One\"  (3.00 kB, sha-256 "))
        #expect(try scene.sandbox.storedFiles().count == 1)
    }

    @Test func aChecksumSelectsALocalEntry() async throws {
        let scene = try await Scene()
        try await scene.upload("One")
        try await scene.upload("Two")
        let none = try await scene.run(
            ["uploads", "delete", "--yes", "--sha256", String(repeating: "0", count: 64)],
            user: "uploader"
        )
        #expect(none.exitCode == 11)
        let other = try await scene.run(
            ["uploads", "delete", "1", "--yes", "--file", scene.file("Two.mp4")],
            user: "uploader"
        )
        #expect(other.exitCode == 11)
        let result = try await scene.run(
            ["uploads", "delete", "--yes", "--file", scene.file("Two.mp4")],
            user: "uploader"
        )
        #expect(result.output == "deleted 2 \"Two\" from \(scene.scope)\n")
        #expect(try scene.sandbox.storedFiles().count == 1)
    }
}
