import Foundation
import MediaTransport
import TestSupport
import Testing
import Tus

/// Uploads to servers whose `Upload-Offset` counts chunks (gighive-d4 contract 4.1 to 4.4).
@Suite("Fixed chunks", .prompt)
struct FixedChunkTests {
    private static let chunk = 1000

    private func send(
        _ source: Source,
        to server: TusServer,
        proofs: [TusProof] = [],
        isNew: Bool = false
    ) async throws -> Result<TusDelivery, TusError> {
        // Adaptive chunks would grow at once.
        var options = plainOptions(chunk: 500, minimum: 1, maximum: 64_000)
        options.fixedChunkBytes = Int64(Self.chunk)
        options.isNew = isNew
        return try await source.send(to: server, proofs: proofs, options: options)
    }

    @Test(
        "a limit without deletion means that offsets count chunks",
        arguments: [
            ("creation", 6_442_450_944 as Int64?, true),
            ("creation,termination", 6_442_450_944, false),
            ("creation", nil, false),
            ("creation,creation-with-upload,termination,concatenation,creation-defer-length", nil, false),
        ]
    )
    func unit(extensions: String, limit: Int64?, countsChunks: Bool) async throws {
        let server = try TusServer(length: 0) { _, _ in
            let maximum = limit.map { ["Tus-Max-Size: \($0)"] } ?? []
            return .response(204, ["Tus-Version: 1.0.0", "Tus-Extension: \(extensions)"] + maximum)
        }
        #expect(try await server.client().features().countsChunks == countsChunks)
    }

    @Test("all chunks but the last have the same size")
    func size() async throws {
        let source = try Source(7300)
        let server = try TusServer(length: 7300)
        let delivery = try await send(source, to: server, isNew: true).get()
        #expect(server.chunks == Array(repeating: Self.chunk, count: 7) + [300])
        #expect(server.stored == source.bytes)
        #expect(delivery.digest == (try source.digest))
    }

    @Test("an interruption does not change the size", arguments: [0, 1, 500, 999, 1000])
    func interruption(after count: Int) async throws {
        let source = try Source(5000)
        let server = try TusServer(length: 5000) { request, number in
            request.method == "PATCH" && number == 2 ? .reset(afterBytes: count, storing: false) : .obey
        }
        let delivery = try await send(source, to: server).get()
        #expect(server.chunks.allSatisfy { $0 == Self.chunk })
        #expect(server.stored == source.bytes)
        #expect(delivery.digest == (try source.digest))
    }

    @Test("after a lost response to a stored chunk, no byte is sent again")
    func lostResponse() async throws {
        let source = try Source(3000)
        let server = try TusServer(length: 3000) { request, number in
            request.method == "PATCH" && number == 2 ? .closeUnanswered : .obey
        }
        #expect(try await send(source, to: server).get().bytesSent == 3000)
        #expect(server.stored == source.bytes)
    }

    @Test(
        "an upload that the server cannot complete fails at once",
        arguments: [
            (500, [String]()), (409, []), (409, ["Upload-Offset: 1500"]), (409, ["Upload-Offset: 3000"]),
            (409, ["Upload-Offset: 0"]),
        ]
    )
    func dead(status: Int, headers: [String]) async throws {
        let source = try Source(5000)
        let server = try TusServer(length: 5000) { request, number in
            request.method == "PATCH" && number >= 2 ? .response(status, headers) : .obey
        }
        let result = try await send(source, to: server)
        let error = #expect(throws: TusError.self) { try result.get() }
        #expect(error?.kind == .dead)
        #expect(server.chunks.count == 2)
    }

    @Test("a conflict at the end of the chunk means that it was stored")
    func conflict() async throws {
        let source = try Source(4000)
        let server = try TusServer(length: 4000) { request, number in
            request.method == "PATCH" && number == 2 ? .storeAndRespond(409, ["Upload-Offset: 2000"]) : .obey
        }
        #expect(try await send(source, to: server, isNew: true).get().digest == (try source.digest))
        #expect(server.stored == source.bytes)
        #expect(server.chunks.count == 4)
    }

    @Test("a body that a proxy truncated is sent again", arguments: [400, 408])
    func endedEarly(status: Int) async throws {
        let source = try Source(3000)
        let server = try TusServer(length: 3000) { request, number in
            request.method == "PATCH" && number == 2 ? .response(status) : .obey
        }
        #expect(try await send(source, to: server).get().digest == (try source.digest))
        #expect(server.stored == source.bytes)
    }

    @Test(
        "an upload resumes only at the end of a sent chunk",
        arguments: [
            (1500, [1000, 2000], true), (2000, [Int](), true), (2000, [1000, 2000], false),
            (1000, [1000, 2000], false),
        ]
    )
    func resume(offset: Int, proofs: [Int], isDead: Bool) async throws {
        let source = try Source(5000)
        let server = try TusServer(length: 5000, stored: Array(source.bytes[..<offset]))
        let result = try await send(source, to: server, proofs: try proofs.map { try source.proof(at: $0) })
        switch result {
        case .success:
            #expect(!isDead)
            #expect(server.stored == source.bytes)
        case .failure(let error):
            #expect(isDead)
            #expect(error.kind == .dead)
            #expect(server.chunks.isEmpty)
        }
    }

    @Test("a creation that must not be repeated is sent once")
    func creation() async throws {
        let server = try TusServer(length: 0) { _, _ in .closeUnanswered }
        let client = try server.client()
        let error = await tusError { () async throws(TusError) in
            try await client.create(byteCount: 1, metadata: [], isRepeatable: false)
        }
        #expect(error?.kind == .network)
        #expect(server.methods == ["POST"])
    }
}
