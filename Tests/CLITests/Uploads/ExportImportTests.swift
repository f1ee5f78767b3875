import Foundation
import MediaStore
import TestSupport
import Testing

@testable import MediaCLI

/// `uploads export` and `uploads import`, run as a user would. Neither contacts a server.
@Suite struct ExportImportTests {
    private let machine: Machine
    private let token = String(repeating: "a", count: 64)

    init() throws { machine = try Machine() }

    /// A separate machine with its own settings and store.
    private struct Machine {
        let runner: BinaryRunner

        init() throws { runner = try BinaryRunner() }

        func store() throws -> TokenStore {
            try runner.store()
        }

        func file(_ name: String) -> String { runner.home.file(name) }

        func run(_ arguments: [String], input: String = "") async throws -> ChildResult {
            try await runner.run(["uploads"] + arguments, input: input)
        }
    }

    private func entry(
        _ fileID: Int64,
        digit: Character = "a",
        host: String = "h:8080",
        at seconds: Double = 1_780_000_000.25
    ) throws -> TokenEntry {
        var entry = JSONSchemaTests.entry
        entry.fileID = fileID
        entry.host = host
        entry.baseURL = "http://\(host)"
        entry.token = try #require(DeleteToken(String(repeating: digit, count: 64)))
        entry.createdAt = Date(timeIntervalSince1970: seconds)
        return entry
    }

