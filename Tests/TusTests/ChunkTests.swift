import Foundation
import MediaCrypto
import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import Tus

@Suite("Chunks", .prompt)
struct ChunkTests {
    private func options(_ size: Int64, _ minimum: Int64, _ maximum: Int64) -> TusSendOptions {
        TusSendOptions(chunkBytes: size, minimumChunkBytes: minimum, maximumChunkBytes: maximum)
    }

    @Test("chunks grow while the network is stable, up to the maximum")
    func growth() {
        var size = ChunkSize(options(8, 1, 64))
        var sizes: [Int64] = []
        for _ in 0..<9 {
            size.completed(in: .seconds(1))
            sizes.append(size.current)
        }
        #expect(sizes == [8, 16, 16, 32, 32, 64, 64, 64, 64])
    }

    @Test("a size larger than any file means one chunk", arguments: [0, 1000])
    func largestSize(stored: Int) async throws {
        let source = try Source(3000)
        let server = try TusServer(length: 3000, stored: Array(source.bytes[..<stored])) { request, number in
            request.method == "PATCH" && number < 3 ? .reset(afterBytes: 500, storing: true) : .obey
        }
        let delivery = try await server.client().send(
            source.content(proofs: [try source.proof(at: stored)]),
            to: "abc",
            options: plainOptions(chunk: .max)
        )
        #expect(server.stored == source.bytes)
        #expect(delivery.digest == (try source.digest))
        var size = ChunkSize(options(.max, 1, .max))
        for _ in 0..<5 { size.completed(in: .seconds(1)) }
        #expect(size.current == .max)
    }

    @Test("slow chunks do not grow")
    func slowGrowth() {
        var size = ChunkSize(options(8, 1, 64))
        for _ in 0..<9 { size.completed(in: .seconds(6)) }
        #expect(size.current == 8)
    }

    @Test("chunks that take 20 seconds are halved down to the minimum")
    func tooSlow() {
        var size = ChunkSize(options(8, 2, 64))
        let sizes = (0..<3).map { _ in
            size.completed(in: .seconds(20))
            return size.current
        }
        #expect(sizes == [4, 2, 2])
    }

    @Test(
        "a run begins with the size of the last chunk, or an eighth of it if nothing of that chunk arrived",
        arguments: [(100, 4000, 500), (99, 4000, 500), (101, 4000, 4000), (100, 12, 2), (101, 90_000, 8000)]
    )
    func laterRun(offset: Int64, last: Int64, expected: Int64) {
        var size = ChunkSize(options(8000, 2, 64_000))
        size.resume(after: TusChunk(offset: 100, byteCount: last), at: offset)
        #expect(size.current == expected)
    }

    @Test("behind a proxy that keeps only whole chunks, an upload is completed by runs of 300 kB each")
    func runsEndOften() async throws {
        let source = try Source(2_000_000)
        let run = Mutex((control: TransferControl(), rest: 0))
        let server = try TusServer(length: 2_000_000) { request, _ in
            guard request.method == "PATCH" else { return .obey }
            return run.withLock { run in
                guard request.bodyLength > run.rest else {
                    run.rest -= request.bodyLength
                    return .obey
                }
                run.control.stop()
                return .reset(afterBytes: run.rest, storing: false)
            }
        }
        let client = try server.client()
        let last = Mutex<TusChunk?>(nil)
        var offsets: [Int] = []
        while server.stored.count < 2_000_000, offsets.count < 20 {
            let control = TransferControl()
            run.withLock { $0 = (control, 300_000) }
            var content = source.content(proofs: source.proofs)
            content.lastChunk = last.withLock { $0 }
            content.begin = { chunk in last.withLock { $0 = chunk } }
            let ready = content
            let error = await tusError { () async throws(TusError) in
                try await client.send(
                    ready,
                    to: "abc",
                    options: plainOptions(chunk: 8 << 20, minimum: 64 << 10, retries: 0),
                    control: control
                )
            }
            #expect(error == nil || error?.kind == .cancelled)
            offsets.append(server.stored.count)
        }
        #expect(server.stored == source.bytes)
        // From the third run on, each makes progress.
        #expect(zip(offsets.dropFirst(), offsets.dropFirst(2)).allSatisfy { $0 < $1 }, "\(offsets)")
    }

    @Test("interruptions halve chunks down to the minimum, and slow down growth")
    func cuts() {
        var size = ChunkSize(options(8, 2, 64))
        let responses = (0..<3).map { _ in (isSmaller: size.cut(), now: size.current) }
        #expect(responses.map(\.isSmaller) == [true, true, false])
        #expect(responses.map(\.now) == [4, 2, 2])
        var grewAfter = 0
        while size.current == 2 && grewAfter < 100 {
            size.completed(in: .seconds(1))
            grewAfter += 1
        }
        #expect(grewAfter == 16)
    }

