import Foundation
import MediaStore
import TestSupport
import Testing

/// The store on disks that are full or read-only, and in places that are not directories.
@Suite struct UnwritableStoreTests {
    private let runner = Result { try BinaryRunner() }

    private func fill(_ path: String) throws {
        let store = try TokenStore(in: DataDirectory.open(path))
        for fileID in [18, 19] as [Int64] {
            var entry = JSONSchemaTests.entry
            entry.fileID = fileID
            #expect(try store.add(entry))
        }
    }

    // MARK: Backups

    @Test(.enabled(if: SmallDisk.isAvailable, SmallDisk.requirement))
    func aBackupToAFullDiskNamesItsFile() async throws {
        let runner = try runner.get()
        try fill(runner.home.file("data/mediactl"))
        let disk = try SmallDisk(kibibytes: 64)
        try disk.fill(leavingPages: 1)
        let file = disk.path + "/copy.sqlite"
        let result = try await runner.run(["store", "backup", file])
        #expect(result.exitCode == 1, "\(result)")
        #expect(result.errors.contains("cannot write \"\(file)\": no space left on device\n"), "\(result)")
        #expect(!result.errors.contains("tokens.sqlite"), "\(result)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path) == ["filler"])
    }

    // MARK: Not a directory

    @Test(arguments: ["", "/below", "/far/below"])
    func aFileInPlaceOfTheDataDirectoryIsNamed(_ rest: String) async throws {
        let runner = try runner.get()
        let file = runner.home.file("file")
        try Data("text".utf8).write(to: URL(filePath: file))
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
