import Foundation
import TestSupport
import Testing

@testable import MediaStore

@Suite("Data directory")
struct DataDirectoryTests {
    let temporary: TemporaryDirectory

    init() throws { temporary = try TemporaryDirectory() }

    @Test("missing parents are created with mode 0700")
    func creation() throws {
        let path = temporary.file("a/b/data")
        let directory = try DataDirectory.open(path + "/")
        #expect(directory.path == path)
        #expect(directory.warnings == [])
        for made in ["a", "a/b", "a/b/data", "a/b/data/locks"] {
            #expect(try permissions(temporary.file(made)) == 0o700)
        }
    }

    @Test(
        "permissions that are too wide are restricted, each with a warning",
        arguments: ["tokens.sqlite-wal", "library.sqlite", "index.sqlite-shm", "index.sqlite.corrupt"]
    )
    func tightening(name: String) throws {
        let directory = try DataDirectory.open(temporary.file("data"))
        let loose = directory.file(name)
        #expect(FileManager.default.createFile(atPath: loose, contents: Data("x".utf8)))
        #expect(chmod(loose, 0o664) == 0)
        #expect(chmod(directory.path, 0o755) == 0)
        let warnings = try DataDirectory.open(directory.path).warnings
        #expect(
            warnings == [
                "permissions of \"\(directory.path)\" were 0755, tightened to 0700",
                "permissions of \"\(loose)\" were 0664, tightened to 0600",
            ]
        )
        #expect(try permissions(directory.path) == 0o700)
        #expect(try permissions(loose) == 0o600)
        #expect(try DataDirectory.open(directory.path).warnings == [])
    }

    @Test("capture directories are created with mode 0700; wider permissions are restricted, with a warning")
    func tighteningParts() throws {
        let directory = try DataDirectory.open(temporary.file("data"))
        var loose: [(path: String, wanted: Int)] = []
        for part in DataDirectory.Part.allCases {
            let path = try directory.make(part)
            #expect(try permissions(path) == 0o700)
            loose.append((path, 0o700))
            loose.append((path + "/file", 0o600))
        }
        let capture = directory.path(of: .captures) + "/0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0ff"
        loose += [(capture, 0o700), (capture + "/media", 0o600)]
        #expect(mkdir(capture, 0o700) == 0)
        for (path, wanted) in loose where wanted == 0o600 {
            #expect(FileManager.default.createFile(atPath: path, contents: nil))
        }
        for (path, wanted) in loose { #expect(chmod(path, wanted == 0o700 ? 0o755 : 0o644) == 0) }
        let warnings = try DataDirectory.open(directory.path).warnings
        #expect(warnings.count == loose.count)
        for (path, wanted) in loose {
            #expect(try permissions(path) == wanted)
            #expect(warnings.contains { $0.hasPrefix("permissions of \"\(path)\" were") })
        }
        #expect(try DataDirectory.open(directory.path).warnings == [])
    }

    @Test("a directory with other files keeps its permissions, and so do the files")
    func sharedWithOtherFiles() throws {
        let path = temporary.file("home")
        #expect(mkdir(path, 0o755) == 0)
        let letter = path + "/letter.txt"
        #expect(FileManager.default.createFile(atPath: letter, contents: nil))
        #expect(chmod(letter, 0o644) == 0)
        let directory = try DataDirectory.open(path)
        #expect(directory.warnings == [])
        #expect(try permissions(path) == 0o755)
        #expect(try permissions(letter) == 0o644)
        #expect(try permissions(path + "/locks") == 0o700)
        // A directory like /tmp, where others may replace names at any time.
        #expect(chmod(path, 0o1777) == 0)
        #expect(try storeErrorKind { _ = try DataDirectory.open(path) } == .unsafe)
        #expect(try permissions(path) == 0o1777)
    }

    @Test("a file in place of the directory is refused")
    func notADirectory() throws {
        let path = temporary.file("file")
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        #expect(try storeErrorKind { _ = try DataDirectory.open(path) } == .unsafe)
        #expect(try storeErrorKind { _ = try DataDirectory.open(path + "/below") } == .unsafe)
        #expect(try storeErrorKind { _ = try DataDirectory.open("") } == .notWritable)
        for rest in ["", "/below", "/far/below"] {
            let error = #expect(throws: StoreError.self) { try DataDirectory.open(path + rest) }
            #expect(error?.path == path && error?.detail == "not a directory")
        }
    }

    @Test(
        "a directory that can be read only partly is not treated as complete",
        .enabled(if: WorkerProcess.hasStrace, "requires strace: scripts/setup.sh test")
    )
    func partialListing() throws {
        let directory = try DataDirectory.open(temporary.file("data"))
        // The first call returns the entries, the second one the end.
        let worker = try WorkerProcess(
            ["list", directory.path],
            through: WorkerProcess.failing("getdents64", of: directory.path, from: 2)
        )
        #expect(try worker.line() == "error other")
        #expect(try worker.wait() == 12)
    }

    @Test("another user's directory or link is refused", .enabled(if: geteuid() == 0, "requires root"))
    func foreignOwner() throws {
        let path = temporary.file("theirs")
        #expect(mkdir(path, 0o777) == 0)
        #expect(chown(path, 65534, 65534) == 0)
        #expect(try storeErrorKind { _ = try DataDirectory.open(path) } == .unsafe)
        #expect(try permissions(path) & 0o700 == 0o700)

        let link = temporary.file("link")
        let mine = temporary.file("mine")
        #expect(mkdir(mine, 0o700) == 0)
        #expect(symlink(mine, link) == 0)
        #expect(try DataDirectory.open(link).path == mine)
        #expect(lchown(link, 65534, 65534) == 0)
        #expect(try storeErrorKind { _ = try DataDirectory.open(link) } == .unsafe)
    }

    @Test("a link inside is refused, and not followed when permissions are restricted")
    func linkInside() throws {
        let target = temporary.file("elsewhere")
        #expect(FileManager.default.createFile(atPath: target, contents: nil))
        #expect(chmod(target, 0o644) == 0)
        let directory = try DataDirectory.open(temporary.file("data"))
        #expect(symlink(target, directory.file("rescue-link")) == 0)
        #expect(try storeErrorKind { _ = try DataDirectory.open(directory.path) } == .unsafe)
        #expect(try permissions(target) == 0o644)
    }

    @Test(
        "a link in place of any file of the store is refused",
        arguments: [
            "locks", "tokens.sqlite", "tokens.sqlite-wal", "library.sqlite", "index.sqlite", "spool-1", "captures",
            "captures/0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0ff", "capture-keys", "capture-keys/device.pem",
            "capture-counters", "locks/uploads.lock",
        ]
    )
    func links(name: String) throws {
        let elsewhere = temporary.file("elsewhere")
        #expect(mkdir(elsewhere, 0o700) == 0)
        let directory = try DataDirectory.open(temporary.file("data"))
        for part in DataDirectory.Part.allCases { _ = try directory.make(part) }
        let path = directory.file(name)
        rmdir(path)
        #expect(symlink(elsewhere, path) == 0)
        #expect(try storeErrorKind { _ = try DataDirectory.open(directory.path) } == .unsafe)
        #expect(try FileManager.default.contentsOfDirectory(atPath: elsewhere) == [])
        #expect(unlink(path) == 0)
        _ = try DataDirectory.open(directory.path)
    }
}
