import Foundation
import TestSupport
import Testing

@testable import MediaFiles

@Suite struct PathFilterTests {
    static let cases: [(includes: [String], excludes: [String], wanted: [String], unwanted: [String])] = [
        ([], [], ["a", ".a", "x/y/z"], []),
        (["*.mp4"], [], ["a.mp4", "x/a.mp4"], ["a.mov"]),
        (["*.mp4", "*.mov"], [], ["a.mp4", "a.mov"], ["a.mkv"]),
        ([], ["*.part"], ["a.mp4"], ["a.part", "x/a.part"]),
        (["*.mp4"], ["draft*"], ["a.mp4"], ["draft.mp4", "drafts/a.mp4", "a.mov"]),
        ([], [".git/", "node_modules"], ["a", ".git", "x/.gitignore"], [".git/a", "x/.git/y/a", "x/node_modules/a"]),
        ([], ["x/y"], ["y/a", "z/x/y/a", "x/a"], ["x/y", "x/y/z/a"]),
        (["2024/"], ["2024/raw/"], ["2024/a", "x/2024/b"], ["2024/raw/a", "2023/a"]),
    ]

    @Test(arguments: cases)
    func filters(row: (includes: [String], excludes: [String], wanted: [String], unwanted: [String])) throws {
        let filter = PathFilter(
            includes: try row.includes.map(GlobPattern.init),
            excludes: try row.excludes.map(GlobPattern.init)
        )
        for path in row.wanted { #expect(filter.accepts(Array(path.utf8)), "\(path)") }
        for path in row.unwanted { #expect(!filter.accepts(Array(path.utf8)), "\(path)") }
    }
}

@Suite struct FileWalkTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test func filesAreOrderedByBytesDirectoryByDirectory() throws {
        for name in ["b.mp4", "a/2", "a/10", "a/z/1", "B.mp4", ".hidden", "a.mp4", "ä", "c/1"] { try write(name) }
        #expect(names(walk()) == [".hidden", "B.mp4", "a.mp4", "b.mp4", "ä", "a/10", "a/2", "a/z/1", "c/1"])
        #expect(walk().skipped.isEmpty)
    }

    @Test func lengthsAreReportedAndEmptyFilesAreFiles() throws {
        try write("a", "12345")
        try write("b", "")
        #expect(walk().files.map(\.byteCount) == [5, 0])
    }

    @Test func theRootIsKeptAsSpecified() throws {
        try write("x/a")
        let root = Array(directory.file("x//").utf8)
        #expect(FileWalk().files(below: root).files.map(\.path) == [root + Array("a".utf8)])
    }

    @Test func namesThatAreNotUTF8AreFound() throws {
        let path = Array(directory.file("").utf8) + [0xFF, 0x0A, 0x22]
        try #require(FileManager.default.createFile(atPath: directory.file("a"), contents: Data("x".utf8)))
        rename(directory.file("a"), path.map(CChar.init(bitPattern:)) + [0])
        #expect(walk().files.map(\.path) == [path])
    }

    @Test func excludedDirectoriesAreNotEntered() throws {
        for name in ["a", ".git/b", "x/.git/c", "x/d"] { try write(name) }
        // The link would be reported as skipped if it were examined.
        symlink("nowhere", directory.file(".git/link"))
        let result = walk(PathFilter(excludes: [try GlobPattern(".git/")]))
        #expect(names(result) == ["a", "x/d"])
        #expect(result.skipped.isEmpty)
    }

    @Test func reportedExcludesAreListedAndNotEntered() throws {
        for name in ["a", ".git/b", "x/.git/c", "x/d", "x/._d", "y/e"] { try write(name) }
        let walk = FileWalk(
            filter: PathFilter(excludes: [try GlobPattern("y/")]),
            reportedExcludes: [try GlobPattern(".*/"), try GlobPattern("._*"), try GlobPattern("y/")]
        )
        let root = Array(directory.path.utf8)
        let result = walk.files(below: root)
        #expect(names(result) == ["a", "x/d"])
        let excluded = result.excluded.map { String(decoding: $0.dropFirst(root.count + 1), as: UTF8.self) }
        #expect(excluded == [".git", "x/._d", "x/.git"])
    }

    /// The walk, which prunes, and the filter, which checks one path, agree.
    @Test(arguments: ["a", "a/", "*/b", "**/b", "?", "x/**", "{a,b}/", "*.c", "/a/b"])
    func theWalkAgreesWithTheFilter(pattern: String) throws {
        for name in ["a", "b.c", "x/a/b/1", "x/b/a", "y.c/b", "z/a/a.c", "w/b/b/b"] { try write(name) }
        let all = names(walk())
        #expect(all.count == 7)
        for filter in [
            PathFilter(excludes: [try GlobPattern(pattern)]), PathFilter(includes: [try GlobPattern(pattern)]),
        ] {
            #expect(names(walk(filter)) == all.filter { filter.accepts(Array($0.utf8)) })
        }
    }

    @Test func linksToFilesAreFollowedAndLinksToDirectoriesAreNot() throws {
        try write("x/a", "123")
        symlink("x/a", directory.file("file"))
        symlink("x", directory.file("directory"))
        symlink("..", directory.file("x/up"))
        let result = walk()
        #expect(names(result) == ["file", "x/a"])
        #expect(result.files.map(\.byteCount) == [3, 3])
        #expect(result.skipped.isEmpty)
        #expect(result.linkedDirectories.map(\.path) == [path("directory"), path("x/up")])
        // The walk has read both directories under their own paths.
        #expect(FileWalk.unreadLinks(of: [result]).isEmpty)
    }

    @Test func linksToOtherDirectoriesAreReported() throws {
        let elsewhere = try TemporaryDirectory()
        for name in ["album", "trash/2", "notes"] { try write(name + "/a") }
        for name in ["link", "trash/link", "x.jpg"] { symlink(elsewhere.path, directory.file(name)) }
        let walk = FileWalk(
            filter: PathFilter(includes: [try GlobPattern("*.jpg")], excludes: [try GlobPattern("trash")]),
            reportedExcludes: [try GlobPattern("x.jpg/")]
        )
        let result = walk.files(below: Array(directory.path.utf8))
        #expect(FileWalk.unreadLinks(of: [result]) == [path("link")])
        let other = walk.files(below: Array(elsewhere.path.utf8))
        #expect(FileWalk.unreadLinks(of: [result, other]).isEmpty)
    }

    @Test func aStoppedWalkReturnsTheFilesFoundSoFar() throws {
        for name in ["1", "a/2", "b/3"] { try write(name) }
        var requested = 0
        let result = FileWalk().files(below: Array(directory.path.utf8)) {
            requested += 1
            return requested > 2
        }
        #expect(names(result) == ["1", "a/2"])
        #expect(requested == 3)
    }

    @Test func theRootMayBeALink() throws {
        try write("x/a")
        symlink("x", directory.file("link"))
        let result = FileWalk().files(below: Array(directory.file("link").utf8))
        #expect(names(result) == ["link/a"])
    }

    @Test func danglingLinksAreReportedOnRequest() throws {
        symlink("nowhere", directory.file("a.mp4"))
        symlink("loop.mp4", directory.file("loop.mp4"))
        symlink("nowhere", directory.file("a.txt"))
        let result = walk(PathFilter(includes: [try GlobPattern("*.mp4")]))
        #expect(result.files.isEmpty)
        #expect(
            result.skipped == [
                FileWalk.Skipped(path: path("a.mp4"), reason: "no such file or directory", isDirectory: false),
                FileWalk.Skipped(
                    path: path("loop.mp4"),
                    reason: "too many levels of symbolic links",
                    isDirectory: false
                ),
            ]
        )
    }

