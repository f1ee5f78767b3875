import Foundation
import MediaStore
import TestSupport
import Testing

@testable import MediaCLI

/// `mediactl store …`, run as a user would. None of the commands contacts a server.
@Suite struct StoreCommandTests {
    private let runner: BinaryRunner

    init() throws { runner = try BinaryRunner() }

    private var database: String { runner.home.file("data/mediactl/tokens.sqlite") }

    private func store() throws -> TokenStore { try runner.store() }

    private func fill() throws { try store().addTwoTokens() }

    private func removeStore() {
        for suffix in ["", "-wal", "-shm", ".checked"] {
            try? FileManager.default.removeItem(atPath: database + suffix)
        }
    }

    private func overwriteHeader() throws {
        let handle = try FileHandle(forWritingTo: URL(filePath: database))
        try handle.write(contentsOf: Data(repeating: 0xA5, count: 64))
        try handle.close()
    }

    private func summary(_ result: ChildResult, schema: String) throws -> [String: Any] {
        let line = try #require(result.lines.last)
        try JSONSchemaTests.expectExactShape(line, schema: schema)
        return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }

    @Test func checkCountsAndListsBackups() async throws {
        try fill()
        let backup = try await runner.run(["store", "backup", "--json"])
        let path = try #require(try summary(backup, schema: "store-backup")["path"] as? String)
        #expect(path.hasPrefix(runner.home.file("data/mediactl/backups/tokens-")))
        let result = try await runner.run(["store", "check", "--json"])
        let members = try summary(result, schema: "store-check")
        #expect(members["tokens"] as? Int == 2 && members["hosts"] as? Int == 1)
        #expect(members["exists"] as? Bool == true)
        #expect((members["backups"] as? [[String: Any]])?.first?["path"] as? String == path)
        let text = try await runner.run(["store", "check"])
        #expect(text.exitCode == 0 && text.output.contains("no errors found"), "\(text)")
        #expect(text.output.contains("2 for 1 host") && text.output.contains(path))
    }

    /// A mistyped `--data-dir` must not create a store.
    @Test(arguments: ["check", "repair"], [true, false])
    func noStoreIsCreated(command: String, hasDirectory: Bool) async throws {
        let path = runner.home.file("new/data")
        if hasDirectory { try makeDirectory(path) }
        let result = try await runner.run(["store", command, "--data-dir", path])
        #expect(result.exitCode == 0 && result.output.hasSuffix("no store yet\n"), "\(result)")
        #expect(FileManager.default.fileExists(atPath: path) == hasDirectory)
        let json = try await runner.run(["store", command, "--data-dir", path, "--json"])
        #expect(try summary(json, schema: "store-\(command)")["exists"] as? Bool == false)
        // A repair locks the directory, since a store may be in it.
        let names = command == "repair" ? ["locks"] : []
        #expect((try? FileManager.default.contentsOfDirectory(atPath: path)) == (hasDirectory ? names : nil))
    }

