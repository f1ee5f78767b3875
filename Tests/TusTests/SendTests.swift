import Foundation
import MediaCrypto
import MediaTransport
import Synchronization
import TestSupport
import Testing
import Tus

@Suite("Upload of content", .prompt)
struct SendTests {
    @Test("chunks arrive in order over one persistent connection, without Expect")
    func chunks() async throws {
        let source = try Source(10_500)
        let server = try TusServer(length: 10_500)
        let delivery = try await server.client().send(source.content(), to: "abc", options: plainOptions())
        #expect(server.stored == source.bytes)
        #expect(delivery.digest == (try source.digest))
        #expect(delivery.bytesSent == 10_500 && delivery.resumedAt == 0 && delivery.retriedFailures == 0)
        #expect(server.chunks == Array(repeating: 1000, count: 10) + [500])
        #expect(server.methods.first == "HEAD" && server.methods.count == 12)
        #expect(server.connectionCount == 1)
        #expect(server.requests.allSatisfy { $0.header("Expect") == nil && $0.header("Tus-Resumable") == "1.0.0" })
        #expect(server.requests.allSatisfy { $0.target == "/files/abc" && $0.header("Authorization") != nil })
    }

    @Test("large chunks use one persistent connection, without Expect")
    func largeChunks() async throws {
        let source = try Source(5 << 20)
        let server = try TusServer(length: 5 << 20)
        let delivery = try await server.client()
            .send(source.content(), to: "abc", options: plainOptions(chunk: 1 << 20))
        #expect(server.stored == source.bytes)
        #expect(delivery.digest == (try source.digest))
        #expect(server.connectionCount == 1)
        #expect(server.requests.allSatisfy { $0.header("Expect") == nil })
    }

    @Test("a digest is stored for each chunk's end")
    func proofs() async throws {
        let source = try Source(2500)
        let server = try TusServer(length: 2500)
        _ = try await server.client().send(source.content(), to: "abc", options: plainOptions())
        #expect(source.proofs == (try [1000, 2000, 2500].map { try source.proof(at: $0) }))
    }

    @Test("a part of a file is sent and hashed as if it were a whole file", arguments: [1, 2, 999, 1000, 1001])
    func part(length: Int) async throws {
        let source = try Source(5000)
        let server = try TusServer(length: length)
        let delivery = try await server.client()
            .send(source.content(300..<300 + length), to: "abc", options: plainOptions())
        #expect(server.stored == Array(source.bytes[300..<300 + length]))
        #expect(delivery.digest == (try Source.digest(of: server.stored)))
    }

    @Test("the offset of a new upload is not queried, and an empty upload is complete")
    func new() async throws {
        let source = try Source(1500)
        let server = try TusServer(length: 1500)
        var options = plainOptions()
        options.isNew = true
        _ = try await server.client().send(source.content(), to: "abc", options: options)
        #expect(server.methods == ["PATCH", "PATCH"])
        let empty = try TusServer(length: 0)
        let delivery = try await empty.client().send(source.content(0..<0), to: "abc")
        #expect(delivery.digest == (try Source.digest(of: [])))
        #expect(empty.methods == ["HEAD"])
    }

    @Test("the last byte of a chunk is sent after its digest is stored", .timeLimit(.minutes(4)))
    func proofBeforeLastByte() async throws {
        let (almost, keep) = (Gate(), Gate())
        let isKept = Mutex(false)
        let lastByteCameAfter = Mutex<[Bool]>([])
        let source = try Source(300_000)
        let server = try TusServer(length: 300_000, beforeLastByte: { almost.open() })
        let task = Task {
            try await server.client().send(
                source.content { _ in
                    await keep.opened()
                    isKept.withLock { $0 = true }
                },
                to: "abc",
                options: plainOptions(chunk: 300_000)
            ) { event in
                if case .acknowledged = event {
                    let kept = isKept.withLock { $0 }
                    lastByteCameAfter.withLock { $0.append(kept) }
                }
            }
        }
        // All bytes but the last are at the server while the digest is being stored.
        #expect(await almost.opened())
        #expect(server.stored.isEmpty)
        keep.open()
        let delivery = try await task.value
        #expect(delivery.digest == (try source.digest))
        #expect(lastByteCameAfter.withLock { $0 } == [true])
    }

    @Test("a digest that cannot be stored stops the transfer before the chunk is complete")
    func journalFails() async throws {
        struct Full: Error {}
        let source = try Source(3000)
        let server = try TusServer(length: 3000)
        let client = try server.client()
        let error = await tusError { () async throws(TusError) in
            try await client.send(
                source.content { if $0.offset == 2000 { throw Full() } },
                to: "abc",
                options: plainOptions()
            )
        }
        #expect(error?.kind == .journal)
        #expect(error?.underlying is Full)
        #expect(server.stored.count == 1000)
    }
}
