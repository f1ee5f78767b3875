import Foundation
import MediaFiles
import MediaSystem
import TestSupport
import Testing

@Suite struct SourceFileTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test func aRegularFileIsOpenedWithItsStatus() throws {
        let path = try write("0123456789")
        let file = try SourceFile(path: Array(path.utf8))
        #expect(file.status.size == 10)
        #expect(try file.prefix(4) == Array("0123".utf8))
        #expect(try file.prefix(100) == Array("0123456789".utf8))
        #expect(try file.currentStatus() == file.status)
    }

    @Test func theDescriptorBlocksAndIsClosedOnExec() throws {
        let file = try SourceFile(path: Array(try write("x").utf8))
        #expect(fcntl(file.descriptor, F_GETFL) & O_NONBLOCK == 0)
        #expect(fcntl(file.descriptor, F_GETFD) & FD_CLOEXEC != 0)
    }

    @Test func aCheckedFileIsRefusedLikeAnOpenOne() throws {
        let path = try write("0123456789")
        let file = try SourceFile(checking: Array(path.utf8))
        #expect(try file.status == SourceFile(path: Array(path.utf8)).status)
        #expect(try file.prefix(4) == Array("0123".utf8))
        #expect(mkfifo(directory.file("fifo"), 0o600) == 0)
        for (name, kind) in [("fifo", SourceFileError.Kind.notRegular), ("absent", .notFound)] {
            let path = Array(directory.file(name).utf8)
            #expect(throws: SourceFileError(kind, path: path)) { try SourceFile(checking: path) }
        }
    }

    @Test func aNameThatIsNotUTF8IsValid() throws {
        let path = Array(directory.file("").utf8) + [0xFF, 0xFE]
        let descriptor = open(path.map(CChar.init(bitPattern:)) + [0], O_CREAT | O_WRONLY, 0o600)
        #expect(Glibc.write(descriptor, "abc", 3) == 3)
        close(descriptor)
        #expect(try SourceFile(path: path).status.size == 3)
    }

    @Test func irregularFilesAreRefusedByKind() throws {
        _ = try write("")
        #expect(mkfifo(directory.file("fifo"), 0o600) == 0)
        let cases: [(path: String, kind: SourceFileError.Kind)] = [
            (directory.file("absent"), .notFound),
            (directory.path, .isDirectory),
            (directory.file("fifo"), .notRegular),
            ("/dev/null", .notRegular),
            (directory.file("sample"), .empty),
            (directory.file("sample") + "/below", .io(errno: ENOTDIR)),
            (directory.file("a\0b"), .notFound),
        ]
        for (path, kind) in cases {
            #expect(throws: SourceFileError(kind, path: Array(path.utf8)), "\(path)") {
                try SourceFile(path: Array(path.utf8))
            }
        }
    }

    @Test func aSocketIsNotRegular() throws {
        let path = directory.file("s")
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0)
        #expect(throws: SourceFileError(.notRegular, path: Array(path.utf8))) {
            try SourceFile(path: Array(path.utf8))
        }
    }

    /// Root may read everything, so this is meaningful for other users only.
    @Test(.enabled(if: geteuid() != 0, "requires a user other than root")) func anUnreadableFileIsRefused() throws {
        let path = try write("secret")
        chmod(path, 0)
        #expect(throws: SourceFileError(.permissionDenied, path: Array(path.utf8))) {
            try SourceFile(path: Array(path.utf8))
        }
    }

    @Test func growingShrinkingAndRewritingAreDetected() throws {
        for change in [">> grow", "> shrink", "touch"] {
            let path = try write("0123456789")
            let file = try SourceFile(path: Array(path.utf8))
            let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
            switch change {
            case ">> grow":
                try handle.seekToEnd()
                try handle.write(contentsOf: Data("more".utf8))
            case "> shrink":
                try handle.truncate(atOffset: 3)
            default:
                // The length is unchanged and the old modification time is restored, but the change time still shows
                // the change.
                try handle.write(contentsOf: Data("9".utf8))
                var times = [timespec(tv_sec: 1, tv_nsec: 0), timespec(tv_sec: 1, tv_nsec: 0)]
                futimens(handle.fileDescriptor, &times)
            }
            try handle.close()
            #expect(try file.currentStatus() != file.status, "\(change)")
        }
    }

    @Test func aReplacedFileIsDetected() throws {
        let path = try write("0123456789")
        let file = try SourceFile(path: Array(path.utf8))
        try Data("9876543210".utf8).write(to: URL(fileURLWithPath: directory.file("other")))
        #expect(rename(directory.file("other"), path) == 0)
        let now = try file.currentStatus()
        #expect(now.inode != file.status.inode)
        #expect(try file.prefix(3) == Array("012".utf8))
    }

    @Test func aRemovedFileIsDetectedAndStillReadable() throws {
        let path = try write("0123456789")
        let file = try SourceFile(path: Array(path.utf8))
        #expect(unlink(path) == 0)
        #expect(try file.currentStatus().size == 10)
        #expect(try file.prefix(1) == Array("0".utf8))
    }

    private func write(_ text: String) throws -> String {
        try directory.write("sample", text.utf8)
    }
}
