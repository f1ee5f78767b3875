import Foundation
import Glibc
import MediaSystem
import TestSupport
import Testing

@testable import MediaFiles

@Suite struct PartialFileTests {
    private let temporary: TemporaryDirectory
    private let directory: TargetDirectory

    init() throws {
        temporary = try TemporaryDirectory()
        directory = try #require(try TargetDirectory.open(Array(temporary.path.utf8), creating: false))
    }

    private func write(_ text: String, to file: PartialFile) throws {
        try Array(text.utf8).withUnsafeBytes { try file.write($0, at: 0) }
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: temporary.path).sorted()
    }

    private func put(_ text: String, _ name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: temporary.file(name)))
    }

    private func content(_ name: String) throws -> String {
        try String(contentsOfFile: temporary.file(name), encoding: .utf8)
    }

    // MARK: Naming

    @Test func aFileGetsItsNamePermissionsAndTimeAtTheEnd() throws {
        let file = try PartialFile.open(".a.part", in: directory)
        try write("hello", to: file)
        #expect(try permissions(".a.part") == 0o600)
        let sealed = try file.seal(modificationMicroseconds: 1_704_067_200_123_456)
        #expect(sealed.modificationNanoseconds == 1_704_067_200_123_456_000)
        let published = try file.publish(as: "a")
        #expect(published.inode == sealed.inode)
        #expect(try names() == ["a"])
        #expect(try content("a") == "hello")
        #expect(try permissions("a") == 0o666 & ~FileCreationMask.current)
    }

    /// The expected mode is the mode of a file created by the system.
    @Test func theUmaskIsThatOfTheProcess() throws {
        let descriptor = Glibc.open(temporary.file("plain"), O_CREAT | O_WRONLY, 0o666)
        close(descriptor)
        #expect(try permissions("plain") == 0o666 & ~FileCreationMask.current)
        #expect(FileCreationMask.parse("Name:\tx\nUmask:\t0027\nState:\tR\n") == 0o027)
        #expect(FileCreationMask.parse("Name:\tx\n") == nil)
    }

    private func permissions(_ name: String) throws -> mode_t {
        try #require(try directory.systemStatus(of: Array(name.utf8))).st_mode & 0o7777
    }

    @Test(arguments: [-1, -62_135_596_800_000_000 / 64, 0, 4_102_444_800_000_001, 7_258_118_400_000_000] as [Int64])
    func timesBefore1970AndAfter2100AreKept(_ microseconds: Int64) throws {
        let file = try PartialFile.open(".a.part", in: directory)
        #expect(try file.seal(modificationMicroseconds: microseconds).modificationNanoseconds == microseconds * 1000)
    }

    @Test(arguments: [false, true]) func existingFilesAreNeverReplaced(isDanglingLink: Bool) throws {
        if isDanglingLink {
            try makeLink(temporary.file("a"), to: "/nowhere/at/all")
        } else {
            try put("mine", "a")
        }
        let file = try PartialFile.open(".a.part", in: directory)
        #expect(throws: FileWriteError(.exists, path: Array(temporary.file("a").utf8))) { try file.publish(as: "a") }
        if !isDanglingLink { #expect(try content("a") == "mine") }
        #expect(try names() == [".a.part", "a"])
    }

    @Test func existingFilesAreNeverReplacedIfOnlyLinksAreSupported() throws {
        try put("mine", "a")
        try put("other", "b")
        #expect(throws: FileWriteError(.exists, path: Array(temporary.file("a").utf8))) {
            try directory.link(Array("b".utf8), to: Array("a".utf8))
        }
        #expect(try content("a") == "mine")
        try directory.link(Array("b".utf8), to: Array("c".utf8))
        #expect(try names() == ["a", "c"])
    }

    @Test func aDirectoryIsRenamedIfOnlyLinksAreSupported() throws {
        _ = try directory.subdirectory("old", creating: true)
        try put("mine", "old/a")
        _ = try directory.subdirectory("taken", creating: true)
        #expect(throws: FileWriteError(.exists, path: Array(temporary.file("taken").utf8))) {
            try directory.link(Array("old".utf8), to: Array("taken".utf8))
        }
        try directory.link(Array("old".utf8), to: Array("new".utf8))
        #expect(try names() == ["new", "taken"])
        #expect(try content("new/a") == "mine")
    }

    // MARK: Resuming

    @Test func writtenBytesAreKeptForTheNextAttempt() throws {
        try write("hel", to: PartialFile.open(".a.part", in: directory))
        let file = try PartialFile.open(".a.part", in: directory)
        #expect(try file.status().size == 3)
        try Array("lo".utf8).withUnsafeBytes { try file.write($0, at: 3) }
        #expect(try content(".a.part") == "hello")
        try file.truncate(to: 1)
        #expect(try content(".a.part") == "h")
        try file.discard()
        #expect(try names().isEmpty)
    }

    @Test func reservedSpaceDoesNotCountAsWritten() throws {
        let file = try PartialFile.open(".a.part", in: directory)
        try file.reserve(1 << 20)
        #expect(try file.status().size == 0)
    }

    @Test func aSecondWriterIsRefused() throws {
        let file = try PartialFile.open(".a.part", in: directory)
        #expect(throws: FileWriteError(.busy, path: file.path)) { try PartialFile.open(".a.part", in: directory) }
        withExtendedLifetime(file) {}
    }

    /// No other process is writing, so the error must not advise the user to wait.
    @Test func aRemovedDirectoryIsNotBusy() throws {
        let removed = try #require(try directory.subdirectory("removed", creating: true))
        try directory.removeDirectory(Array("removed".utf8))
        #expect(throws: FileWriteError(.io(errno: ENOENT), path: removed.path)) {
            try PartialFile.open(".a.part", in: removed)
        }
    }

    /// After a rename whose sync failed, the error is handled as for a file that is not complete.
    @Test func afterItsRenameTheFileOfAnotherProcessIsNotDiscarded() throws {
        let file = try PartialFile.open(".a.part", in: directory)
        try file.publish(replacing: Array("a".utf8))
        let other = try PartialFile.open(".a.part", in: directory)
        try write("other", to: other)
        try file.discard()
        #expect(try names() == [".a.part", "a"])
        #expect(try content(".a.part") == "other")
        try other.discard()
        #expect(try names() == ["a"])
    }

    // MARK: Traps

    enum Trap: CaseIterable { case link, hardLink, fifo }

    /// A link is not followed, a file with a different name is not written, and a FIFO does not block.
    @Test(arguments: Trap.allCases) func aTrapInPlaceOfTheTemporaryFileIsRefused(_ trap: Trap) throws {
        try put("precious", "victim")
        let path = temporary.file(".a.part")
        switch trap {
        case .link: try makeLink(path, to: "victim")
        case .hardLink: try FileManager.default.linkItem(atPath: temporary.file("victim"), toPath: path)
        case .fifo: #expect(mkfifo(path, 0o600) == 0)
        }
        #expect(throws: FileWriteError(.unsafe, path: Array(path.utf8))) {
            try PartialFile.open(".a.part", in: directory)
        }
        #expect(try content("victim") == "precious")
    }

    @Test func aLinkInPlaceOfASubdirectoryIsNotFollowed() throws {
        let outside = try TemporaryDirectory()
        try makeLink(temporary.file("2024"), to: outside.path)
        for isCreated in [false, true] {
            #expect(throws: FileWriteError(.unsafe, path: Array(temporary.file("2024").utf8))) {
                try directory.subdirectory("2024", creating: isCreated)
            }
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path).isEmpty)
    }

    @Test func theSpecifiedDirectoryMayBeALink() throws {
        try FileManager.default.createDirectory(atPath: temporary.file("real"), withIntermediateDirectories: false)
        try makeLink(temporary.file("link"), to: "real")
        let target = try #require(try TargetDirectory.open(Array(temporary.file("link/").utf8), creating: true))
        #expect(try target.subdirectory("2024", creating: true) != nil)
        #expect(FileManager.default.fileExists(atPath: temporary.file("real/2024")))
    }

    /// All operations use the descriptor: later changes to the path do not matter.
    @Test func aDirectoryReplacedByALinkStaysTheSame() throws {
        let outside = try TemporaryDirectory()
        let year = try #require(try directory.subdirectory("2024", creating: true))
        try FileManager.default.moveItem(atPath: temporary.file("2024"), toPath: temporary.file("moved"))
        try makeLink(temporary.file("2024"), to: outside.path)
        let file = try PartialFile.open(".a.part", in: year)
        _ = try file.publish(as: "a")
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path).isEmpty)
        #expect(FileManager.default.fileExists(atPath: temporary.file("moved/a")))
    }

    @Test func missingDirectoriesAreCreatedOnlyOnRequest() throws {
        let path = Array(temporary.file("x/y/z//").utf8)
        #expect(try TargetDirectory.open(path, creating: false) == nil)
        #expect(try names().isEmpty)
        #expect(try TargetDirectory.open(path, creating: true) != nil)
        #expect(FileManager.default.fileExists(atPath: temporary.file("x/y/z")))
    }

    @Test func bytesWrittenBackEarlyAreComplete() throws {
        let file = try PartialFile.open(".a.part", in: directory)
        let block = [UInt8](repeating: 7, count: 100_000)
        try file.reserve(200_000)
        try block.withUnsafeBytes { try file.write($0, at: 0) }
        file.beginWriteback(0..<100_000)
        #expect(try file.status().size == 100_000)
        try block.withUnsafeBytes { try file.write($0, at: 100_000) }
        file.beginWriteback(100_000..<300_000)
        _ = try file.seal(modificationMicroseconds: 0)
        _ = try file.publish(as: "a")
        #expect(try Data(contentsOf: URL(filePath: temporary.file("a"))) == Data(repeating: 7, count: 200_000))
    }

    @Test func aFullDiskIsDetectedBeforeTheFirstByte() throws {
        let disk = try SmallDisk(kibibytes: 256)
        let small = try #require(try TargetDirectory.open(Array(disk.path.utf8), creating: false))
        let file = try PartialFile.open(".a.part", in: small)
        #expect(throws: FileWriteError(.full, path: file.path)) { try file.reserve(1 << 30) }
        #expect(throws: FileWriteError(.full, path: file.path)) { try file.reserve(.max) }
        let block = [UInt8](repeating: 1, count: 1 << 20)
        #expect(throws: FileWriteError(.full, path: file.path)) {
            try block.withUnsafeBytes { try file.write($0, at: 0) }
        }
    }
}
