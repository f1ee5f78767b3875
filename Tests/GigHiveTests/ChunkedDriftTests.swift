import Foundation
import MediaStore
import TestSupport
import Testing
import Tus

@testable import GigHive

/// Uploads whose offset on the server is not the number of bytes there, because chunks of other sizes were sent to them
/// (gighive-d4 contract 4.2): the file is uploaded again, and never spliced.
@Suite struct ChunkedDriftTests {
    enum Drift: CaseIterable, Sendable {
        /// A chunk of twice the size counts as one.
        case larger
        /// A chunk of half the size counts as one.
        case smaller
        /// Two chunks of which one is larger and one smaller: the sum is right again, and the server accepts the file.
        case matchingPair
        /// The server claims the whole file, and never completes it.
        case stuck
        /// The server has marked the upload as failed; HEAD still reports an offset.
        case failed
    }

    private func patch(_ bench: ResumableBench, _ id: String, _ byteCount: Int) async throws {
        let offset = try await bench.uploader.tus.status(of: id).offset
        let path = bench.temporary.file("foreign")
        try Data(repeating: 1, count: byteCount).write(to: URL(fileURLWithPath: path))
        _ = try await ChildProcess.run(
            "curl",
            [
                "-s", "-u", "uploader:uploader", "-X", "PATCH", "-H", "Tus-Resumable: 1.0.0", "-H",
                "Upload-Offset: \(offset)", "-H", "Content-Type: application/offset+octet-stream", "--data-binary",
                "@\(path)", "\(bench.sandbox.baseURL)/files/\(id)",
            ]
        )
    }

    private func cause(_ drift: Drift, on bench: ResumableBench, _ id: String) async throws {
        let chunk = Int(ResumableBench.chunkBytes)
        switch drift {
        case .larger: try await patch(bench, id, 2 * chunk)
        case .smaller: try await patch(bench, id, chunk / 2)
        case .matchingPair:
            try await patch(bench, id, chunk + chunk / 2)
            try await patch(bench, id, chunk / 2)
        case .stuck:
            while try await bench.uploader.tus.status(of: id).offset < 640 << 10 { try await patch(bench, id, 1) }
        case .failed: try await patch(bench, id, 1 << 20)
        }
    }

    @Test(arguments: Drift.allCases)
    func isUploadedAgain(_ drift: Drift) async throws {
        let bench = try ResumableBench(try await SandboxProcess.start(dialect: "d4"), retries: 3)
        let path = try bench.file()
        #expect(try await bench.stopped(try bench.prepare(path)).state == .cancelled)
        let row = try #require(try bench.row())
        let id = try #require(try bench.store.tusRecord(row.uploadID)?.parts.first?.tusID)
        try await cause(drift, on: bench, id)

        let log = EventLog()
        let result = await bench.uploader.resume(row, onEvent: log.add)
        #expect(result.error == nil)
        #expect(result.state == .done)
        #expect(result.isVerified == true)
        #expect(log.contains { if case .restarting = $0 { true } else { false } })
        #expect(try await bench.count("POST", "/files/") == 2)
        #expect(try await bench.stored() == [try bench.checksum(path)])
    }
}
