import MediaTransport
import TestSupport
import Testing
import Tus

/// A server that takes the body of a creation.
@Suite("Creation with upload", .prompt)
struct CreationWithUploadTests {
    private func server(_ length: Int, says offset: Int?) throws -> TusServer {
        try TusServer(length: length) { request, _ in
            guard request.method == "POST" else { return .obey }
            let fields = offset.map { ["Upload-Offset: \($0)"] } ?? []
            return .storeAndAnswer(201, ["Location: /files/abc"] + fields)
        }
    }

    @Test("a small file is there after one request", arguments: [1, 1000])
    func whole(length: Int) async throws {
        let source = try Source(length)
        let server = try server(length, says: length)
        let client = try server.client()
        let (creation, offset) = try await client.create(source.content(), metadata: [], sendingFirst: 8 << 20)
        #expect(creation.id == "abc" && offset == Int64(length))
        #expect(server.stored == source.bytes && server.methods == ["POST"])
        #expect(server.requests[0].header("Content-Type") == "application/offset+octet-stream")
        #expect(server.requests[0].header("Upload-Length") == String(length))
        #expect(source.proofs == [try source.proof(at: length)])
        let delivery = try await client.send(source.content(proofs: source.proofs), to: creation.id)
        #expect(delivery.digest == (try source.digest))
        #expect(delivery.bytesSent == 0)
    }

    @Test("the rest is sent in chunks")
    func rest() async throws {
        let source = try Source(3500)
        let server = try server(3500, says: nil)
        let client = try server.client()
        let (creation, offset) = try await client.create(source.content(), metadata: [], sendingFirst: 1000)
        #expect(offset == nil)
        let delivery = try await client.send(
            source.content(proofs: source.proofs),
            to: creation.id,
            options: plainOptions()
        )
        #expect(server.stored == source.bytes)
        #expect(delivery.resumedAt == 1000)
        #expect(delivery.digest == (try source.digest))
    }

    @Test("a lost answer is reported, not repeated")
    func lostAnswer() async throws {
        let source = try Source(1000)
        let server = try TusServer(length: 1000) { _, _ in .closeUnanswered }
        let client = try server.client()
        let error = await tusError { () async throws(TusError) in
            try await client.create(source.content(), metadata: [], sendingFirst: 1000)
        }
        #expect(error?.kind == .network && error?.bytesSent == 1000)
        #expect(server.methods == ["POST"])
    }

    @Test(
        "a refusal is told like that of a plain creation",
        arguments: [(401, TusError.Kind.unauthorized), (413, .tooLarge)]
    )
    func refused(status: Int, kind: TusError.Kind) async throws {
        let source = try Source(1000)
        let server = try TusServer(length: 1000) { _, _ in .answer(status) }
        let client = try server.client()
        let error = await tusError { () async throws(TusError) in
            try await client.create(source.content(), metadata: [], sendingFirst: 1000)
        }
        #expect(error?.kind == kind)
    }
}
