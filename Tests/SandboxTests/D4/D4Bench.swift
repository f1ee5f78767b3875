import Foundation
import TestSupport
import Testing

/// A sandbox of dialect d4, and the requests that bring it into the state of a recording.
final class D4Bench {
    static let mebibyte = 1 << 20
    static let chunk = 8 * mebibyte
    /// The token in all recordings with guests.
    static let guestToken = "KQGz7Zbho_ucBtwkuqgz6PRZeMVQm7WNPZJsp7TfbZE"

    let fixture: Fixture
    /// The current upload.
    var id = ""
    /// All uploads, in the order of their creation.
    private(set) var ids: [String] = []
    /// The nonce of the last guest upload.
    private(set) var nonce = ""
    private let media: TemporaryDirectory

    init(arguments: [String] = [], faults: [String] = []) async throws {
        let link = "\(Self.guestToken)=2026-11-20,Guest Org,band,10"
        fixture = try await Fixture(
            dialect: "d4",
            faults: faults,
            arguments: ["--event-link-token", link] + arguments
        )
        media = try TemporaryDirectory()
    }

    // MARK: Files

    /// A file of this many zeros; the disk does not store them.
    func zeros(_ count: Int) throws -> String {
        let path = media.file("zeros-\(count)")
        if !FileManager.default.fileExists(atPath: path) {
            let url = URL(fileURLWithPath: path)
            try Data().write(to: url)
            try FileHandle(forWritingTo: url).truncate(atOffset: UInt64(count))
        }
        return path
    }

    // MARK: tus

    /// Creates an upload, which becomes the current one.
    @discardableResult func create(
        _ length: Int,
        _ metadata: [String: String] = ["filename": "a.mp4", "filetype": "video/mp4"],
        guest: String? = nil
    ) async throws -> CurlResponse {
        let response = try await fixture.tus(
            "POST",
            headers: ["Upload-Length: \(length)", Fixture.metadata(metadata)],
            options: Self.credentials(guest)
        )
        if response.status == 201 { note(try response.uploadID()) }
        return response
    }

    /// Makes an upload the current one.
    func note(_ id: String) {
        self.id = id
        ids.append(id)
    }

    func select(_ index: Int) {
        id = ids[index]
    }

    /// Sends zeros, or the contents of a file.
    @discardableResult func patch(
        at offset: Int,
        _ size: Int,
        file: String? = nil,
        guest: String? = nil
    ) async throws -> CurlResponse {
        try await fixture.sendFile(try file ?? zeros(size), to: id, at: offset, options: Self.credentials(guest))
    }

    /// The offset that HEAD reports; nil if there is none.
    func offset() async throws -> Int? { try await fixture.offset(of: id) }

    func finalize(_ fields: String = "", guest: String? = nil) async throws -> CurlResponse {
        let response = try await fixture.finalize(id, fields, options: Self.credentials(guest))
        if let nonce = try? response.string("status_nonce") { self.nonce = nonce }
        return response
    }

    /// Creates an upload and sends it in one PATCH.
    @discardableResult func upload(
        _ content: String,
        _ metadata: [String: String] = ["filename": "a.mp4", "filetype": "video/mp4"],
        guest: String? = nil
    ) async throws -> CurlResponse {
        #expect(try await create(content.utf8.count, metadata, guest: guest).status == 201)
        return try await patch(at: 0, content.utf8.count, file: try fixture.file(content: content), guest: guest)
    }

    static func credentials(_ guest: String?) -> [String] {
        guest.map { ["-H", "X-Upload-Token: \($0)"] } ?? ["-u", "uploader:uploader"]
    }

    // MARK: Interruptions

    enum Ending: Sendable, CaseIterable {
        case fin
        case rst
        case halfClose
        case stall
    }

