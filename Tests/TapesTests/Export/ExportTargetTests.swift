import Foundation
import Glibc
import TestSupport
import Testing

@testable import Tapes

/// Where an export may write: only a regular file that is not an original is ever replaced.
@Suite struct ExportTargetTests {
    private let home: TemporaryDirectory

    init() throws {
        home = try TemporaryDirectory()
        for name in ["original.mp4", "mine.m3u8"] { try Data(name.utf8).write(to: URL(filePath: home.file(name))) }
    }

    private func check(_ name: String, replacing isReplacing: Bool = true) throws(TapesError) {
        let originals = ["gone.mov", "original.mp4"].map { Array(home.file($0).utf8) }
        try ExportTarget.check(Array(home.file(name).utf8), replacing: isReplacing, originals: originals)
    }

    @Test func aRegularFileIsReplacedOnRequest() throws {
        try check("new.m3u8", replacing: false)
        try check("mine.m3u8")
        let error = #expect(throws: TapesError.self) { try check("mine.m3u8", replacing: false) }
        #expect(error?.code == .targetExists)
    }

    /// R6: an original is not replaced under any of its names.
    @Test(arguments: ["original.mp4", "hard.mp4", "soft.mp4", "dir/../original.mp4"], [true, false])
    func noOriginal(_ name: String, _ isReplacing: Bool) throws {
        let manager = FileManager.default
        try manager.createDirectory(atPath: home.file("dir"), withIntermediateDirectories: false)
        try manager.linkItem(atPath: home.file("original.mp4"), toPath: home.file("hard.mp4"))
        try manager.createSymbolicLink(atPath: home.file("soft.mp4"), withDestinationPath: "original.mp4")
        let error = #expect(throws: TapesError.self) { try check(name, replacing: isReplacing) }
        #expect(error?.code == .targetUnusable)
        #expect(error?.detail == "it is an original of a tape")
    }

    /// A link is not followed either: neither it nor its target is replaced.
    @Test(arguments: ["fifo", "dir", "link", "dangling"])
    func onlyRegularFiles(_ name: String) throws {
        #expect(mkfifo(home.file("fifo"), 0o600) == 0)
        #expect(mkdir(home.file("dir"), 0o700) == 0)
        #expect(symlink("mine.m3u8", home.file("link")) == 0)
        #expect(symlink("nowhere", home.file("dangling")) == 0)
        let error = #expect(throws: TapesError.self) { try check(name) }
        #expect(error?.code == .targetUnusable)
        #expect(error?.detail == "it is not a regular file")
    }
}