    /// Neither a mistyped `--data-dir` nor a mistyped file may create anything.
    @Test(
        arguments: [
            (["backup"], Int32(12), "there is no token store in"),
            (["backup", "new.sqlite"], 12, "nothing was backed up"),
            (["restore", "none.sqlite"], 2, "no such file"),
            (["restore", "text.sqlite"], 2, "no rows of a token store"),
            (["restore", "copy.sqlite", "--dry-run"], 0, ""),
        ],
        [true, false]
    )
    func nothingIsCreated(_ line: ([String], Int32, String), hasDirectory: Bool) async throws {
        try fill()
        let file = { runner.home.file($0) }
        #expect(try await runner.run(["store", "backup", file("copy.sqlite")]).exitCode == 0)
        try Data("text".utf8).write(to: URL(filePath: file("text.sqlite")))
        let path = file("mistyped/data")
        if hasDirectory { try makeDirectory(path) }
        let (words, code, message) = line
        let result = try await runner.run(
            ["store"] + words.map { $0.hasSuffix(".sqlite") ? file($0) : $0 } + ["--data-dir", path]
        )
        #expect(result.exitCode == code && (message.isEmpty || result.errors.contains(message)), "\(result)")
        if code == 0 { #expect(result.output == "2 delete tokens and 0 uploads would be restored\n", "\(result)") }
        #expect((try? FileManager.default.contentsOfDirectory(atPath: path)) == (hasDirectory ? [] : nil))
        #expect(!FileManager.default.fileExists(atPath: file("new.sqlite")))
    }

    /// The directory is printed, since it may be a mistyped one.
    @Test func aRestoreCreatesTheStore() async throws {
        try fill()
        let copy = runner.home.file("copy.sqlite")
        #expect(try await runner.run(["store", "backup", copy]).exitCode == 0)
        let path = runner.home.file("new/data")
        for note in ["mediactl: note: created the token store in \"\(path)\"\n", ""] {
            let result = try await runner.run(["store", "restore", copy, "--data-dir", path])
            #expect(result.exitCode == 0 && result.errors == note, "\(result)")
        }
        let store = try TokenStore(in: DataDirectory.open(path))
        #expect(try store.tokens(host: nil).count == 2)
    }

    @Test func aBackupNeverReplacesAFile() async throws {
        try fill()
        let file = runner.home.file("copy.sqlite")
        let first = try await runner.run(["store", "backup", file])
        #expect(first.exitCode == 0 && first.output == "backed up 2 delete tokens to \(file)\n", "\(first)")
        #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
        let second = try await runner.run(["store", "backup", file])
        #expect(second.exitCode == 10 && second.errors.contains("already exists; it was not changed"), "\(second)")
        let nowhere = try await runner.run(["store", "backup", runner.home.file("none/copy.sqlite")])
        #expect(nowhere.exitCode == 2 && nowhere.errors.contains("cannot create"), "\(nowhere)")
    }

    /// The error's hint leads to a usable store.
    @Test func aDamagedStoreIsRepairedByTheHint() async throws {
        try fill()
        try overwriteHeader()
        for command in [["uploads", "list"], ["store", "check"], ["uploads", "clear", "--all", "--yes"]] {
            let result = try await runner.run(command)
            #expect(result.exitCode == 12, "\(command)")
            #expect(result.errors.contains("is not a usable token store"), "\(result)")
            #expect(result.errors.hasSuffix("salvage what it has: mediactl store repair\n"), "\(result)")
        }
        let dry = try await runner.run(["store", "repair", "--dry-run", "--json"])
        #expect(try summary(dry, schema: "store-repair")["tokens"] as? Int == 2)
        #expect(try await runner.run(["uploads", "list"]).exitCode == 12)
        let repair = try await runner.run(["store", "repair"])
        #expect(repair.exitCode == 0, "\(repair)")
        #expect(repair.output.contains("salvaged 2 delete tokens and 0 uploads"), "\(repair)")
        #expect(repair.output.contains("tokens.sqlite.damaged-"), "\(repair)")
        let listed = try await runner.run(["uploads", "list", "--json"])
        #expect(listed.exitCode == 0 && listed.lines.count == 3)
        let again = try await runner.run(["store", "repair"])
        #expect(
            again.exitCode == 0 && again.output == "the token store is not damaged; nothing to repair\n",
            "\(again)"
        )
    }

    /// SQLite's message has one line per page.
    @Test func damageIsPrintedAsOneLine() async throws {
        try fill()
        var bytes = try Data(contentsOf: URL(filePath: database))
        // Bytes 28 to 31 are the number of pages (https://www.sqlite.org/fileformat.html section 1.3).
        let count = bytes.count / 4096 + 2
        bytes.replaceSubrange(28..<32, with: withUnsafeBytes(of: UInt32(count).bigEndian) { Data($0) })
        bytes.append(Data(count: 8192))
        try bytes.write(to: URL(filePath: database))
        let found = "*** in database main ***; Page \(count - 1) is never used"
        for command in [["uploads", "list"], ["store", "check"]] {
            let result = try await runner.run(command)
            #expect(result.exitCode == 12 && result.errors.contains("store: \(found)\n"), "\(result)")
        }
        let repair = try await runner.run(["store", "repair"])
        #expect(repair.exitCode == 0 && repair.output.hasPrefix("damage: \(found)"), "\(repair)")
        #expect(!repair.output.contains("\\u{a}"), "\(repair)")
    }

