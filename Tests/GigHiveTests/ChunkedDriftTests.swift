import Foundation
import MediaStore
import MediaTransport
import TestSupport
import Testing
import Tus

@testable import GigHive

/// Uploads whose offset on the server differs from the number of stored bytes, because another client sent chunks of
/// different sizes (gighive-d4 contract 4.2): the file is uploaded again, and never spliced.
@Suite struct ChunkedDriftTests {
    /// The sizes in a row of the contract's table, in MiB. The first chunk, of 8 MiB, is sent by mediactl.
    struct Row: CustomTestStringConvertible, Sendable {
        var total: Int
        /// Chunks from another client, each sent at the offset that the server reports.
        var others: [Int]
        /// Uploads that mediactl creates until the file is stored.
        var creations: Int
        /// Files on the server afterwards: mediactl must not delete another client's spliced file.
        var files = 1
        /// Whether the server has marked the upload as failed: it does not count such uploads.
        var isFailed = false
        var testDescription: String { "8, \(others) of \(total)" }
    }

    private static let mebibyte = 1 << 20

    static let rows = [
        Row(total: 20, others: [], creations: 1),
        Row(total: 24, others: [16], creations: 2),
        Row(total: 70, others: [8, 16], creations: 2),
        Row(total: 20, others: [4], creations: 2),
        Row(total: 16, others: [4], creations: 2),
        Row(total: 40, others: [12, 4, 8, 8], creations: 2, files: 2),
        // Like the last row of the contract, more bytes than the length: 16 MiB of 10 MiB (there, 20 bytes of 10).
        Row(total: 10, others: [8], creations: 2, isFailed: true),
    ]

    @Test(arguments: rows)
    func isUploadedAgain(_ row: Row) async throws {
        let sandbox = try await SandboxProcess.start(
            dialect: "d4",
            faults: ["tus-patch:reset,after=1000,times=1,skip=1"]
        )
        var bench = try ResumableBench(sandbox)
        bench.options.chunks.chunkBytes = Int64(8 * Self.mebibyte)
        let path = try bench.file(row.total * Self.mebibyte)
        #expect(await bench.uploader.upload(try bench.prepare(path)).state == .failed)
        let record = try #require(try bench.row())
        let id = try #require(try bench.store.tusRecord(record.uploadID)?.parts.first?.tusID)
        #expect(try await bench.uploader.tus.status(of: id).offset == Int64(8 * Self.mebibyte))
        for size in row.others {
            try await patch(bench, id, path, size * Self.mebibyte)
        }

        let log = EventLog()
        let result = await bench.uploader.resume(record, onEvent: log.add)
        #expect(result.error == nil)
        #expect(result.state == .done)
        #expect(result.isVerified == true)
        #expect(log.restarts.isEmpty == (row.creations == 1))
        #expect(log.hasLeftUnfinished == (row.creations > 1 && !row.isFailed))
        #expect(try await bench.count("POST", "/files/") == row.creations)
        let stored = try await bench.stored()
        #expect(stored.contains(try bench.checksum(path)))
        #expect(stored.count == row.files)
    }

    /// Sends a chunk as another client would, at the server's offset.
    private func patch(_ bench: ResumableBench, _ id: String, _ path: [UInt8], _ byteCount: Int) async throws {
        let offset = try await bench.uploader.tus.status(of: id).offset
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: String(decoding: path, as: UTF8.self)))
        try file.seek(toOffset: UInt64(offset))
        var bytes = try file.read(upToCount: byteCount) ?? Data()
        bytes.append(Data(count: byteCount - bytes.count))
        let chunk = bench.temporary.file("chunk")
        try bytes.write(to: URL(fileURLWithPath: chunk))
        let result = try await ChildProcess.run(
            "curl",
            [
                "-s", "-o", "/dev/null", "-u", "uploader:uploader", "-X", "PATCH", "-H", "Tus-Resumable: 1.0.0",
                "-H", "Upload-Offset: \(offset)", "-H", "Content-Type: application/offset+octet-stream", "-H",
                "Expect:", "--data-binary", "@\(chunk)", "\(bench.sandbox.baseURL)/files/\(id)",
            ]
        )
        #expect(result.status == 0)
    }

    /// The server has marked the upload as failed; HEAD still reports an offset (gighive-d4 contract 4.4).
    @Test func aFailedUploadIsUploadedAgain() async throws {
        let sandbox = try await SandboxProcess.start(
            dialect: "d4",
            faults: ["tus-patch:reset,after=1000,times=1,skip=3"]
        )
        let (bench, path) = try ResumableBench(sandbox).withFile()
        #expect(await bench.uploader.upload(try bench.prepare(path)).state == .failed)
        let row = try #require(try bench.row())
        let id = try #require(try bench.store.tusRecord(row.uploadID)?.parts.first?.tusID)
        try await patch(bench, id, path, Self.mebibyte)

        let result = await bench.uploader.resume(row)
        #expect(result.state == .done)
        #expect(result.isVerified == true)
        #expect(try await bench.count("POST", "/files/") == 2)
        #expect(try await bench.stored() == [try bench.checksum(path)])
    }
}
