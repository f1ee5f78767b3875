import Foundation
import TestSupport
import Testing

@testable import MediaStore

@Suite("Spooled input")
struct SpoolFileTests {
    let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    /// A pipe that another thread writes the bytes to and then closes.
    private func input(_ bytes: [UInt8]) -> FileHandle {
        let pipe = Pipe()
        Thread.detachNewThread {
            try? pipe.fileHandleForWriting.write(contentsOf: Data(bytes))
            try? pipe.fileHandleForWriting.close()
        }
        return pipe.fileHandleForReading
    }

    private func spool(_ input: FileHandle, limit: Int64 = .max, reserve: Int64 = 0) throws -> SpoolFile {
        try SpoolFile(
            copying: input.fileDescriptor,
            to: fixture.directory,
            limit: limit,
            reserve: reserve
        ) { false }
    }

    private var spoolNames: [String] {
        get throws { try fixture.names().filter { $0.hasPrefix("spool-") } }
    }

    @Test("every byte is copied, regardless of the length", arguments: [0, 1, 65_537, 3 << 20])
    func copies(count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        do {
            let file = try spool(input(bytes))
            #expect(file.byteCount == Int64(count))
            #expect(try fixture.bytes(file.path) == bytes)
            #expect(try permissions(file.path) == 0o600)
            var byte: UInt8 = 0
            #expect(pread(file.descriptor, &byte, 1, off_t(count / 2)) == (count == 0 ? 0 : 1))
        }
        #expect(try spoolNames == [])
    }

    @Test("a released file is deleted while it is still open")
    func released() throws {
        let file = try spool(input([1, 2, 3]))
        file.release()
        #expect(try spoolNames == [])
        withExtendedLifetime(file) {}
    }

    @Test("an input longer than the limit fails and leaves no file", arguments: [(10, true), (11, false)])
    func limit(count: Int, fits: Bool) throws {
        let input = input(Array(repeating: 1, count: count))
        if fits {
            #expect(try spool(input, limit: 10).byteCount == 10)
        } else {
            #expect(throws: SpoolError.tooLarge(limit: 10)) { try spool(input, limit: 10) }
        }
        #expect(try spoolNames == [])
    }

    @Test("an input that cannot be read fails and leaves no file")
    func unreadable() throws {
        let directory = try #require(FileHandle(forReadingAtPath: "/"))
        #expect(throws: SpoolError.unreadable(errno: EISDIR)) { try spool(directory) }
        #expect(try spoolNames == [])
    }

    @Test("waiting for an input without data can be canceled")
    func cancelled() throws {
        let silent = Pipe()
        var requested = 0
        #expect(throws: SpoolError.cancelled) {
            try SpoolFile(
                copying: silent.fileHandleForReading.fileDescriptor,
                to: fixture.directory,
                limit: 10
            ) {
                requested += 1
                return requested > 2
            }
        }
        #expect(try spoolNames == [])
        withExtendedLifetime(silent) {}
    }

    @Test("the reserved space stays free: the input never fills the disk")
    func reserve() throws {
        let input = input([1, 2, 3])
        #expect(try storeErrorKind { _ = try spool(input, reserve: .max / 2) } == .full)
        #expect(try spoolNames == [])
    }

    @Test(
        "a full disk aborts the copy, and its space is freed",
        .enabled(if: SmallDisk.isAvailable, SmallDisk.requirement)
    )
    func fullDisk() throws {
        let disk = try SmallDisk(kibibytes: 2048)
        let directory = try DataDirectory.open(disk.path)
        let zero = try #require(FileHandle(forReadingAtPath: "/dev/zero"))
        let kind = try storeErrorKind {
            _ = try SpoolFile(copying: zero.fileDescriptor, to: directory, limit: .max, reserve: 0) { false }
        }
        #expect(kind == .full)
        #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path) == ["locks"])
    }

    @Test("files left by killed processes are removed; those of running processes are kept")
    func sweep() throws {
        let directory = fixture.directory
        let workers = try (0..<2).map { _ in try WorkerProcess(["spool", directory.path, "100"]) }
        for worker in workers {
            worker.send("hello")
            worker.closeInput()
            #expect(try worker.line() == "spooled 5")
        }
        #expect(try spoolNames.count == 2)
        workers[0].killNow()
        SpoolFile.sweep(in: directory) { _ in false }
        #expect(try spoolNames.count == 1)
        workers[1].killNow()
        SpoolFile.sweep(in: directory) { _ in false }
        #expect(try spoolNames == [])
    }

    @Test("a file kept for an upload is found again, and removed when it is no longer needed")
    func keeping() throws {
        let directory = fixture.directory
        do {
            let file = try spool(input([1, 2, 3]))
            try file.keep(for: "u-one", in: directory)
            #expect(try SpoolFile.kept(for: "u-one", in: directory) == nil, "it is in use")
            file.release()
            #expect(try spoolNames.count == 1)
        }
        #expect(try SpoolFile.kept(for: "u-two", in: directory) == nil)
        do {
            let again = try #require(try SpoolFile.kept(for: "u-one", in: directory))
            #expect(again.byteCount == 3)
            #expect(try fixture.bytes(again.path) == [1, 2, 3])
        }
        SpoolFile.sweep(in: directory) { $0 == "u-one" }
        #expect(try spoolNames.count == 1)
        SpoolFile.sweep(in: directory) { $0 == "u-on" }
        #expect(try spoolNames == [])
    }
}
