import Foundation
import TestSupport
import Testing

/// A user whose only copies are on this disk can run every `sync` command (photosync contract 12, trap 23).
@Suite struct OriginalsTests {
    /// Calls that open a file, or change a file or its directory.
    private static let calls = """
        open,openat,creat,unlink,unlinkat,rename,renameat,renameat2,truncate,ftruncate,fallocate,chmod,fchmod,fchmodat,\
        chown,fchown,lchown,fchownat,utime,utimes,utimensat,futimesat,link,linkat,symlink,symlinkat,mkdir,mkdirat,rmdir,\
        mknod,mknodat,setxattr,lsetxattr,fsetxattr,removexattr,lremovexattr,fremovexattr,write,writev,pwrite64,pwritev
        """

    @Test(.enabled(if: SystemCallTrace.isAvailable)) func originalsAreOnlyRead() async throws {
        let bench = try await PhotoBench.loggedIn()
        try bench.addPictures("a.jpg", "below/b.jpg", "notes.txt")
        try bench.picture("stamped.jpg", PhotoBench.jpeg)
        try bench.picture("empty.jpg", [])
        try await bench.sandbox.addPhotos(#"{"content":"elsewhere"}"#)
        let originals = try Tree(bench.pictures)
        let commands = [
            ["sync", "push", bench.pictures], ["sync"], ["sync", "verify", "--read-content"],
            ["sync", "download", "--missing", "--to", bench.target],
            // Into the tree itself: existing files are not changed.
            ["sync", "download", "--missing", "--to", bench.runner.home.path], ["sync", "push", bench.pictures],
            ["claim-legacy", "--all", "--yes"], ["logout"],
        ]
        var opened = 0
        for (number, command) in commands.enumerated() {
            let path = bench.runner.home.path + "-trace\(number)"
            defer { try? FileManager.default.removeItem(atPath: path) }
            let result = try await bench.runner.run(
                command,
                through: SystemCallTrace.wrapper(writing: path, calls: Self.calls)
            )
            #expect(result.exitCode == 0 || command[1] == "push" && result.exitCode == 3, "\(result.errors)")
            for call in try SystemCallTrace(contentsOf: path).calls where touches(call, bench.pictures) {
                let isReading = call.name == "openat" && call.text.contains("O_RDONLY")
                #expect(isReading && !call.text.contains("O_CREAT") && !call.text.contains("O_TRUNC"), "\(call.text)")
                opened += 1
            }
        }
        #expect(opened >= 4, "the trace contains the files")
        #expect(try Tree(bench.pictures) == originals)
    }

    /// For a write, the descriptor is relevant; the data may be the path.
    private func touches(_ call: SystemCallTrace.Call, _ directory: String) -> Bool {
        let isWrite = call.name.hasPrefix("write") || call.name.hasPrefix("pwrite")
        return (isWrite ? String(call.text.prefix { $0 != "," }) : call.text).contains(directory)
    }

    /// Contract 3.5. Even with eight senders, a single photo is sent first.
    @Test func publishedServerGetsOnePhoto() async throws {
        let bench = try await PhotoBench.loggedIn(arguments: ["--photosync", "published"])
        try bench.addPictures("a.jpg", "b.jpg", "c.jpg", "d.jpg", "below/e.jpg")
        let originals = try Tree(bench.pictures)
        let push = try await bench.run("sync", "push", bench.pictures, "-j", "8", extra: ["MEDIACTL_RETRIES": "3"])
        #expect(push.exitCode == 7)
        #expect(push.errors.contains("do not delete any local original"))
        #expect(try await bench.uploads == 1)
        #expect(try await bench.run("sync", "push", bench.pictures).exitCode == 7)
        #expect(try Tree(bench.pictures) == originals)
    }

    /// Rows of both databases, as SQLite's shell would dump them.
    private func rows(_ bench: PhotoBench) async throws -> String {
        let script = """
            import sqlite3, sys
            for path in sys.argv[1:]:
                for line in sqlite3.connect(f"file:{path}?mode=ro", uri=True).iterdump(): print(line)
            """
        let paths = ["index.sqlite", "library.sqlite"].map { bench.dataPath + "/" + $0 }
        let dump = try await ChildProcess.run("/usr/bin/python3", ["-c", script] + paths)
        try #require(dump.exitCode == 0 && dump.output.contains("INSERT INTO"), "\(dump.errors)")
        return dump.output
    }

    @Test func verifyChangesNothing() async throws {
        let bench = try await PhotoBench.loggedIn()
        try await bench.sandbox.addPhotos(#"{"count":600}"#)
        try bench.addPictures("a.jpg", "b.jpg")
        try await bench.succeed("sync", "push", bench.pictures)
        try await bench.succeed("sync")
        // There are differences to report, and to leave unchanged.
        let photos = try await bench.sandbox.photos()
        try await bench.sandbox.photoSync("DELETE", "photos/\(photos[0].id)")
        try await bench.sandbox.addPhotos()
        try FileManager.default.removeItem(atPath: bench.pictures + "/a.jpg")
        let (before, tree) = (try await rows(bench), try Tree(bench.pictures))
        let stored = try await bench.sandbox.photos()
        let requestsBefore = try await bench.sandbox.requests().count

        let verify = try await bench.run("sync", "verify", "--read-content", "--json")
        #expect(verify.exitCode == 3 && verify.records.last?["items"] as? Int == 3, "\(verify.output)")
        let requested = try await bench.sandbox.requests().dropFirst(requestsBefore)
        #expect(requested.allSatisfy { $0.method == "GET" || $0.method == "POST" && $0.path == "/api/sync/photos" })
        #expect(requested.contains { $0.method == "POST" })
        #expect(try bench.leftovers().isEmpty)
        #expect(try await rows(bench) == before)
        #expect(try Tree(bench.pictures) == tree)
        #expect(try await bench.sandbox.photos() == stored)
    }
}
