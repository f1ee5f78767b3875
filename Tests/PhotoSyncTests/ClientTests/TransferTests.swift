import Foundation
import MediaStore
import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import PhotoSync

@Suite("Uploads and downloads of single photos", .prompt)
struct TransferTests {
    private typealias Response = RecordingServer.Response

    // MARK: Uploads

    private static let stored = Response(
        body: #"{"id":"p-1","storedPath":"2024/01/a.jpg","uploadedAt":"2026-11-20T22:17:20.2Z","isDuplicate":false}"#
    )

    private func content(_ text: String) throws -> FileContent {
        let directory = try TemporaryDirectory()
        let path = try directory.write("photo", text.utf8)
        return FileContent(owning: open(path, O_RDONLY), byteCount: Int64(text.utf8.count))
    }

    /// The parts of a recorded upload: their heads and contents.
    private func parts(_ request: RecordingServer.Request) throws -> [(head: String, content: String)] {
        let type = try #require(request.values(of: "content-type").first)
        let boundary = try #require(type.components(separatedBy: "boundary=").last)
        return String(decoding: request.body, as: UTF8.self).components(separatedBy: "--\(boundary)")
            .dropFirst().dropLast().map { part in
                let halves = part.components(separatedBy: "\r\n\r\n")
                return (halves[0], halves.dropFirst().joined(separator: "\r\n\r\n").replacing(/\r\n$/, with: ""))
            }
    }

