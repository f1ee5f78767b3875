import Foundation
import MediaCrypto
import MediaTransport
import TestSupport
import Testing

@testable import Tus

@Suite("tus responses")
struct TusResponsesTests {
    /// The result of a call if the server returns the same response to every request, and the requests it received.
    private func query<Value>(
        _ status: Int,
        _ headers: [String],
        _ call: (TusClient) async throws(TusError) -> Value
    ) async throws -> (response: Result<Value, TusError>, requests: [TusServer.Request]) {
        let server = try TusServer(length: 0) { _, _ in .response(status, headers) }
        let client = try server.client(headers: [HTTPHeader("X-Upload-Token", "t")])
        let response: Result<Value, TusError>
        do throws(TusError) {
            response = .success(try await call(client))
        } catch {
            response = .failure(error)
        }
        return (response, server.requests)
    }

    private func create(_ client: TusClient) async throws(TusError) -> TusCreation {
        try await client.create(byteCount: 1, metadata: [])
    }

    @Test("extensions have the protocol's names")
    func extensionNames() {
        #expect(TusFeatures.Extension(rawValue: "creation-with-upload") == .creationWithUpload)
    }

    @Test("features are parsed as servers write them", arguments: [200, 204])
    func features(status: Int) async throws {
        let headers = [
            "Tus-Version: 1.0.0,0.2.2", "Tus-Extension: creation, creation-with-upload,checksum,expiration,x-own",
            "Tus-Max-Size: 6442450944", "Tus-Checksum-Algorithm: md5,sha1,crc32",
        ]
        let (response, requests) = try await query(status, headers) { client async throws(TusError) in
            try await client.features()
        }
        let features = try response.get()
        #expect(
            features
                == TusFeatures(
                    versions: ["1.0.0", "0.2.2"],
                    extensions: [.creation, .creationWithUpload, .checksum, .expiration],
                    maximumBytes: 6_442_450_944,
                    checksumAlgorithms: ["md5", "sha1", "crc32"]
                )
        )
        #expect(features.preferredChecksum == .sha1)
        // tus 1.0.0: every request but OPTIONS contains the version.
        #expect(requests[0].header("Tus-Resumable") == nil)
        #expect(requests[0].target == "/files/")
        #expect(requests[0].header("X-Upload-Token") == "t")
    }

    @Test(
        "a server without a version, or with a different one, is not supported",
        arguments: [[], ["Tus-Version: 2.0.0"]]
    )
    func otherVersion(headers: [String]) async throws {
        let (response, _) = try await query(200, headers) { client async throws(TusError) in try await client.features()
        }
        #expect(response.failure?.kind == .unsupported)
    }

    @Test("a checksum is supported only with the extension")
    func checksumExtension() {
        #expect(TusFeatures(extensions: [], checksumAlgorithms: ["sha1"]).preferredChecksum == nil)
        #expect(
            TusFeatures(extensions: [.checksum], checksumAlgorithms: ["sha1", "sha256"]).preferredChecksum == .sha256
        )
        #expect(TusFeatures(extensions: [.checksum], checksumAlgorithms: ["md5"]).preferredChecksum == nil)
    }

    @Test(
        "the ID is the last segment of Location, whatever the address",
        arguments: [
            ("/files/abc", "abc"), ("abc", "abc"), ("../files/abc", "abc"), ("/files/abc/", "abc"),
            ("/files/abc?x=/y", "abc"), ("/files/abc#/y", "abc"), ("https://other.example.org/files/abc", "abc"),
            ("//other.example.org/x/abc", "abc"), ("http://[::1]:8080/a/b/c/d-_E5", "d-_E5"), ("/files/a+b", "a+b"),
            ("/files/a%2Bb", "a+b"), ("/files/a%2bb.c~d", "a+b.c~d"), ("/other/files", "files"),
        ]
    )
    func location(value: String, id: String) async throws {
        #expect(try await query(201, ["Location: \(value)"], create).response.get().id == id)
    }

    @Test(
        "an invalid ID is refused",
        arguments: [
            "", "/", "/files/", "/files", "https://other.example.org", "https://other.example.org/", "..", "/files/..",
            "/files/abc/.", "/files/a%2Fb", "/files/a%5Cb", "/files/%2e%2e", "/files/a%00b", "/files/a%0d%0ab",
            "/files/a b", "/files/a%", "/files/a%zz", "/files/%ff", "/files/\u{e9}", "/files/a%25b", "?x", "#x",
        ]
    )
    func noID(value: String) async throws {
        let error = try await query(201, ["Location: \(value)"], create).response.failure
        #expect(error?.kind == .unexpectedResponse && error?.status == 201)
    }

    @Test("a creation without Location is invalid")
    func noLocation() async throws {
        let error = try await query(201, [], create).response.failure
        #expect(error?.kind == .unexpectedResponse && error?.detail == "the response has no Location")
    }

    @Test("a Location with a different origin gets neither requests nor credentials")
    func foreignOrigin() async throws {
        let foreign = try TusServer(length: 10)
        let source = try Source(10)
        let server = try TusServer(length: 10) { request, _ in
            request.method == "POST" ? .response(201, ["Location: \(foreign.address)/secret/a+b"]) : .obey
        }
        let client = try server.client()
        let creation = try await client.create(byteCount: 10, metadata: [])
        _ = try await client.send(source.content(), to: creation.id)
        try await client.terminate(creation.id)
        #expect(foreign.connectionCount == 0)
        #expect(server.requests.dropFirst().allSatisfy { $0.target == "/files/a%2Bb" })
        #expect(server.stored == source.bytes)
    }

    @Test(
        "an invalid ID is never used in an address",
        arguments: ["", ".", "..", "a/b", "a\\b", "a b", "a\r\nb"]
    )
    func foreignID(id: String) async throws {
        let (status, sent) = try await query(200, ["Upload-Offset: 0"]) { client async throws(TusError) in
            try await client.status(of: id)
        }
        #expect(status.failure?.kind == .refused && sent.isEmpty)
        let (end, ended) = try await query(204, []) { client async throws(TusError) in try await client.terminate(id) }
        #expect(end.failure?.kind == .refused && ended.isEmpty)
    }

    @Test("creation sends the length and the metadata in base64, but no body")
    func creation() async throws {
        // 1767225600 is `date -ud 2026-01-01 +%s`.
        let headers = ["Location: /files/abc", "Upload-Expires: Thu, 01 Jan 2026 00:00:00 GMT"]
        let metadata = [TusMetadata("filename", "bühne.mp4"), TusMetadata("note", ""), TusMetadata("n", "1")]
        let (creation, requests) = try await query(201, headers) { client async throws(TusError) in
            try await client.create(byteCount: 6_442_450_944, metadata: metadata)
        }
        #expect(try creation.get() == TusCreation(id: "abc", expiresAt: Date(timeIntervalSince1970: 1_767_225_600)))
        let request = try #require(requests.first)
        #expect(request.method == "POST" && request.target == "/files/" && request.bodyLength == 0)
        #expect(request.header("Upload-Length") == "6442450944")
        // `printf 'bühne.mp4' | base64`, `printf 1 | base64`.
        #expect(request.header("Upload-Metadata") == "filename YsO8aG5lLm1wNA==,note,n MQ==")
        #expect(request.header("Content-Type") == nil && request.header("Upload-Concat") == nil)
        #expect(request.header("Content-Length") == "0")
    }

    @Test("invalid metadata is refused before the request", arguments: ["", "a b", "a,b", "\u{fc}", "a\n"])
    func badKey(key: String) async throws {
        for metadata in [[TusMetadata(key, "x")], [TusMetadata("a", "1"), TusMetadata("a", "2")]] {
            let (response, requests) = try await query(201, ["Location: /files/abc"]) { client async throws(TusError) in
                try await client.create(byteCount: 1, metadata: metadata)
            }
            #expect(response.failure?.kind == .refused && requests.isEmpty)
        }
    }

    @Test("a creation with a lost response is repeated")
    func repeatedCreation() async throws {
        let server = try TusServer(length: 1) { request, number in
            number == 1 ? .closeUnanswered : .obey
        }
        #expect(try await server.client().create(byteCount: 1, metadata: []).id == "abc")
        #expect(server.methods == ["POST", "POST"])
    }

    @Test("parts are created as such and concatenated in order")
    func concatenation() async throws {
        let (_, requests) = try await query(201, ["Location: /files/abc"]) { client async throws(TusError) in
            _ = try await client.create(byteCount: 5, metadata: [], isPartial: true)
            _ = try await client.concatenate(["p1", "p+2"], metadata: [TusMetadata("filename", "a")])
        }
        #expect(requests[0].header("Upload-Concat") == "partial")
        #expect(requests[1].header("Upload-Concat") == "final;/files/p1 /files/p%2B2")
        #expect(requests[1].header("Upload-Length") == nil)
        #expect(requests[1].header("Upload-Metadata") == "filename YQ==")
    }

    @Test("HEAD reports the offset of an upload")
    func offset() async throws {
        let expires = "Upload-Expires: Thu, 01 Jan 2026 00:00:00 GMT"
        let full = try await query(200, ["Upload-Offset: 70", "Upload-Length: 100", expires], status).response
        let expiry = Date(timeIntervalSince1970: 1_767_225_600)
        #expect(try full.get() == TusStatus(offset: 70, byteCount: 100, expiresAt: expiry))
        let deferred = ["Upload-Offset: 70", "Upload-Defer-Length: 1", "Upload-Expires: soon"]
        #expect(try await query(204, deferred, status).response.get() == TusStatus(offset: 70, byteCount: nil))
    }

    @Test(
        "HEAD without a valid offset is an invalid response",
        arguments: [[], ["Upload-Offset: -1"], ["Upload-Offset: 1e3"]]
    )
    func unreadableStatus(headers: [String]) async throws {
        #expect(try await query(200, headers, status).response.failure?.kind == .unexpectedResponse)
    }

    private func status(_ client: TusClient) async throws(TusError) -> TusStatus {
        try await client.status(of: "abc")
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