    /// Opening the FIFO would block indefinitely.
    @Test(.timeLimit(.minutes(4))) func irregularFilesAreSkipped() throws {
        #expect(mkfifo(directory.file("fifo"), 0o600) == 0)
        symlink("/dev/null", directory.file("device"))
        symlink("fifo", directory.file("link"))
        try write("a")
        let result = walk()
        #expect(names(result) == ["a"])
        #expect(result.skipped.isEmpty)
        #expect(result.irregular == ["device", "fifo", "link"].map { path($0) })
        let filtered = walk(PathFilter(includes: [try GlobPattern("*.jpg")]))
        #expect(filtered.irregular.isEmpty)
    }

    @Test func unreadableDirectoriesAreReported() throws {
        try write("x/a")
        try write("y/b")
        chmod(directory.path, 0o755)
        chmod(directory.file("x"), 0)
        defer { chmod(directory.file("x"), 0o700) }
        // Root may read everything.
        let result = OtherUser.isAvailable ? try OtherUser.run { walk() } : walk()
        #expect(names(result) == ["y/b"])
        #expect(result.skipped == [FileWalk.Skipped(path: path("x"), reason: "permission denied", isDirectory: true)])
    }

    static let unreadable: [(name: String, reason: String)] = [
        ("absent", "no such file or directory"), ("file", "not a directory"), ("a\0b", "no such file or directory"),
        ("", "no such file or directory"),
    ]

    @Test(arguments: unreadable) func rootsThatCannotBeRead(row: (name: String, reason: String)) throws {
        try write("file")
        let root = row.name.isEmpty ? [] : path(row.name)
        let result = FileWalk().files(below: root)
        let skipped = FileWalk.Skipped(path: root, reason: row.reason, isDirectory: true)
        #expect(result == FileWalk.Result(files: [], skipped: [skipped]))
    }

    /// Deeper than any stack, and than the longest path supported by the system (4,096 bytes).
    @Test func deepDirectoriesAreSafe() throws {
        let script = """
            import os, sys
            os.chdir(sys.argv[1])
            for _ in range(3000):
                os.mkdir("d"); os.chdir("d")
            """
        let made = try ChildProcess.run("python3", ["-c", script, directory.path])
        try #require(made.status == 0, "\(made.errors)")
        defer { _ = try? ChildProcess.run("rm", ["-rf", directory.file("d")]) }
        try write("a")
        let result = walk()
        #expect(names(result) == ["a"])
        #expect(result.skipped.map(\.reason) == ["file name too long"])
    }

    @Test func directoriesAreDistinguishedFromFiles() throws {
        try write("x/a")
        symlink("x", directory.file("link"))
        #expect(FileWalk.isDirectory(path("x")))
        #expect(FileWalk.isDirectory(path("link")))
        #expect(!FileWalk.isDirectory(path("x/a")))
        #expect(!FileWalk.isDirectory(path("absent")))
        #expect(!FileWalk.isDirectory(path("x\0")))
    }

    private func walk(_ filter: PathFilter = PathFilter()) -> FileWalk.Result {
        FileWalk(filter: filter).files(below: Array(directory.path.utf8))
    }

    private func names(_ result: FileWalk.Result) -> [String] {
        result.files.map { String(decoding: $0.path.dropFirst(directory.path.utf8.count + 1), as: UTF8.self) }
    }

    private func path(_ name: String) -> [UInt8] { Array(directory.file(name).utf8) }

    private func write(_ name: String, _ content: String = "x") throws {
        let url = URL(filePath: directory.file(name))
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try Data(content.utf8).write(to: url)
    }
}
