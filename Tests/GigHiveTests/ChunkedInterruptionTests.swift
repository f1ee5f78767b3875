import Foundation
import MediaStore
import MediaTransport
import TestSupport
import Testing
import Tus

@testable import GigHive

/// Interrupted connections to servers that count chunks: a chunk of at most 20 MiB arrives whole or not at all; a
/// longer one can be stored in part (gighive-d4 contract 4.3).
@Suite struct ChunkedInterruptionTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var ending: CuttingProxy.Ending
        /// Amount sent before the interruption, in MiB.
        var after: Int
        var testDescription: String { "\(ending) after \(after) MiB" }
    }

    private static let mebibyte = 1 << 20

    static let rows = CuttingProxy.Ending.allCases.flatMap { ending in
        [1, 7, 19, 21, 22, 25, 40].map { Row(ending: ending, after: $0) }
    }

    @Test(arguments: rows)
    func noByteIsLostOrSentInAnotherChunk(_ row: Row) async throws {
        let sandbox = try await SandboxProcess.start(dialect: "d4", arguments: ["--body-timeout", "1"])
        let proxy = try CuttingProxy(
            before: sandbox.port,
            cuttingEvery: row.after * Self.mebibyte,
            times: 1,
            ending: row.ending
        )
        var bench = try ResumableBench(sandbox, retries: 3, through: proxy.address)
        bench.options.chunks = TusSendOptions(lock: .quickLock)
        let path = try bench.file(42 * Self.mebibyte)
        let result = await bench.uploader.upload(try bench.prepare(path))
        #expect(proxy.cuts == 1)
        #expect(result.error == nil)
        #expect(result.state == .done)
        #expect(result.isVerified == true)
        #expect(result.attempts >= 1)
        #expect(try await bench.stored() == [try bench.checksum(path)])
        let seen = try await sandbox.requests()
        #expect(seen.count { $0.method == "POST" && $0.path == "/files/" } == 1)
        // At most one chunk is sent again.
        #expect(try await bench.patchedBytes() <= Int64(50 * Self.mebibyte))
    }

    @Test("a chunk is at most 16 MiB long", arguments: [1, 8, 16, 20, 64])
    func chunkSize(_ mebibytes: Int) async throws {
        let sandbox = try await SandboxProcess.start(dialect: "d4")
        var bench = try ResumableBench(sandbox, retries: 3)
        bench.options.chunks = TusSendOptions(chunkBytes: Int64(mebibytes * Self.mebibyte))
        let path = try bench.file(42 * Self.mebibyte)
        #expect(await bench.uploader.upload(try bench.prepare(path)).state == .done)
        let chunk = Int64(min(mebibytes, 16) * Self.mebibyte)
        let sizes = try await sandbox.requests().filter { $0.method == "PATCH" }.map { Int64($0.bodyBytesRead) }
        #expect(sizes.dropLast().allSatisfy { $0 == chunk })
        #expect(sizes.reduce(0, +) == Int64(42 * Self.mebibyte))
        #expect(try await bench.stored() == [try bench.checksum(path)])
    }
}