    @Test("trap 16: the file name has no special characters; the original name is a separate field")
    func parts() async throws {
        let server = try RecordingServer(Self.stored)
        let taken = try #require(PhotoTime(rfc3339: "2024-03-01T00:30:00.25+02:00"))
        let photo = PhotoUpload(
            content: try content("JPEG\r\n--bytes"),
            fileName: "Zoë \"x\"\r\n; filename=\"evil.exe\".JPG",
            takenAt: taken,
            deviceID: "d-1"
        )
        let receipt = try await server.client().upload(photo)
        #expect(receipt == PhotoReceipt(id: "p-1", isDuplicate: false))
        let request = try #require(server.requests.first)
        #expect(request.line == "POST /api/photos/upload")
        #expect(request.values(of: "x-api-key") == ["key-1"])
        let parts = try parts(request)
        let heads = parts.map { $0.head.trimmingCharacters(in: .newlines) }
        #expect(
            heads == [
                "Content-Disposition: form-data; name=\"originalFilename\"",
                "Content-Disposition: form-data; name=\"dateTaken\"",
                "Content-Disposition: form-data; name=\"deviceId\"",
                "Content-Disposition: form-data; name=\"file\"; filename=\"Zoë _x____ filename__evil.exe_.JPG\"\r\n"
                    + "Content-Type: application/octet-stream",
            ]
        )
        // The time is in UTC: the server would keep the local time and drop the offset (trap 4).
        let contents = parts.map(\.content)
        #expect(contents == [photo.fileName, "2024-02-29T22:30:00.25Z", "d-1", "JPEG\r\n--bytes"])
    }

    @Test("without a date and a device, their fields are absent, not empty")
    func absentFields() async throws {
        let server = try RecordingServer(Self.stored)
        _ = try await server.client().upload(PhotoUpload(content: try content("x"), fileName: "a.png"))
        #expect(try parts(#require(server.requests.first)).count == 2)
    }

    @Test(
        "special characters in the part's file name are replaced",
        arguments: [
            ("IMG_0001 (2).jpg", "IMG_0001 (2).jpg"), ("été 写真.HEIC", "été 写真.HEIC"), (".gif", "photo.gif"),
            ("a\\b\"c'd;e=f%22.jpg", "a_b_c_d_e_f_22.jpg"), ("a\r\nb\u{0}\u{202E}\u{FFFD}.jpg", "a__b___.jpg"),
            ("..", "photo.."), ("a/b.jpg", "a_b.jpg"),
        ]
    )
    func partName(fileName: String, partName: String) throws {
        #expect(PhotoUpload(content: try content("x"), fileName: fileName).partName == partName)
    }

    @Test("trap 5: a date that cannot be represented is not sent")
    func impossibleDate() async throws {
        let (server, client) = try RecordingServer(Self.stored).withClient()
        let photo = PhotoUpload(
            content: try content("x"),
            fileName: "a.jpg",
            takenAt: PhotoTime(text: "far", microseconds: .max)
        )
        #expect(await photoSyncError { _ = try await client.upload(photo) }?.code == .invalidDate)
        #expect(server.requests.isEmpty)
    }

    @Test(
        "refused uploads, each sent once (contract 3.3)",
        arguments: [
            // Trap 17: the server's message after its limit of 30 seconds.
            (Response.json(400, "Request must be multipart/form-data."), OutcomeCode.bodyTooSlow, true),
            (.json(400, "No file provided or file is empty."), .emptyFile, false),
            (.json(400, "file size must be positive"), .emptyFile, false),
            (.json(400, "file extension not allowed"), .unknownExtension, false),
            (.json(400, "file size exceeds maximum allowed"), .fileTooLarge, false),
            (.json(401, "Invalid API key."), .unauthorized, false),
            (.json(500, "Failed to read file."), .serverError, false),
            (.json(500, "Database error."), .serverError, true),
            (.json(500, "Failed to store file."), .serverError, false),
            (.json(500, "Failed to save photo record."), .invalidDevice, false),
            (Response(status: 502, body: "", type: nil), .serverError, true),
            (Response(body: "{}"), .unexpectedResponse, false),
            (Response(body: #"{"id":"","isDuplicate":false}"#), .unexpectedResponse, false),
            (Response(body: #"{"id":"p"}"#), .unexpectedResponse, false),
        ]
    )
    private func refusedUpload(response: Response, code: OutcomeCode, isRetryable: Bool) async throws {
        let (server, client) = try RecordingServer(response).withClient()
        let photo = PhotoUpload(content: try content("x"), fileName: "a.jpg", deviceID: "d-1")
        let error = await photoSyncError { _ = try await client.upload(photo) }
        #expect(error?.code == code)
        #expect(error?.isRetryable == isRetryable)
        #expect(server.requests.count == 1)
    }

    @Test(
        "the message about multipart means a timeout for uploads only; no row fails because of an unspecified device"
    )
    func otherCalls() async throws {
        let sentence = "Request must be multipart/form-data."
        let server = try RecordingServer(.json(400, sentence))
        let client = try server.client()
        #expect(await photoSyncError { _ = try await client.devices() }?.code == .badRequest)
        let other = try RecordingServer(.json(500, "Failed to save photo record."))
        let uploader = try other.client()
        let photo = PhotoUpload(content: try content("x"), fileName: "a.jpg")
        #expect(await photoSyncError { _ = try await uploader.upload(photo) }?.code == .serverError)
    }

    @Test("a file that became shorter is reported as modified")
    func shrunkFile() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("photo", "four".utf8)
        let server = try RecordingServer(Self.stored)
        let client = try server.client()
        let photo = PhotoUpload(
            content: FileContent(owning: open(path, O_RDONLY), byteCount: 5),
            fileName: "a.jpg"
        )
        #expect(await photoSyncError { _ = try await client.upload(photo) }?.code == .sourceChanged)
    }

    // MARK: Downloads

    /// Stores the received bytes.
    private final class Sink: ResponseReceiver {
        private let state = Mutex((begun: 0, bytes: [UInt8]()))

        var text: String { state.withLock { String(decoding: $0.bytes, as: UTF8.self) } }
        var isUntouched: Bool { state.withLock { $0.begun == 0 && $0.bytes.isEmpty } }

        func begin(_ head: HTTPResponseHead) { state.withLock { $0.begun += 1 } }
        func receive(_ bytes: UnsafeRawBufferPointer) { state.withLock { $0.bytes += Array(bytes) } }
    }

    private static let digest = String(repeating: "ab", count: 32)

    @Test("a complete file is downloaded, with the values in its header")
    func whole() async throws {
        let server = try RecordingServer(
            Response(
                body: "0123456789",
                type: "image/jpeg",
                headers: [
                    "X-Photosync-Hash: \(Self.digest.uppercased())", "Last-Modified: Fri, 20 Nov 2026 22:17:21 GMT",
                    "Accept-Ranges: bytes",
                ]
            )
        )
        let sink = Sink()
        let head = try await server.client().download(id: "a b/../ü", receiver: sink)
        #expect(sink.text == "0123456789")
        #expect(
            head
                == DownloadHead(
                    status: 200,
                    byteCount: 10,
                    totalBytes: 10,
                    lastModified: "Fri, 20 Nov 2026 22:17:21 GMT",
                    sha256: Self.digest
                )
        )
        let request = try #require(server.requests.first)
        #expect(request.line == "GET /api/photos/a%20b%2F..%2F%C3%BC/download")
        #expect(request.values(of: "range").isEmpty && request.values(of: "if-range").isEmpty)
    }

    @Test("the rest of a file is downloaded if the file is unchanged")
    func rest() async throws {
        let server = try RecordingServer(
            Response(status: 206, body: "6789", type: "image/jpeg", headers: ["Content-Range: bytes 6-9/10"])
        )
        let sink = Sink()
        let head = try await server.client().download(
            id: "p-1",
            from: 6,
            ifRange: "Fri, 20 Nov 2026 22:17:21 GMT",
            receiver: sink
        )
        #expect(sink.text == "6789")
        #expect(head == DownloadHead(status: 206, firstByte: 6, byteCount: 4, totalBytes: 10))
        #expect(server.requests.first?.values(of: "range") == ["bytes=6-"])
        #expect(server.requests.first?.values(of: "if-range") == ["Fri, 20 Nov 2026 22:17:21 GMT"])
    }

    @Test("if there is nothing beyond the offset, the receiver gets nothing")
    func nothingLeft() async throws {
        let server = try RecordingServer(
            Response(
                status: 416,
                body: "invalid range: failed to overlap\n",
                type: "text/plain",
                headers: ["Content-Range: bytes */10"]
            )
        )
        let sink = Sink()
        let head = try await server.client().download(id: "p-1", from: 10, receiver: sink)
        #expect(head == DownloadHead(status: 416, totalBytes: 10))
        #expect(sink.isUntouched)
    }

    @Test(
        "a range that was not requested never reaches the receiver",
        arguments: [
            (Int64(6), "bytes 0-3/10"), (6, "bytes 7-10/11"), (6, "bytes 6-5/10"), (6, "bytes 6-9/9"), (6, "6-9/10"),
            (6, "bytes */10"), (6, "bytes 6-9999999999999999999999/*"), (6, "bytes 6-8/10"), (6, ""),
            (0, "bytes 0-3/10"),
        ]
    )
    func wrongRange(offset: Int64, range: String) async throws {
        let server = try RecordingServer(
            Response(status: 206, body: "6789", type: "image/jpeg", headers: ["Content-Range: \(range)"])
        )
        let client = try server.client()
        let sink = Sink()
        let error = await photoSyncError { _ = try await client.download(id: "p-1", from: offset, receiver: sink) }
        #expect(error?.code == .unexpectedResponse)
        #expect(sink.isUntouched)
    }

    @Test(
        "an error page never reaches the receiver (contract section 6)",
        arguments: [
            (Response.text(404, "Photo not found"), OutcomeCode.notFound, "Photo not found", false),
            (.text(403, "Access denied"), .forbidden, "Access denied", false),
            (.text(500, "Database error"), .serverError, "Database error", true),
            (.json(401, "Invalid API key."), .unauthorized, "Invalid API key.", false),
            (.json(503, "Setup required"), .setupRequired, "Setup required", false),
            (Response(status: 302, body: "", type: nil, headers: ["Location: /login"]), .redirected, "302", false),
            (Response(status: 416, body: "", type: nil), .badRequest, "416", false),
        ]
    )
    private func refusedDownload(
        response: Response,
        code: OutcomeCode,
        words: String,
        isRetryable: Bool
    ) async throws {
        let (server, client) = try RecordingServer(response).withClient()
        let sink = Sink()
        let error = await photoSyncError { _ = try await client.download(id: "p-1", receiver: sink) }
        #expect(error?.code == code)
        #expect(error?.detail.contains(words) == true)
        #expect(error?.isRetryable == isRetryable)
        #expect(error?.photoID == "p-1")
        #expect(sink.isUntouched)
        #expect(server.requests.count == 1)
    }

    @Test("a truncated response is retryable")
    func cutResponse() async throws {
        let server = try ScriptedServer { connection, _ in
            try connection.readRequest()
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234")
        }
        let url = try ServerURL(server.address)
        let client = PhotoSyncClient(
            server: url,
            http: try HTTPClient(),
            authorization: .apiKey("key", for: url.origin)
        )
        let sink = Sink()
        let error = await photoSyncError { _ = try await client.download(id: "p-1", receiver: sink) }
        #expect(error?.code == .transport)
        #expect(error?.isRetryable == true)
        #expect(sink.text == "01234")
        #expect(server.connectionCount == 1)
    }

    @Test("a receiver's own error is passed on")
    func receiverError() async throws {
        struct Full: ResponseReceiver {
            func begin(_ head: HTTPResponseHead) throws { throw PhotoSyncError(.diskFull, detail: "no room") }
            func receive(_ bytes: UnsafeRawBufferPointer) {}
        }
        let server = try RecordingServer(Response(body: "x", type: "image/jpeg"))
        let client = try server.client()
        let error = await photoSyncError { _ = try await client.download(id: "p-1", receiver: Full()) }
        #expect(error?.code == .diskFull)
    }

    @Test("an ID that would change the path is never sent", arguments: ["", ".", ".."])
    func dots(id: String) async throws {
        let (server, client) = try RecordingServer(Response(body: "x")).withClient()
        let error = await photoSyncError { _ = try await client.download(id: id, receiver: Sink()) }
        #expect(error?.code == .unknownPhoto)
        #expect(server.requests.isEmpty)
    }
}