    /// Sends the first part of a PATCH, then ends it before its length is reached, and waits until the server has
    /// processed it.
    /// - Returns: The bytes that the server sent, if the client was still listening.
    @discardableResult func interrupt(
        at offset: Int,
        length: Int,
        after count: Int,
        _ ending: Ending
    ) async throws -> String {
        let before = try await fixture.sandbox.requests().count
        let connection = try RawConnection(port: fixture.sandbox.port)
        let credentials = Data("uploader:uploader".utf8).base64EncodedString()
        try connection.send(
            """
            PATCH /files/\(id) HTTP/1.1\r
            Host: 127.0.0.1\r
            Authorization: Basic \(credentials)\r
            Tus-Resumable: 1.0.0\r
            Upload-Offset: \(offset)\r
            \(Fixture.chunkType)\r
            Content-Length: \(length)\r
            \r

            """
        )
        try connection.send(zeros: count)
        // A reset discards the bytes that the server has not read yet.
        try await fixture.sandbox.waitForRequests { $0.count > before && $0[before].bodyBytesRead == count }
        var response = ""
        switch ending {
        case .fin: connection.close()
        case .rst: connection.reset()
        case .halfClose:
            connection.finishSending()
            response = connection.response()
        case .stall: response = connection.response()
        }
        try await fixture.sandbox.waitForRequests { $0[before].isOver }
        return response
    }

    // MARK: Recordings

    /// Sends the request of a recording, with the IDs and names of this sandbox in it.
    func send(_ recording: D4Recording, form: [String]? = nil, bearer: Bool = false) async throws -> CurlResponse {
        var arguments = recording.user.map { ["-u", "\($0):\($0)"] } ?? []
        if bearer { arguments += ["-H", "Authorization: Bearer abc"] }
        arguments += recording.method == "HEAD" ? ["--head"] : ["-X", recording.method]
        if let form {
            arguments += form.flatMap { ["-F", $0] } + ["-H", "Accept: application/json"]
        } else {
            // curl sends an empty header only if it is written with a semicolon.
            arguments += recording.headers.flatMap {
                ["-H", $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)"]
            }
            switch recording.body {
            case .none: break
            case .text(let text): arguments += ["--data-binary", "@" + (try fixture.file(content: adapted(text)))]
            case .bytes(let count): arguments += ["-T", try zeros(count)]
            }
        }
        let response = try await curl(arguments + [fixture.sandbox.baseURL + adapted(recording.path)])
        if recording.path.hasPrefix("/files"), response.headers["location"] != nil { note(try response.uploadID()) }
        if let nonce = try? response.string("status_nonce") { self.nonce = nonce }
        return response
    }

    private static let unknownID = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"

    private func adapted(_ text: String) -> String {
        text.replacing(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/) { match in
            match.output == Self.unknownID ? Self.unknownID : self.id
        }
        .replacing(/video\/[0-9a-f]{63}[1-9a-f]\.mp4/, with: "video/\(Self.digestOfMebibyte).mp4")
        .replacing("ekA5PXjMqCkGrRbZk1jlGBNOrT97zM0Q", with: nonce)
        .replacing("[36]", with: "[1]").replacing(" 36,", with: " 1,").replacing(
            "/api/uploads/42",
            with: "/api/uploads/1"
        )
    }

    /// SHA-256 of 1 MiB of zeros (sha256sum).
    static let digestOfMebibyte = "30e14955ebf1352266dc2ff8067e68104607e750abb9d3b36582b8af909fcb58"
}

extension Fixture {
    /// One PATCH with the contents of a file.
    func sendFile(
        _ path: String,
        to id: String,
        at offset: Int,
        options: [String] = D4Bench.credentials(nil)
    ) async throws -> CurlResponse {
        try await curl(
            options + ["-X", "PATCH", "-T", path, "-H", "Tus-Resumable: 1.0.0", "-H", "Upload-Offset: \(offset)"]
                + ["-H", Self.chunkType, "-H", "Expect:", sandbox.baseURL + "/files/" + id]
        )
    }
}