    /// A file that replaces a store with a backup, and what a repair prints about it.
    struct Replacement: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let damage: String
        let description: String
        let make: @Sendable (_ path: String, _ elsewhere: String) throws -> Void
    }

    static let replacements = [
        Replacement(testDescription: "a link", damage: "a symbolic link", description: "a symbolic link to ELSEWHERE") {
            try makeLink($0, to: $1)
        },
        Replacement(testDescription: "a broken link", damage: "a symbolic link", description: "a broken symbolic link")
        {
            try makeLink($0, to: $1 + ".none")
        },
        Replacement(testDescription: "a directory", damage: "a directory", description: "a directory") { path, _ in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        },
    ]

    @Test(arguments: replacements) func anUnreadableStoreIsMovedAsideByTheHint(_ replacement: Replacement) async throws
    {
        try fill()
        let path = database
        let backup = try await runner.run(["store", "backup", "--json"])
        let copy = try #require(try summary(backup, schema: "store-backup")["path"] as? String)
        let elsewhere = runner.home.file("elsewhere.sqlite")
        try FileManager.default.moveItem(atPath: path, toPath: elsewhere)
        for suffix in ["-wal", "-shm", ".checked"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        try replacement.make(path, elsewhere)
        let before = try Data(contentsOf: URL(filePath: elsewhere))
        let refused = try await runner.run(["uploads", "list"])
        #expect(refused.exitCode == 12, "\(refused)")
        #expect(refused.errors.hasSuffix("salvage what it has: mediactl store repair\n"), "\(refused)")
        let description = replacement.description.replacing("ELSEWHERE", with: elsewhere)
        let head = "damage: \(replacement.damage) in place of \(path)\n"
        let unread = "no delete token was read from \(path), \(description)\n"
        let dry = try await runner.run(["store", "repair", "--dry-run"])
        #expect(dry.exitCode == 3 && dry.output == head + "nothing can be salvaged\n" + unread, "\(dry)")
        let json = try await runner.run(["store", "repair", "--dry-run", "--json"])
        #expect(try summary(json, schema: "store-repair")["unread"] as? [String] == [path])
        let repair = try await runner.run(["store", "repair"])
        #expect(repair.exitCode == 3, "\(repair)")
        let moved = head + "nothing was salvaged\n" + unread + "it was moved to \(path).damaged-"
        #expect(repair.output.hasPrefix(moved) && repair.lines.count == 4, "\(repair)")
        let hint = "mediactl: hint: restore the newest backup: mediactl store restore \(copy)\n"
        #expect(repair.errors == hint, "\(repair)")
        let listed = try await runner.run(["uploads", "list", "--json"])
        #expect(listed.exitCode == 0 && listed.lines.count == 1, "\(listed)")
        #expect(try Data(contentsOf: URL(filePath: elsewhere)) == before)
        // The tokens in the unchanged file can be restored by hand.
        #expect(try await runner.run(["store", "restore", elsewhere]).output.contains("restored 2 delete tokens"))
    }

    @Test func aRepairWithoutAnyRowIsNotASuccess() async throws {
        try fill()
        try Data("this is not a database".utf8).write(to: URL(filePath: database))
        let repair = try await runner.run(["store", "repair"])
        #expect(repair.exitCode == 3 && repair.output.contains("\nnothing was salvaged\n"), "\(repair)")
        #expect(repair.output.contains("the damaged file was kept as") && repair.errors.isEmpty, "\(repair)")
    }

    // MARK: A missing store

    /// The first command creates an empty store; later commands print the same hint.
    @Test func aMissingStoreWithABackupIsReported() async throws {
        try fill()
        let made = try await runner.run(["store", "backup", "--json"])
        let copy = try #require(try summary(made, schema: "store-backup")["path"] as? String)
        removeStore()
        let hint = "mediactl: hint: restore the newest backup: mediactl store restore \(copy)"
        let readers = [
            ["store", "repair"], ["uploads", "list"], ["store", "check"], ["store", "repair"],
            ["uploads", "export", "--output", "-"],
        ]
        for command in readers {
            let result = try await runner.run(command)
            #expect(result.exitCode == 0 && result.errors.hasSuffix(hint + "\n"), "\(result)")
        }
        // The backups of an empty store would replace those of the missing one.
        let refused = try await runner.run(["store", "backup"])
        #expect(refused.exitCode == 12 && refused.errors.hasSuffix(hint + "\n"), "\(refused)")
        #expect(FileManager.default.fileExists(atPath: copy))
        let clip = try runner.home.write("clip.mp4", "clip".utf8)
        let upload = try await runner.run(["upload", clip, "--dry-run", "--server", "http://127.0.0.1:9"])
        #expect(upload.exitCode == 0 && upload.errors.contains(hint), "\(upload)")
        let directory = runner.home.file("data/mediactl")
        let named = try await runner.run(["uploads", "list", "--data-dir", directory])
        let complete = hint.replacing("mediactl store", with: "mediactl --data-dir \(directory) store")
        #expect(named.errors.hasSuffix(complete + "\n"), "\(named)")
        #expect(try await runner.run(["store", "restore", copy]).exitCode == 0)
        for entry in try store().tokens(host: nil) { try store().remove(entry) }
        for command in readers {
            let result = try await runner.run(command)
            #expect(result.exitCode == 0 && !result.errors.contains("hint"), "\(result)")
        }
    }

    /// Looking for a backup to suggest must not make the requested command fail.
    @Test func anUnreadableBackupIsNotAnErrorOfAnEmptyStore() async throws {
        try fill()
        let made = try await runner.run(["store", "backup", "--json"])
        let newer = try #require(try summary(made, schema: "store-backup")["path"] as? String)
        removeStore()
        let copy = (newer as NSString).deletingLastPathComponent + "/tokens-20260101T000000Z.sqlite"
        try FileManager.default.copyItem(atPath: newer, toPath: copy)
        #expect(chmod(newer, 0) == 0)
        // Root without these capabilities is an ordinary owner of its files.
        let ordinary = geteuid() == 0 ? ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] : []
        for command in [["uploads", "list"], ["store", "check"], ["uploads", "export", "--output", "-"]] {
            let result = try await runner.run(command, through: ordinary)
            let reason = "cannot use \"\(newer)\": cannot open: permission denied"
            let warning = "mediactl: warning: a backup cannot be read: \(reason)\n"
            let hint = "mediactl: hint: restore the newest backup: mediactl store restore \(copy)\n"
            #expect(result.exitCode == 0 && result.errors.hasSuffix(warning + hint), "\(result)")
        }
    }

    @Test func anEmptyStoreWithoutBackupsPrintsNoHint() async throws {
        // A backup without any token does not count.
        #expect(try await runner.run(["uploads", "list"]).exitCode == 0)
        #expect(try await runner.run(["store", "backup"]).exitCode == 0)
        for command in [["uploads", "list"], ["store", "check"]] {
            let result = try await runner.run(command)
            #expect(result.exitCode == 0 && !result.errors.contains("hint"), "\(result)")
        }
    }

    @Test func theHintIncludesTheDataDirectory() async throws {
        try fill()
        try overwriteHeader()
        let directory = runner.home.file("data/mediactl")
        let result = try await runner.run(["uploads", "list", "--data-dir", directory])
        #expect(result.errors.hasSuffix("mediactl --data-dir \(directory) store repair\n"), "\(result)")
    }

    @Test func tokensThatCannotBeSalvagedAreListed() async throws {
        try fill()
        let path = database
        var bytes = try Data(contentsOf: URL(filePath: path))
        let token = Data(JSONSchemaTests.entry.token.secret.utf8)
        let row = try #require(bytes.range(of: token)).lowerBound
        let page = row / 4096 * 4096
        bytes.resetBytes(in: page..<page + 4096)
        try bytes.write(to: URL(filePath: path))
        let text = try await runner.run(["store", "repair", "--dry-run"])
        #expect(text.exitCode == 3 && text.output.contains("2 delete tokens could not be salvaged:\n"), "\(text)")
        #expect(text.output.contains("\n  18 on h:8080\n"), "\(text)")
        let result = try await runner.run(["store", "repair", "--json"])
        #expect(try summary(result, schema: "store-repair")["lost"] as? Int == 2)
        try JSONSchemaTests.expectExactShape(try #require(result.lines.first), schema: "store-repair")
    }

    @Test func aRestoreAddsWhatIsMissing() async throws {
        try fill()
        let file = runner.home.file("copy.sqlite")
        #expect(try await runner.run(["store", "backup", file]).exitCode == 0)
        #expect(try await runner.run(["uploads", "clear", "--all", "--yes"]).exitCode == 0)
        let dry = try await runner.run(["store", "restore", file, "--dry-run"])
        #expect(dry.output == "2 delete tokens and 0 uploads would be restored\n", "\(dry)")
        let result = try await runner.run(["store", "restore", file, "--json"])
        let members = try summary(result, schema: "store-restore")
        #expect(members["tokens"] as? Int == 2 && members["items"] as? Int == 2)
        #expect(try store().tokens(host: nil).count == 2)
        let again = try await runner.run(["store", "restore", file])
        #expect(again.output == "restored 0 delete tokens and 0 uploads, 2 already stored\n", "\(again)")
    }

    @Test(arguments: ["none.sqlite", "text.sqlite"]) func aFileThatIsNotABackupIsRefused(_ name: String) async throws {
        try Data("text".utf8).write(to: URL(filePath: runner.home.file("text.sqlite")))
        let result = try await runner.run(["store", "restore", runner.home.file(name)])
        #expect(result.exitCode == 2 && result.errors.contains("cannot restore"), "\(result)")
    }

    @Test func theStoreIsNotRestoredFromItself() async throws {
        try fill()
        let result = try await runner.run(["store", "restore", database])
        #expect(result.exitCode == 2 && result.errors.contains("it is the token store itself"), "\(result)")
    }

    // MARK: Automatic backups

    /// A backup is made after a command that may write, but not after one that only reads.
    @Test func aStoreWithoutABackupOfTodayIsBackedUp() async throws {
        try fill()
        #expect(try await runner.run(["store", "backup"]).exitCode == 0)
        let folder = runner.home.file("data/mediactl/backups")
        let names = { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }
        let old = "tokens-20260101T000000Z.sqlite"
        try FileManager.default.moveItem(atPath: "\(folder)/\(try #require(names().first))", toPath: "\(folder)/\(old)")
        #expect(try await runner.run(["uploads", "list"]).exitCode == 0)
        #expect(try names() == [old])
        #expect(try await runner.run(["uploads", "clear", "--server", "none", "--yes"]).exitCode == 0)
        #expect(try names().count == 2 && names().first == old)
        #expect(try await runner.run(["uploads", "clear", "--server", "none", "--yes"]).exitCode == 0)
        #expect(try names().count == 2, "one per day")
    }

    /// An upload into the empty store that a command created after the loss of an earlier one.
    @Test func tokensOfALostStoreAreReportedUntilTheyAreRestored() async throws {
        try fill()
        #expect(try await runner.run(["store", "backup"]).exitCode == 0)
        let folder = runner.home.file("data/mediactl/backups")
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: folder).first)
        let old = "\(folder)/tokens-20260101T000000Z.sqlite"
        try FileManager.default.moveItem(atPath: "\(folder)/\(name)", toPath: old)
        removeStore()
        var entry = JSONSchemaTests.entry
        entry.fileID = 20
        #expect(try store().add([entry]) == [.added])
        let warning = "warning: a backup has 2 delete tokens that the token store does not have\n"
        let hint = "hint: restore what is missing: mediactl store restore \(old)\n"
        // The first of these is the first command of the day that changes the store.
        for command in [["uploads", "clear", "--server", "none", "--yes"], ["store", "check"], ["store", "backup"]] {
            let result = try await runner.run(command)
            #expect(result.exitCode == 0, "\(result)")
            #expect(result.errors.contains(warning) && result.errors.contains(hint), "\(result)")
        }
        let check = try await runner.run(["store", "check", "--json"])
        #expect(try summary(check, schema: "store-check")["missing_tokens"] as? Int == 2)
        #expect(try await runner.run(["store", "restore", old]).exitCode == 0)
        let after = try await runner.run(["store", "check", "--json"])
        #expect(after.errors.isEmpty)
        #expect(try summary(after, schema: "store-check")["missing_tokens"] as? Int == 0)
    }

    @Test func aStoreCreatedTodayIsNotBackedUp() async throws {
        try fill()
        #expect(try await runner.run(["uploads", "clear", "--server", "none", "--yes"]).exitCode == 0)
        #expect(!FileManager.default.fileExists(atPath: runner.home.file("data/mediactl/backups")))
    }

    // MARK: Lists

    /// More rows than a table buffers are printed in blocks, with the same columns.
    @Test func aLongTableIsAligned() async throws {
        let store = try store()
        let entries = (1...10_500).map { number in
            var entry = JSONSchemaTests.entry
            entry.fileID = Int64(number)
            entry.orgName = number == 3 ? "A long organization" : "Tus"
            return entry
        }
        _ = try store.add(entries)
        let result = try await runner.run(["uploads", "list"])
        let lines = result.lines
        #expect(lines.count == 10_501 && lines.first?.hasPrefix("   ID  EVENT DATE  ORG") == true)
        let column = try #require(lines.first?.firstRange(of: "TYPE")?.lowerBound.utf16Offset(in: lines[0]))
        #expect(lines.dropFirst().allSatisfy { Array($0.utf16)[column] == UInt16(UInt8(ascii: "b")) })
        #expect(try await runner.run(["uploads", "list", "--limit", "2"]).lines.count == 3)
        #expect(try await runner.run(["uploads", "list", "--json"]).lines.count == 10_501)
    }
}

extension BinaryRunner {
    /// The token store of the runner's machine.
    func store() throws -> TokenStore { try TokenStore(in: DataDirectory.open(home.file("data/mediactl"))) }
}

extension TokenStore {
    /// Adds two tokens of one host.
    func addTwoTokens() throws {
        for fileID in [18, 19] as [Int64] {
            var entry = JSONSchemaTests.entry
            entry.fileID = fileID
            #expect(try !add([entry]).contains(.known))
        }
    }
}
