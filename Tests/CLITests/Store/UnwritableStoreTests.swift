import Foundation
import MediaStore
import TestSupport
import Testing

/// The store on disks that are full or read-only, and in places that are not directories.
@Suite struct UnwritableStoreTests {
    private let runner: BinaryRunner

    init() throws { runner = try BinaryRunner() }

    // MARK: Backups

    @Test(.enabled(if: SmallDisk.isAvailable, SmallDisk.requirement))
    func aBackupToAFullDiskReportsItsFile() async throws {
        try runner.store().addTwoTokens()
        let disk = try SmallDisk(kibibytes: 64)
        try disk.fill(leavingPages: 1)
        let file = disk.path + "/copy.sqlite"
        let result = try await runner.run(["store", "backup", file])
        #expect(result.exitCode == 12, "\(result)")
        #expect(result.errors.contains("no space left for \"\(file)\"\n"), "\(result)")
        #expect(!result.errors.contains("tokens.sqlite"), "\(result)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path) == ["filler"])
    }

    // MARK: Without a store

    /// An empty list can be printed without writing.
    @Test(
        .enabled(if: SmallDisk.isAvailable, SmallDisk.requirement),
        arguments: [true, false],
        ["/data", "/missing/data"]
    )
    func aMissingStoreThatCannotBeCreatedIsEmpty(isFull: Bool, name: String) async throws {
        let disk = try SmallDisk(kibibytes: 64)
        if name == "/data" { _ = try DataDirectory.open(disk.path + name) }
        if isFull { try disk.fill() } else { try disk.makeReadOnly() }
        for (number, command) in [
            ["uploads", "list"], ["store", "check"], ["uploads", "export", "--output", "-"], ["uploads", "show", "18"],
            ["store", "backup", "FILE"],
        ].enumerated() {
            let line = { (directory: String, copy: String) in
                command.map { $0 == "FILE" ? runner.home.file(copy) : $0 } + ["--data-dir", directory]
            }
            let result = try await runner.run(line(disk.path + name, "a\(number)"))
            let expected = try await runner.run(line(runner.home.file("new-\(number)"), "b\(number)"))
            #expect(result.exitCode == expected.exitCode, "\(result)")
            // There is nothing to back up.
            if command.contains("backup") {
                #expect(result.exitCode == 12, "\(result)")
            } else {
                #expect([0, 5, 11].contains(result.exitCode), "\(result)")
            }
            #expect(result.lines.count == expected.lines.count, "\(result)")
            // The note about the disk is the only difference.
            let errors = result.errors.replacing(disk.path + name, with: runner.home.file("new-\(number)"))
                .split(separator: "\n").filter { !$0.hasSuffix("the store is opened read-only") }
            #expect(errors == expected.errors.split(separator: "\n"), "\(result)")
        }
        #expect(!FileManager.default.fileExists(atPath: disk.path + name + "/tokens.sqlite"))
        // A command that stores something still needs the disk.
        let writing = try await runner.run(["uploads", "responses", "--data-dir", disk.path + name])
        #expect(writing.exitCode == 12, "\(writing)")
    }

    // MARK: Captures and tapes

    /// Commands that store nothing.
    @Test(.enabled(if: SmallDisk.isAvailable, SmallDisk.requirement), arguments: [true, false])
    func capturesAndTapesAreReadWithoutWriting(isFull: Bool) async throws {
        let disk = try SmallDisk(kibibytes: 2048)
        var fixture = try await HashOnlyFixture()
        fixture.runner.environment["MEDIACTL_DATA_DIR"] = disk.path + "/data"
        #expect(try await fixture.run(["register", "-q"]).exitCode == 0)
        let id = try #require(try await fixture.send().items.first?["capture_id"] as? String)
        #expect(try await fixture.runner.run(["tapes", "create", "Party"]).exitCode == 0)
        if isFull { try disk.fill() } else { try disk.makeReadOnly() }
        let home = fixture.runner.home
        let commands: [([String], String)] = [
            (["hash-only", "list"], String(id.prefix(8))), (["hash-only", "show", id], "in the vault, encrypted"),
            (["hash-only", "verify", fixture.photo, "--offline"], "ok    vault"),
            (["hash-only", "export", id, "--bundle", home.file("bundle.json")], "exported"),
            (["hash-only", "export", id, "--output", home.file("copy.jpg")], "exported"),
            (["hash-only", "send", fixture.photo, "--no-depth", "--dry-run"], "hash_only"),
            (["tapes", "list"], "Party"), (["tapes", "show", "Party"], "Party"),
        ]
        for (command, output) in commands {
            let result = try await fixture.runner.run(command)
            #expect(result.exitCode == 0 && result.output.contains(output), "\(command): \(result)")
            #expect(isFull || result.errors.contains("the store is opened read-only"), "\(command): \(result)")
        }
        // A command that stores something still needs the disk.
        let writing = try await fixture.runner.run(["tapes", "create", "Other"])
        #expect(writing.exitCode == 12, "\(writing)")
    }

    // MARK: Not a directory

    @Test(arguments: ["", "/below", "/far/below"])
    func aFileInPlaceOfTheDataDirectoryIsReported(_ rest: String) async throws {
        let file = try runner.home.write("file", "text".utf8)
        for command in [
            ["uploads", "list"], ["uploads", "responses"], ["store", "check"], ["store", "repair"], ["tapes", "list"],
            ["hash-only", "list"], ["login", "status"], ["media", "list", "--server", "http://127.0.0.1:9"],
            ["upload", file, "--server", "http://127.0.0.1:9", "--any-extension"],
        ] {
            let result = try await runner.run(command + ["--data-dir", file + rest])
            #expect(result.exitCode == 12, "\(result)")
            #expect(result.errors.hasPrefix("mediactl: error: \"\(file)\" is not a directory\n"), "\(result)")
        }
        #expect(try Data(contentsOf: URL(filePath: file)) == Data("text".utf8))
    }
}