    @Test("a size rejected with 413 is never used again")
    func refusals() {
        var size = ChunkSize(options(64, 2, 64))
        // The last chunk of a file is smaller than the current size.
        let responses = [64, 10].map { (isSmaller: size.refused($0), now: size.current) }
        #expect(responses.map(\.isSmaller) == [true, true])
        #expect(responses.map(\.now) == [32, 5])
        for _ in 0..<20 { size.completed(in: .seconds(1)) }
        #expect(size.current == 5)
        let last = [5, 2].map { (isSmaller: size.refused($0), now: size.current) }
        #expect(last.map(\.isSmaller) == [true, false])
        #expect(last.map(\.now) == [2, 2])
    }

    @Test("413 halves chunks until they are accepted; at the minimum it is final")
    func tooLarge() async throws {
        let source = try Source(6000)
        let limit = try TusServer(length: 6000) { request, _ in
            request.bodyLength > 700 ? .response(413, [], body: "<html>", type: "text/html") : .obey
        }
        let delivery = try await limit.client()
            .send(source.content(), to: "abc", options: plainOptions(chunk: 2000, minimum: 10, retries: 0))
        #expect(limit.stored == source.bytes)
        #expect(delivery.digest == (try source.digest))
        #expect(limit.chunks.prefix(3) == [2000, 1000, 500] && delivery.retriedFailures == 2)
        #expect(limit.chunks.dropFirst(2).allSatisfy { $0 == 500 })

        let never = try TusServer(length: 6000) { request, _ in request.method == "PATCH" ? .response(413) : .obey }
        let result = try await source.send(to: never, options: plainOptions(chunk: 2000, minimum: 500))
        let error = #expect(throws: TusError.self) { try result.get() }
        #expect(error?.kind == .tooLarge && error?.status == 413)
        #expect(never.chunks == [2000, 1000, 500])
    }

    @Test("smaller chunks succeed on a network that breaks every connection after 700 KB")
    func cutOften() async throws {
        let source = try Source(5_000_000)
        let carried = Mutex<[Int: Int]>([:])
        let server = try TusServer(length: 5_000_000) { request, _ in
            guard request.method == "PATCH" else { return .obey }
            let rest = carried.withLock { carried in
                defer { carried[request.connection, default: 0] += request.bodyLength }
                return 700_000 - carried[request.connection, default: 0]
            }
            return request.bodyLength > rest ? .reset(afterBytes: rest, storing: false) : .obey
        }
        let delivery = try await server.client().send(
            source.content(),
            to: "abc",
            options: plainOptions(chunk: 4 << 20, minimum: 100_000, retries: 2)
        )
        #expect(server.stored == source.bytes)
        #expect(delivery.digest == (try source.digest))
    }

    @Test("each chunk has a checksum on request", arguments: DigestAlgorithm.allCases)
    func checksum(algorithm: DigestAlgorithm) async throws {
        let source = try Source(1500)
        let server = try TusServer(length: 1500)
        var options = plainOptions()
        options.checksum = algorithm
        _ = try await server.client().send(source.content(), to: "abc", options: options)
        let sums = server.requests.compactMap { $0.header("Upload-Checksum") }
        let tool = algorithm == .sha1 ? "sha1" : "sha256"
        let expected = try [0..<1000, 1000..<1500].map { range in
            try "\(tool) " + openSSL(tool, Array(source.bytes[range])).base64EncodedString()
        }
        #expect(sums == expected)
    }

    @Test("a stop while the digest is being stored stops the transfer immediately", arguments: [true, false])
    func stopWhileHeld(byTask: Bool) async throws {
        let (almost, keeping, keep) = (Gate(), Gate(), Gate())
        let source = try Source(300_000)
        let server = try TusServer(length: 300_000, beforeLastByte: { almost.open() })
        let client = try server.client()
        let control = TransferControl()
        let content = source.content { _ in
            keeping.open()
            await keep.opened()
        }
        let task = Task {
            await tusError { () async throws(TusError) in
                try await client.send(content, to: "abc", options: plainOptions(chunk: 300_000), control: control)
            }
        }
        #expect(await almost.opened())
        #expect(await keeping.opened())
        if byTask { task.cancel() } else { control.stop() }
        // The server sees the connection end while the digest is still being stored.
        #expect(await server.closed.opened())
        keep.open()
        let error = await task.value
        #expect(error?.kind == .cancelled)
        #expect(server.stored.isEmpty)
        #expect(error?.bytesSent == 299_999)
    }

    /// The digest as the `openssl` program computes it.
    private func openSSL(_ algorithm: String, _ bytes: [UInt8]) throws -> Data {
        let directory = try TemporaryDirectory()
        let (input, output) = (directory.file("chunk"), directory.file("digest"))
        try Data(bytes).write(to: URL(fileURLWithPath: input))
        _ = try ChildProcess.run("openssl", ["dgst", "-\(algorithm)", "-binary", "-out", output, input])
        return try Data(contentsOf: URL(fileURLWithPath: output))
    }
}
