import Foundation
import MediaStore
import TestSupport
import Testing

@testable import GigHive

/// Uploads over tus whose file was touched, copied or restored before they are resumed.
@Suite struct ReplacedSourceTests {
    @Test(arguments: ["touched", "copied"], [true, false])
    func aReplacedFileWithTheSameBytesIsResumed(_ change: String, _ byID: Bool) async throws {
        let bench = try ResumableBench(try await SandboxProcess.start())
        let path = try await bench.interrupted().path
        try replace(bench, change)
        let row = try #require(try bench.row())
        let result = await byID ? bench.uploader.resume(row) : bench.uploader.upload(try bench.prepare(path))
        #expect(result.state == .done, "\(String(describing: result.error))")
        #expect(result.isResumed)
        #expect(result.uploadID == row.uploadID)
        #expect(result.bytesSent < 640 << 10)
        #expect(try await bench.count("POST", "/files/") == 1)
        #expect(try await bench.stored() == [try bench.checksum(path)])
        // Later uploads recognize the new file.
        #expect(try bench.row()?.identity == (try bench.prepare(path)).identity)
    }

    @Test(arguments: [true, false])
    func bytesOfAReplacedFileThatCannotBeComparedAreSentAgain(_ byID: Bool) async throws {
        let bench = try ResumableBench(try await SandboxProcess.start())
        let path = try await bench.interrupted().path
        try replace(bench, "copied")
        let row = try #require(try bench.row())
        // Simulates a server that kept part of a chunk. The digest of a chunk is stored only before its last byte is
        // sent.
        var tus = try #require(try bench.store.tusRecord(row.uploadID))
        let name = bench.temporary.file("clip.mp4")
        let digest = try await ChildProcess.run("sh", ["-c", "head -c 1000 \(name) | sha256sum"])
        tus.parts[0].proofs = [TusRecord.Proof(offset: 1000, digest: String(digest.output.prefix(64)))]
        try await bench.store.save(tus)
        let log = EventLog()
        let result =
            await byID
            ? bench.uploader.resume(row, onEvent: log.add)
            : bench.uploader.upload(try bench.prepare(path), onEvent: log.add)
        #expect(result.state == .done, "\(String(describing: result.error))")
        #expect(result.uploadID == row.uploadID)
        #expect(result.bytesSent == 640 << 10)
        #expect(log.restarts.count == 1)
        #expect(try await bench.stored() == [try bench.checksum(path)])
        #expect(try await bench.count("DELETE", "/files/") == 1)
    }

    /// Replaces the file with the same bytes.
    private func replace(_ bench: ResumableBench, _ change: String) throws {
        let name = bench.temporary.file("clip.mp4")
        if change == "touched" {
            utimes(name, [timeval(tv_sec: 1, tv_usec: 0), timeval(tv_sec: 1, tv_usec: 0)])
        } else {
            // The new file gets a different inode while the old one exists.
            _ = try bench.file(name: "copy.mp4")
            #expect(rename(bench.temporary.file("copy.mp4"), name) == 0)
        }
    }
}
