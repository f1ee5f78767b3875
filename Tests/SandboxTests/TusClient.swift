import Foundation
import TestSupport
import Testing

/// Resumable uploads with curl.
extension Fixture {
    static let chunkType = "Content-Type: application/offset+octet-stream"

    /// A request below `/files/` with the header that all such requests have.
    func tus(
        _ method: String,
        _ path: String = "",
        headers: [String] = [],
        body: String? = nil,
        options: [String] = ["-u", "uploader:uploader"]
    ) async throws -> CurlResponse {
        let body = try body.map { ["--data-binary", "@\(try file(content: $0))"] } ?? []
        return try await curl(
            options + (method == "HEAD" ? ["--head"] : ["-X", method])
                + (["Tus-Resumable: 1.0.0"] + headers).flatMap { ["-H", $0] } + body
                + [sandbox.baseURL + "/files/" + path]
        )
    }

    /// The sandbox, and the ID of a new upload of this length.
    func withUpload(length: Int) async throws -> (fixture: Fixture, id: String) {
        (self, try await createUpload(length: length))
    }

    /// Creates an upload of this length; returns its ID.
    func createUpload(
        length: Int,
        _ metadata: [String: String] = ["filename": "clip.mp4", "label": "clip"],
        headers: [String] = [],
        options: [String] = ["-u", "uploader:uploader"]
    ) async throws -> String {
        let response = try await tus(
            "POST",
            headers: ["Upload-Length: \(length)", Self.metadata(metadata)] + headers,
            options: options
        )
        #expect(response.status == 201)
        return try response.uploadID()
    }

    static func metadata(_ pairs: [String: String]) -> String {
        "Upload-Metadata: "
            + pairs.sorted { $0.key < $1.key }
            .map { "\($0.key) \(Data($0.value.utf8).base64EncodedString())" }.joined(separator: ",")
    }

    func patch(
        _ id: String,
        at offset: Int,
        _ content: String,
        headers: [String] = [],
        options: [String] = ["-u", "uploader:uploader"]
    ) async throws -> CurlResponse {
        try await tus(
            "PATCH",
            id,
            headers: ["Upload-Offset: \(offset)", Self.chunkType] + headers,
            body: content,
            options: options
        )
    }

    /// The offset on the server; nil if it reports none.
    func offset(of id: String) async throws -> Int? {
        try await tus("HEAD", id).headers["upload-offset"].flatMap { Int($0) }
    }

    /// A complete upload, not finalized.
    func completeUpload(
        _ content: String,
        _ metadata: [String: String] = ["filename": "clip.mp4", "label": "clip"],
        options: [String] = ["-u", "uploader:uploader"]
    ) async throws -> String {
        let id = try await createUpload(length: content.utf8.count, metadata, options: options)
        if !content.isEmpty { #expect(try await patch(id, at: 0, content, options: options).status == 204) }
        return id
    }

    func finalize(
        _ id: String,
        _ fields: String = "",
        path: String = "/api/uploads/finalize",
        options: [String] = ["-u", "uploader:uploader"]
    ) async throws -> CurlResponse {
        try await finalize(json: #"{"upload_id":"\#(id)"\#(fields.isEmpty ? "" : ",")\#(fields)}"#, path, options)
    }

    func finalize(
        json: String,
        _ path: String = "/api/uploads/finalize",
        _ options: [String] = ["-u", "uploader:uploader"]
    ) async throws -> CurlResponse {
        try await curl(
            options + ["-H", "Content-Type: application/json", "-d", json, sandbox.baseURL + path]
        )
    }
}

extension CurlResponse {
    /// The last segment of `Location`.
    func uploadID() throws -> String {
        String(try #require(headers["location"]?.split(separator: "/").last))
    }
}
