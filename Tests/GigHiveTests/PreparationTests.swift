import Foundation
import MediaStore
import TestSupport
import Testing

@testable import GigHive

@Suite struct PreparationTests {
    private func refusal(
        _ bench: Workbench,
        _ path: [UInt8]
    ) -> OutcomeCode? {
        do {
            _ = try bench.uploader.prepare(path, details: try bench.details())
            return nil
        } catch {
            return error.code
        }
    }

    @Test func filesThatCannotBeUploadedAreRefusedHere() throws {
        var bench = try Workbench(try FakeGigHive())
        let fifo = bench.temporary.file("fifo.mp4")
        mkfifo(fifo, 0o600)
        #expect(refusal(bench, Array(bench.temporary.file("none.mp4").utf8)) == .fileNotFound)
        #expect(refusal(bench, Array(bench.temporary.path.utf8)) == .isDirectory)
        #expect(refusal(bench, Array(fifo.utf8)) == .notRegularFile)
        #expect(refusal(bench, try bench.file("", name: "empty.mp4")) == .emptyFile)
        #expect(refusal(bench, try bench.file("abc", name: "clip.txt")) == .unknownExtension)
        #expect(refusal(bench, try bench.file("abc", name: "mp4")) == .unknownExtension)
        #expect(refusal(bench, try bench.file("abc", name: "CLIP.MP4")) == nil)
        bench.options.maximumBytes = 2
        #expect(refusal(bench, try bench.file("abc")) == .fileTooLarge)
        bench.options.maximumBytes = 3
        #expect(refusal(bench, try bench.file("abc")) == nil)
        bench.options.anyExtension = true
        #expect(refusal(bench, try bench.file("abc", name: "clip.txt")) == nil)
        #expect(bench.server.requests.isEmpty)
        #expect(try bench.row() == nil)
    }

    @Test func aFileOverOneGibibyteIsAWarning() throws {
        let bench = try Workbench(try FakeGigHive())
        for (size, isWarned) in [(1 << 30, true), ((1 << 30) - 65_536, false)] {
            let path = try bench.file("a")
            #expect(truncate(bench.temporary.file("clip.mp4"), off_t(size)) == 0)
            let upload = try bench.uploader.prepare(path, details: try bench.details())
            #expect(upload.warnings.contains(.aboveDirectLimit) == isWarned)
            #expect(upload.sizeBytes == Int64(size))
        }
    }

    @Test func aNameThatIsNotUTF8IsPrintedWithReplacements() throws {
        let bench = try Workbench(try FakeGigHive())
        _ = try bench.file()
        let path = Array(bench.temporary.path.utf8) + [0x2f, 0xff] + Array("x.mp4".utf8)
        #expect(rename(bench.temporary.file("clip.mp4"), path.map { CChar(bitPattern: $0) } + [0]) == 0)
        let upload = try bench.uploader.prepare(path, details: try bench.details())
        #expect(upload.fileName == "\u{fffd}x.mp4")
        #expect(upload.path == path)
    }

    @Test func standardInputHasTheSpecifiedName() async throws {
        let bench = try Workbench(try FakeGigHive())
        let pipe = Pipe()
        try pipe.fileHandleForWriting.write(contentsOf: Data("abc".utf8))
        try pipe.fileHandleForWriting.close()
        let spool = try SpoolFile(
            copying: pipe.fileHandleForReading.fileDescriptor,
            to: bench.directory,
            limit: 100,
            reserve: 0,
            isCancelled: { false }
        )
        let upload = try bench.uploader.prepare(Array("live.mp4".utf8), spool: spool, details: try bench.details())
        let result = await bench.uploader.upload(upload)
        #expect(result.state == .done)
        #expect(result.path == Array("-".utf8))
        #expect(result.fileName == "live.mp4")
        #expect(result.checksumSHA256 == abcChecksum)
        #expect(try bench.store.tokens(host: nil).first?.fileName == "live.mp4")
    }
}
