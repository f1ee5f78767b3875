import Foundation
import Synchronization
import TestSupport
import Testing

@testable import MediaCrypto

@Suite struct HashPipelineTests {
    /// Sizes around each limit: a block, the longest input that does not need a thread, the whole ring.
    static let sizes = [
        0, 1, 65_537, (256 << 10) - 1, 256 << 10, (256 << 10) + 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1,
        (1 << 20) + (256 << 10), 4 << 20, (4 << 20) + 1, 9_999_999,
    ]

    @Test(arguments: sizes, [8192 - 3, 128 << 10, 20 << 20]) func agreesWithOpenSSL(size: Int, chunk: Int) async throws
    {
        let bytes = randomBytes(size)
        let directory = try TemporaryDirectory()
        try Data(bytes).write(to: URL(fileURLWithPath: directory.file("sample")))
        let pipeline = try HashPipeline()
        append(bytes, to: pipeline, chunk: chunk)
        let (digest, byteCount) = try await pipeline.finish()
        #expect(digest.hex == (try OpenSSLTool.sha256(ofFile: directory.file("sample"))))
        #expect(byteCount == Int64(size))
    }

    @Test(arguments: [1000, 3 << 20]) func moreBytesMayFollowAfterFinish(size: Int) async throws {
        let bytes = randomBytes(size)
        let pipeline = try HashPipeline()
        for round in 1...3 {
            append(bytes, to: pipeline, chunk: 100_000)
            let (digest, byteCount) = try await pipeline.finish()
            #expect(digest == (try hash(Array(repeating: bytes, count: round).flatMap { $0 })))
            #expect(byteCount == Int64(round * size))
        }
    }

    @Test(arguments: [1000, 6 << 20]) func restartDiscardsEverything(size: Int) async throws {
        let pipeline = try HashPipeline()
        append(randomBytes(size), to: pipeline, chunk: 70_001)
        pipeline.restart()
        append(Array("abc".utf8), to: pipeline, chunk: 2)
        let (digest, byteCount) = try await pipeline.finish()
        #expect(digest.hex == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(byteCount == 3)
    }

    /// Lengths that do not need a thread, and one that does.
    @Test(arguments: [0, 1000, 6 << 20], [0, 1000, 6 << 20]) func restartReturnsToTheMark(
        size: Int,
        more: Int
    ) async throws {
        let kept = randomBytes(size)
        let pipeline = try HashPipeline()
        append(kept, to: pipeline, chunk: 70_001)
        pipeline.mark()
        for round in 1...3 {
            append(Array(repeating: 0x21, count: more), to: pipeline, chunk: 70_001)
            if round == 2 { _ = try await pipeline.finish() }
            pipeline.restart()
        }
        append(Array("abc".utf8), to: pipeline, chunk: 2)
        let (digest, byteCount) = try await pipeline.finish()
        #expect(digest == (try hash(kept + Array("abc".utf8))))
        #expect(byteCount == Int64(size + 3))
    }

    @Test(arguments: [0, 1, 1 << 20, 5_000_000]) func readsAPartOfAFile(size: Int) async throws {
        let bytes = randomBytes(100 + size + 100)
        let directory = try TemporaryDirectory()
        let path = try directory.write("sample", bytes)
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        let pipeline = try HashPipeline()
        append(Array("abc".utf8), to: pipeline, chunk: 3)
        let seen = Mutex<[Int64]>([])
        try await pipeline.append(file: file.fileDescriptor, from: 100, byteCount: Int64(size)) { done in
            seen.withLock { $0.append(done) }
        }
        let digest = try await pipeline.finish().digest
        #expect(digest == (try hash(Array("abc".utf8) + bytes[100..<100 + size])))
        #expect(seen.withLock { $0.last ?? 0 } == Int64(size))
        await #expect(throws: CryptoError("the file ended after \(bytes.count) of \(bytes.count + 1) bytes")) {
            try await pipeline.append(file: file.fileDescriptor, from: 100, byteCount: Int64(size + 101))
        }
    }

    @Test func memoryIsBoundedByTheRing() async throws {
        let pipeline = try HashPipeline()
        let bytes = randomBytes(1 << 20)
        for _ in 0..<64 { append(bytes, to: pipeline, chunk: 1 << 20) }
        #expect(try await pipeline.finish().byteCount == 64 << 20)
        #expect(pipeline.ring.allocated <= 16)
    }

    @Test func smallInputsStartNoThread() throws {
        let pipeline = try HashPipeline()
        append(randomBytes(1 << 20), to: pipeline, chunk: 1 << 16)
        #expect(!pipeline.ring.hasThread)
        append([0], to: pipeline, chunk: 1)
        append(randomBytes(1 << 18), to: pipeline, chunk: 1 << 16)
        #expect(pipeline.ring.hasThread)
    }

    @Test(arguments: [0, 1, 65_537, 256 << 10]) func inputsKnownToBeShortNeedNoBuffer(size: Int) async throws {
        let bytes = randomBytes(size)
        let pipeline = try HashPipeline(expecting: Int64(size))
        append(Array("abc".utf8), to: pipeline, chunk: 2)
        pipeline.restart()
        append(bytes, to: pipeline, chunk: 10_000)
        let (digest, byteCount) = try await pipeline.finish()
        #expect(digest == (try hash(bytes)))
        #expect(byteCount == Int64(size))
        #expect(pipeline.ring.allocated == 0)
    }

    @Test func aLongerInputUsesTheRing() throws {
        let pipeline = try HashPipeline(expecting: (256 << 10) + 1)
        append([0], to: pipeline, chunk: 1)
        #expect(pipeline.ring.allocated == 1)
    }

    /// The thread references the ring; once the ring is freed, the thread has ended.
    @Test(.timeLimit(.minutes(4))) func anUnfinishedPipelineEndsItsThreadWhenReleased() async throws {
        weak var ring: HashRing?
        do {
            let pipeline = try HashPipeline()
            append(randomBytes(5 << 20), to: pipeline, chunk: 1 << 18)
            ring = pipeline.ring
            #expect(pipeline.ring.hasThread)
        }
        while ring != nil { await Task.yield() }
    }

    private func append(_ bytes: [UInt8], to pipeline: HashPipeline, chunk: Int) {
        bytes.withUnsafeBytes { all in
            for start in stride(from: 0, to: all.count, by: chunk) {
                pipeline.append(UnsafeRawBufferPointer(rebasing: all[start..<min(start + chunk, all.count)]))
            }
        }
    }

    private func hash(_ bytes: [UInt8]) throws -> SHA256Digest {
        var hasher = try SHA256Hasher()
        bytes.withUnsafeBytes { hasher.update($0) }
        return try hasher.snapshot()
    }
}
