import Foundation
import Glibc
import MediaTransport
import Synchronization
import TestSupport
import Testing
import Tus

@Suite("Resumption after an interruption", .prompt)
struct ResumeTests {
    @Test(
        "after a reset HEAD is queried: nothing, a part, or all of the chunk may be on the server",
        arguments: [0, 1, 499, 999, 1000],
        [true, false]
    )
    func reset(after count: Int, storing: Bool) async throws {
        let source = try Source(5000)
        let server = try TusServer(length: 5000) { request, number in
            request.method == "PATCH" && number == 3 ? .reset(afterBytes: count, storing: storing) : .obey
        }
        let delivery = try await source.send(to: server).get()
        #expect(server.stored == source.bytes)
        #expect(delivery.digest == (try source.digest))
        // A connection that breaks before the first body byte is replaced by libcurl itself.
        if count > 0 { #expect(delivery.retriedFailures == 1) }
        // At most the part of the chunk that the server does not have was sent again.
        let again = delivery.bytesSent - 5000
        #expect(again >= 0 && again <= 1000 - (storing ? count : 0))
        for proof in source.proofs {
            #expect(proof == (try source.proof(at: Int(proof.offset))))
        }
        #expect(count == 0 || server.methods.prefix(5) == ["HEAD", "PATCH", "PATCH", "PATCH", "HEAD"])
    }

    @Test("after a lost response to a stored chunk, no byte is sent again")
    func lostResponse() async throws {
        let source = try Source(3000)
        let server = try TusServer(length: 3000) { request, number in
            request.method == "PATCH" && number == 2 ? .closeUnanswered : .obey
        }
        let delivery = try await source.send(to: server).get()
        #expect(server.stored == source.bytes)
        #expect(delivery.bytesSent == 3000 && delivery.retriedFailures == 1)
        #expect(delivery.digest == (try source.digest))
    }

    @Test(
        "a later run resumes at the server's offset, and hashes the bytes before it",
        arguments: [1, 999, 1000, 2000, 5000]
    )
    func laterRun(offset: Int) async throws {
        let source = try Source(5000)
        let server = try TusServer(length: 5000, stored: Array(source.bytes[..<offset]))
        // The digests stored by an earlier run: one for the end of each started chunk, including the interrupted
        // one.
        let proofs = try stride(from: 1000, through: min(5000, offset + 1000), by: 1000).map {
            try source.proof(at: $0)
        }
        let events = Mutex<[Int64]>([])
        let delivery = try await source.send(to: server, proofs: proofs) { event in
            if case .verifying(let bytes, let total) = event {
                #expect(total == Int64(offset))
                events.withLock { $0.append(bytes) }
            }
        }.get()
        #expect(server.stored == source.bytes)
        #expect(delivery.resumedAt == Int64(offset) && delivery.bytesSent == Int64(5000 - offset))
        #expect(delivery.digest == (try source.digest))
        #expect(events.withLock { $0.last } == Int64(offset))
    }

    @Test(
        "without a stored digest, at most one chunk on the server is accepted",
        arguments: [(999, true), (1000, true), (1001, false)]
    )
    func withoutProof(offset: Int, isAccepted: Bool) async throws {
        let source = try Source(5000)
        let server = try TusServer(length: 5000, stored: Array(source.bytes[..<offset]))
        switch try await source.send(to: server) {
        case .success:
            #expect(isAccepted)
            #expect(server.stored == source.bytes)
            // The next interruption may come one chunk later, so a digest of the part is stored now.
            #expect(source.proofs.first?.offset == Int64(offset))
        case .failure(let error):
            #expect(!isAccepted && error.kind == .prefixChanged)
            #expect(error.detail == "the server has 1001 bytes, but only the first 0 can be compared")
            #expect(server.chunks.isEmpty)
        }
    }

    @Test("an upload is never continued after a changed prefix", arguments: [0, 999, 1999])
    func changedPrefix(at changed: Int) async throws {
        let source = try Source(5000)
        let server = try TusServer(length: 5000, stored: Array(source.bytes[..<2000]))
        let proofs = try [1000, 2000].map { try source.proof(at: $0) }
        try overwrite(source, at: changed)
        let error = try await failure(source, server, proofs)
        #expect(error?.kind == .prefixChanged)
        #expect(error?.detail == "the first 2000 bytes differ from those that were sent")
        #expect(error?.bytesSent == 0)
        #expect(server.chunks.isEmpty)
    }

    @Test("a change in the stored part of an interrupted chunk is detected by the digest of the whole chunk")
    func changedPart() async throws {
        let source = try Source(5000)
        let server = try TusServer(length: 5000, stored: Array(source.bytes[..<2400]))
        let proofs = try [1000, 2000, 3000].map { try source.proof(at: $0) }
        try overwrite(source, at: 2300)
        #expect(try await failure(source, server, proofs)?.kind == .prefixChanged)
        #expect(server.chunks.isEmpty)
    }

    @Test("a change after the stored part is not an error")
    func changedLater() async throws {
        let source = try Source(5000)
        let server = try TusServer(length: 5000, stored: Array(source.bytes[..<2000]))
        let proofs = try [1000, 2000, 3000].map { try source.proof(at: $0) }
        try overwrite(source, at: 2300)
        _ = try await source.send(to: server, proofs: proofs).get()
        #expect(server.stored == Array(try Data(contentsOf: URL(fileURLWithPath: source.path))))
    }

    @Test("a source that is shorter or deleted is never sent", arguments: [true, false])
    func lostSource(isShorter: Bool) async throws {
        let source = try Source(5000)
        let server = try TusServer(length: 5000)
        if isShorter { truncate(source.path, 4999) } else { unlink(source.path) }
        let error = try await failure(source, server, [])
        #expect(error?.kind == .sourceFailed)
        #expect(server.chunks.isEmpty)
    }

    @Test("an upload with a different length, and impossible offsets, are conflicts")
    func conflicts() async throws {
        let source = try Source(3000)
        let other = try TusServer(length: 3001)
        #expect(try await failure(source, other, [])?.kind == .conflict)
        let ahead = try TusServer(length: 3000) { request, _ in
            request.method == "HEAD" ? .response(200, ["Upload-Offset: 3001", "Upload-Length: 3000"]) : .obey
        }
        #expect(try await failure(source, ahead, [])?.kind == .conflict)
        // The server loses acknowledged bytes.
        let back = try TusServer(length: 3000) { request, number in
            switch (request.method, number) {
            case ("PATCH", 3): .response(500)
            case ("HEAD", 2): .response(200, ["Upload-Offset: 1000", "Upload-Length: 3000"])
            default: .obey
            }
        }
        let error = try await failure(source, back, [])
        #expect(error?.kind == .conflict)
        #expect(error?.detail == "the server's offset is 1000, expected 2000")
        // Another client has sent more than this run did.
        let stranger = try TusServer(length: 3000) { request, number in
            switch (request.method, number) {
            case ("PATCH", 1): .response(409)
            case ("HEAD", 2): .response(200, ["Upload-Offset: 2000", "Upload-Length: 3000"])
            default: .obey
            }
        }
        let foreign = try await failure(source, stranger, [])
        #expect(foreign?.kind == .conflict)
        #expect(foreign?.detail == "the server's offset is 2000, expected 0")
    }

    private func failure(_ source: Source, _ server: TusServer, _ proofs: [TusProof]) async throws -> TusError? {
        if case .failure(let error) = try await source.send(to: server, proofs: proofs) { error } else { nil }
    }

    /// Changes one byte in place.
    private func overwrite(_ source: Source, at offset: Int) throws {
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: source.path))
        try handle.seek(toOffset: UInt64(offset))
        try handle.write(contentsOf: [source.bytes[offset] ^ 0xff])
        try handle.close()
    }
}
