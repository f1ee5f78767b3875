import Foundation
import Glibc
import MediaSystem
import TestSupport
import Testing

@testable import MediaFiles

@Suite struct TargetDirectoryEntriesTests {
    private let temporary: TemporaryDirectory
    private let directory: TargetDirectory

    init() throws {
        temporary = try TemporaryDirectory()
        directory = try #require(try TargetDirectory.open(Array(temporary.path.utf8), creating: false))
    }

    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    // MARK: Links

    @Test(arguments: [Array("../x/é".utf8), [0xff, 0x0a, 0x20]] as [[UInt8]])
    func targetsOfLinksAreBytes(target: [UInt8]) throws {
        let name: [UInt8] = [0x61, 0xfe]
        try directory.makeLink(name, to: target)
        #expect(try directory.target(ofLink: name) == target)
        #expect(try directory.kind(of: name) == .link)
        #expect(throws: FileWriteError(.exists, path: directory.path(of: name))) {
            try directory.makeLink(name, to: [0x62])
        }
        #expect(try directory.target(ofLink: name) == target)
    }

    @Test func aFileThatIsNotALinkHasNoTarget() throws {
        try Data("x".utf8).write(to: URL(fileURLWithPath: temporary.file("file")))
        #expect(try directory.target(ofLink: bytes("file")) == nil)
        #expect(try directory.target(ofLink: bytes("missing")) == nil)
        #expect(try directory.kind(of: bytes("file")) == .regular && directory.kind(of: bytes("missing")) == nil)
    }

    /// The opened directory is used, regardless of the current entry at its path.
    @Test func noPathRefersOutsideTheDirectory() throws {
        let inside = try #require(try directory.makeSubdirectory(bytes("a")))
        try FileManager.default.moveItem(atPath: temporary.file("a"), toPath: temporary.file("b"))
        try FileManager.default.createDirectory(atPath: temporary.file("outside"), withIntermediateDirectories: false)
        try makeLink(temporary.file("a"), to: "outside")
        try inside.makeLink(bytes("link"), to: bytes("x"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.file("b")) == ["link"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.file("outside")).isEmpty)
        #expect(throws: FileWriteError(.unsafe, path: directory.path(of: bytes("a")))) {
            _ = try directory.subdirectoryForAdding(bytes("a"))
        }
    }

    // MARK: Directories

    @Test func aNewDirectoryNeverReplacesAnExistingOne() throws {
        #expect(try directory.makeSubdirectory(bytes("a")) != nil)
        #expect(throws: FileWriteError(.exists, path: directory.path(of: bytes("a")))) {
            _ = try directory.makeSubdirectory(bytes("a"))
        }
        #expect(try directory.subdirectoryForAdding(bytes("missing")) == nil)
    }

    @Test func ancestorsAreTheRealParentDirectories() throws {
        let deep = temporary.file("x/y")
        try makeDirectory(deep)
        let y = try #require(try TargetDirectory.open(bytes(deep), creating: false))
        #expect(y.ancestor(2, isDirectory: bytes(temporary.path)) && !y.ancestor(1, isDirectory: bytes(temporary.path)))
        try makeLink(temporary.file("z"), to: "x/y")
        let z = try #require(try TargetDirectory.open(bytes(temporary.file("z")), creating: false))
        #expect(!z.ancestor(1, isDirectory: bytes(temporary.path)))
    }

    /// Created with the permissions of a user, since root may read everything.
    @Test(.enabled(if: OtherUser.isAvailable, OtherUser.requirement)) func searchPermissionIsSufficientForAdding()
        throws
    {
        chmod(temporary.path, 0o733)
        let inner = temporary.file("inner")
        try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
        chmod(inner, 0o733)
        try OtherUser.run {
            let path = Array(temporary.path.utf8)
            #expect(throws: FileWriteError(.denied, path: path)) { _ = try TargetDirectory.open(path, creating: false) }
            let opened = try #require(try TargetDirectory.openForAdding(path))
            try opened.makeLink(bytes("link"), to: bytes("x"))
            try #require(try opened.subdirectoryForAdding(bytes("inner"))).makeLink(bytes("link"), to: bytes("x"))
            // There is nothing to wait for, and no error.
            try opened.synchronize()
            #expect(throws: FileWriteError.self) { try opened.forEachName { _ in } }
            let rights = try opened.rights()
            #expect(!rights.isReadable && rights.isWritable && rights.isSearchable && !rights.isReadOnly)
            #expect(rights.mode == 0o733 && rights.owner == 0)
            #expect(try opened.isOfOthers(bytes("inner")) && !opened.isOfOthers(bytes("link")))
        }
    }

    @Test(.enabled(if: OtherUser.isAvailable, OtherUser.requirement), arguments: [(0o1777, true), (0o777, false)])
    func theStickyBitProtectsEntriesOfOthers(mode: Int, keeps: Bool) throws {
        chmod(temporary.path, mode_t(mode))
        #expect(try directory.rights().keepsEntriesOfOthers == false)
        let seen = try OtherUser.run { try directory.rights() }
        // The thread determines the user.
        #expect(try OtherUser.run { seen.keepsEntriesOfOthers } == keeps)
    }

    // MARK: Files

    @Test func contentIsReadFromRegularFilesOnly() throws {
        _ = try temporary.write("file", "hello".utf8)
        #expect(try directory.content(of: bytes("file"), longest: 5) == bytes("hello"))
        #expect(try directory.content(of: bytes("missing"), longest: 5) == nil)
        try makeLink(temporary.file("link"), to: "file")
        try FileManager.default.createDirectory(atPath: temporary.file("dir"), withIntermediateDirectories: false)
        // Opening a FIFO without a writer would block indefinitely.
        try #require(mkfifo(temporary.file("fifo"), 0o600) == 0)
        for name in ["link", "dir", "fifo"] {
            #expect(throws: FileWriteError(.unsafe, path: directory.path(of: bytes(name)))) {
                _ = try directory.content(of: bytes(name), longest: 5)
            }
        }
        #expect(throws: FileWriteError(.unsafe, path: directory.path(of: bytes("file")))) {
            _ = try directory.content(of: bytes("file"), longest: 4)
        }
    }
}

@Suite struct TextCutTests {
    @Test(arguments: [
        ("abc", 3, "abc"), ("abc", 2, "ab"), ("aé", 2, "a"), ("é", 1, ""), ("a👨‍👩‍👧", 10, "a"), ("", 0, ""),
        // One character that does not fit is split between its scalars.
        ("e\u{301}\u{302}\u{303}", 5, "e\u{301}\u{302}"),
    ])
    func heads(text: String, byteCount: Int, expected: String) {
        #expect(Array(TextCut.head(of: text, byteCount: byteCount).utf8) == Array(expected.utf8))
    }
}