    private func fill(_ machine: Machine, _ entries: [TokenEntry]) throws {
        let store = try machine.store()
        for entry in entries { #expect(try !store.add([entry]).contains(.known)) }
    }

    // MARK: Both ways

    @Test func anExportIsImportedOnAnotherMachine() async throws {
        let (first, second) = (try Machine(), try Machine())
        try fill(first, [entry(1), entry(1, digit: "b", at: 1_780_000_001), entry(2, host: "other")])
        let file = first.file("tokens.jsonl")
        let exported = try await first.run(["export", "--output", file, "--json"])
        #expect(exported.exitCode == 0)
        try JSONSchemaTests.expectExactShape(try #require(exported.lines.last), schema: "uploads-export")
        #expect(exported.lines.last?.contains(#""items":3"#) == true)
        #expect(!exported.output.contains(token) && !exported.errors.contains(token))

        let imported = try await second.run(["import", file, "--json"])
        #expect(imported.exitCode == 0)
        try JSONSchemaTests.expectExactShape(try #require(imported.lines.last), schema: "uploads-import")
        let counts = #""items":3,"added":2,"known":0,"buried":0,"conflicting":1,"not_on_server":0,"exit_code":0}"#
        #expect(imported.lines.last?.hasSuffix(counts) == true, "\(imported.output)")
        #expect(try rows(second) == rows(first))

        let again = try await second.run(["import", file])
        #expect(again.output == "imported 0 delete tokens, 3 already stored\n")
        #expect(try rows(second) == rows(first))
        // The second machine writes the same export, byte for byte.
        #expect(try await second.run(["export", "--output", second.file("copy")]).exitCode == 0)
        #expect(try Data(contentsOf: url(second.file("copy"))) == Data(contentsOf: url(file)))
    }

    private func rows(_ machine: Machine) throws -> [String] {
        try machine.store().tokens(host: nil, includeSuperseded: true)
            .map { String(decoding: TokenExport.line($0), as: UTF8.self) }
    }

    private func url(_ path: String) -> URL { URL(fileURLWithPath: path) }

    // MARK: Export

    @Test func theFileIsReadableByItsOwnerOnlyRegardlessOfTheUmask() async throws {
        try fill(machine, [entry(1), entry(2, host: "other")])
        let file = machine.file("tokens.jsonl")
        let result = try await machine.runner.run(
            ["uploads", "export", "--output", file, "--server", "H:8080"],
            through: ["/bin/sh", "-c", "umask 0777; exec \"$@\"", "sh"]
        )
        #expect(result.exitCode == 0)
        #expect(result.output == "exported 1 delete token to \(file)\n")
        var status = stat()
        #expect(stat(file, &status) == 0 && status.st_mode == S_IFREG | 0o600)
        let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 1 && lines[0].contains("\"delete_token\":\"\(token)\""))
    }

    /// --output - is as explicit as --show-token.
    @Test func aDashMeansStandardOutput() async throws {
        try fill(machine, [entry(1)])
        let result = try await machine.run(["export", "--output", "-"])
        #expect(result.exitCode == 0)
        #expect(result.lines.count == 1 && result.lines[0].contains("\"delete_token\":\"\(token)\""))
        #expect(!FileManager.default.fileExists(atPath: machine.file("-")))
        let json = try await machine.run(["export", "-o", "-", "--json"])
        #expect(json.exitCode == 2 && !json.output.contains(token))
    }

    @Test(arguments: ["file", "link"])
    func nothingIsOverwritten(kind: String) async throws {
        try fill(machine, [entry(1)])
        let (file, target) = (machine.file("tokens.jsonl"), machine.file("target"))
        if kind == "file" {
            try "mine".write(toFile: file, atomically: true, encoding: .utf8)
        } else {
            #expect(symlink(target, file) == 0)
        }
        let result = try await machine.run(["export", "--output", file, "--json"])
        #expect(result.exitCode == 10)
        #expect(result.errors.contains("already exists; it was not changed\nmediactl: hint: choose another name"))
        try JSONSchemaTests.expectExactShape(try #require(result.lines.last), schema: "uploads-export")
        #expect(try kind == "link" || String(contentsOfFile: file, encoding: .utf8) == "mine")
        #expect(!FileManager.default.fileExists(atPath: target))
    }

    @Test(.enabled(if: SmallDisk.isAvailable, SmallDisk.requirement))
    func aFullDiskLeavesNothingBehind() async throws {
        try fill(machine, (1...20).map { try entry($0) })
        let disk = try SmallDisk(kibibytes: 64)
        try disk.fill(leavingPages: 1)
        let result = try await machine.run(["export", "--output", disk.path + "/tokens.jsonl"])
        #expect(result.exitCode == 12)
        #expect(result.errors.contains("no space left for \"\(disk.path)/tokens.jsonl\""))
        #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path) == ["filler"])
    }

    @Test func standardOutputNeedsConsent() async throws {
        try fill(machine, [entry(1), entry(2)])
        let refused = try await machine.run(["export"])
        #expect(refused.exitCode == 2 && refused.output.isEmpty)
        #expect(refused.errors.contains("hint: write to a file with --output FILE, or use --output -"))
        let mixed = try await machine.run(["export", "--show-token", "--json"])
        #expect(mixed.exitCode == 2 && !mixed.output.contains(token))
        try JSONSchemaTests.expectExactShape(try #require(mixed.lines.last), schema: "uploads-export")

        let shown = try await machine.run(["export", "--show-token"])
        #expect(shown.exitCode == 0 && shown.lines.count == 2)
        let other = try Machine()
        let imported = try await other.run(["import", "-"], input: shown.output)
        #expect(imported.output == "imported 2 delete tokens\n")
        #expect(try rows(other) == rows(machine))
    }

    @Test func anExportToAFullDeviceIsAFailure() async throws {
        try fill(machine, [entry(1)])
        let result = try await machine.runner.run(
            ["uploads", "export", "--show-token"],
            streams: .outputFile("/dev/full")
        )
        #expect(result.exitCode == 1)
    }

    @Test func anEmptyExportIsReported() async throws {
        let result = try await machine.run(["export", "--server", "nowhere", "--output", machine.file("out")])
        #expect(result.exitCode == 0)
        #expect(result.errors == "mediactl: warning: no stored delete tokens for nowhere\n")
        #expect(try Data(contentsOf: url(machine.file("out"))).isEmpty)
        #expect(try await machine.run(["import", machine.file("out")]).output == "imported 0 delete tokens\n")
    }

    @Test(.enabled(if: access("/usr/bin/strace", X_OK) == 0, "requires strace: scripts/setup.sh test"))
    func theFileIsSyncedBeforeItIsReported() async throws {
        try fill(machine, [entry(1)])
        let trace = machine.file("trace")
        let result = try await machine.runner.run(
            ["uploads", "export", "--output", machine.file("tokens.jsonl")],
            through: ["/usr/bin/strace", "-f", "-y", "-e", "trace=fsync,renameat2,write", "-o", trace]
        )
        #expect(result.exitCode == 0)
        let lines = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n")
        // The file is written under a temporary name and renamed, and the rename must be on the disk as well.
        let written = try #require(lines.firstIndex { $0.contains("fsync(") && $0.contains(".part>") })
        let named = try #require(lines.firstIndex { $0.contains("renameat2(") && $0.contains("tokens.jsonl") })
        let kept = try #require(lines[named...].firstIndex { $0.contains("fsync(") })
        let announced = try #require(lines.firstIndex { $0.contains("exported 1") })
        #expect(written < named && named < kept && kept < announced)
    }

    @Test(
        .enabled(if: access("/usr/bin/strace", X_OK) == 0, "requires strace: scripts/setup.sh test"),
        arguments: ["EIO", "ENOSPC"]
    )
    func aFileWhoseNameCannotBeSyncedIsReportedAsComplete(error: String) async throws {
        try fill(machine, [entry(1)])
        let directory = machine.file("backup")
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        let file = directory + "/tokens.jsonl"
        // The sync of the file succeeds, but the sync of its directory fails.
        let strace = ["/usr/bin/strace", "-f", "-P", directory, "-e", "trace=fsync", "-o", machine.file("trace")]
        let result = try await machine.runner.run(
            ["uploads", "export", "--output", file],
            through: strace + ["-e", "inject=fsync:error=\(error)"]
        )
        #expect(result.exitCode == 1)
        let message = "cannot write \"\(file)\": it is complete, but could not be synced to disk: "
        #expect(result.errors.contains(message) && !result.errors.contains("removed"), "\(result.errors)")
        #expect(try Data(contentsOf: url(file)) == Data(TokenExport.line(entry(1)) + [UInt8(ascii: "\n")]))
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["tokens.jsonl"])
    }

    // MARK: Import

    @Test func removedTokensStayRemovedAndBothOfAConflictAreKept() async throws {
        try fill(machine, [entry(1), entry(2), entry(3)])
        try machine.store().remove(entry(2))
        let lines = try [
            entry(1), entry(2), entry(3, digit: "b", at: 1_790_000_000), entry(4), entry(4),
        ].map { String(decoding: TokenExport.line($0), as: UTF8.self) }
        let file = machine.file("tokens.jsonl")
        try lines.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
        let words = " (1 with another token for the same file), 2 already stored, 1 removed earlier\n"

        let before = try rows(machine)
        #expect(
            try await machine.run(["import", file, "--dry-run"]).output == "2 delete tokens would be imported" + words
        )
        let dry = try await machine.run(["import", file, "--dry-run", "--json"])
        try JSONSchemaTests.expectExactShape(try #require(dry.lines.last), schema: "uploads-import")
        #expect(try rows(machine) == before)

        let result = try await machine.run(["import", file])
        #expect(result.exitCode == 0 && result.output == "imported 2 delete tokens" + words)
        let store = try machine.store()
        #expect(try store.tokens(host: nil).map(\.fileID).sorted() == [1, 3, 4])
        #expect(try store.tokens(host: "h:8080", fileID: 3).map(\.token.secret.first) == ["b", "a"])
    }

    @Test(arguments: [
        ("http://h:8080", "http://elsewhere:8080", "\"base_url\" does not match \"host\""),
        ("http://h:8080", "http://h", "\"base_url\" does not match \"host\""),
        ("http://h:8080", "h:8080", "\"base_url\" does not match \"host\""),
        ("http://h:8080", "http://u:p@h:8080", "\"base_url\" does not match \"host\""),
        ("http://h:8080", "http://h:8080@elsewhere", "\"base_url\" does not match \"host\""),
        ("token-export/1", "token-export/2", "\"schema\" is not mediactl.token-export/1"),
        ("}", "", "not a JSON object"),
    ])
    func oneInvalidLineRefusesTheWholeFile(text: String, replacement: String, reason: String) async throws {
        let good = try String(decoding: TokenExport.line(entry(1)), as: UTF8.self)
        let file = machine.file("tokens.jsonl")
        try "\(good)\n\(good.replacing(text, with: replacement))\n".write(
            toFile: file,
            atomically: true,
            encoding: .utf8
        )
        let result = try await machine.run(["import", file, "--json"])
        #expect(result.exitCode == 2)
        try JSONSchemaTests.expectExactShape(try #require(result.lines.last), schema: "uploads-import")
        #expect(result.errors.contains("error: \"\(file)\", line 2: \(reason)\n"), "\(result.errors)")
        #expect(!result.errors.contains(token) && !result.output.contains(token))
        #expect(try machine.store().tokens(host: nil).isEmpty)
    }

    @Test func theAddressIsNormalizedAsInARequest() async throws {
        // 443 is the default port for https; an internationalized name is stored in punycode.
        var entry = try entry(1, host: "gighive.app")
        entry.baseURL = "https://GigHive.app:443/"
        let line = String(decoding: TokenExport.line(entry), as: UTF8.self)
        #expect(try await machine.run(["import", "-"], input: line).output == "imported 1 delete token\n")
    }

    @Test(arguments: [("missing", "no such file"), ("", "is a directory")])
    func unreadableFilesAreUsageErrors(name: String, reason: String) async throws {
        let result = try await machine.run(["import", machine.runner.home.path + "/" + name])
        #expect(result.exitCode == 2)
        #expect(result.errors.contains(": \(reason)\n"), "\(result.errors)")
    }
}
