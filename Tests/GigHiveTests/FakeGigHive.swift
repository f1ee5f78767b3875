import Foundation
import MediaCrypto
import MediaFiles
import MediaTransport
import Synchronization
import TestSupport

@testable import GigHive
@testable import MediaStore

/// A request as the fake server has parsed it.
struct FakeRequest: Sendable {
    let method: String
    let path: String
    let query: String
    let head: String
    let body: [UInt8]

    init(_ request: (head: String, body: [UInt8])) {
        head = request.head
        body = request.body
        let words = head.prefix { $0 != "\r\n" }.split(separator: " ")
        method = String(words.first ?? "")
        let target = (words.dropFirst().first ?? "").split(separator: "?", maxSplits: 1)
        path = String(target.first ?? "")
        query = String(target.dropFirst().first ?? "")
    }

    var text: String { String(decoding: body, as: UTF8.self) }

    /// The value of a text part of a multipart body.
    func field(_ name: String) -> String? {
        guard let start = text.range(of: "name=\"\(name)\"\r\n\r\n")?.upperBound else { return nil }
        return text[start...].components(separatedBy: "\r\n").first
    }

    /// The content of the last part of a multipart body.
    var fileContent: String {
        let parts = text.components(separatedBy: "\r\n\r\n")
        return (parts.last ?? "").components(separatedBy: "\r\n--").first ?? ""
    }
}

/// A file on the fake server.
struct FakeFile: Sendable {
    var id: Int64
    var checksum: String
    var size: Int
    var token: String
    /// The date of the event that contains the file.
    var date: String
    var orgName = "Band"

    init(id: Int64, content: String, date: String = "2026-03-01") {
        self.id = id
        self.date = date
        size = content.utf8.count
        // 16 hexadecimal digits, different for each ID below 10,000, repeated four times.
        token = String(repeating: "0123456789ab" + "\(10_000 + id % 10_000)".dropFirst(), count: 4)
        var hasher = try? SHA256Hasher()
        Array(content.utf8).withUnsafeBytes { hasher?.update($0) }
        checksum = (try? hasher?.snapshot().hex) ?? ""
    }

    /// The response of the newest dialect.
    var response: String {
        """
        {"id":\(id),"asset_id":\(id),"event_id":1,"event_item_id":1,"position":1,"file_name":"\(checksum).mp4",\
        "file_type":"video","mime_type":"video\\/mp4","size_bytes":\(size),"checksum_sha256":"\(checksum)",\
        "event_date":"2026-03-01","org_name":"Band","event_type":"band","label":"one","participants":"",\
        "keywords":"","duration_seconds":null,"delete_token":"\(token)"}
        """
    }

    var responseWithoutToken: String { response.replacing(",\"delete_token\":\"\(token)\"", with: "") }
}

/// A small GigHive server, based on a scripted server: it stores, lists and deletes, and a test may override any
/// response.
final class FakeGigHive: Sendable {
    /// Responds to a request itself and returns true, or returns false for the default response. The number counts
    /// uploads from 1.
    typealias Override = @Sendable (FakeRequest, ScriptedServer.Connection, FakeGigHive, Int) throws -> Bool

    private struct State {
        var files: [FakeFile] = []
        var requests: [FakeRequest] = []
    }

    private let state = Mutex(State())
    private let override: Override
    private let listener = Mutex<ScriptedServer?>(nil)

    init(_ override: @escaping Override = { _, _, _, _ in false }) throws {
        self.override = override
        let server = try ScriptedServer { [weak self] connection, _ in
            while let self {
                try self.serve(FakeRequest(try connection.readRequest()), connection)
            }
        }
        listener.withLock { $0 = server }
    }

    /// A server with these tus features, which creates one upload, and accepts its bytes without storing them. The
    /// closure overrides any response.
    static func withTus(
        _ features: [String],
        location: String = "/files/abc",
        offset: Int = 0,
        _ override: @escaping Override = { _, _, _, _ in false }
    ) throws -> FakeGigHive {
        try FakeGigHive { request, connection, server, number in
            if try override(request, connection, server, number) { return true }
            guard request.path.hasPrefix("/files/") else { return false }
            let version = "Tus-Resumable: 1.0.0"
            switch request.method {
            case "OPTIONS": try connection.respond(200, "", headers: [version, "Tus-Version: 1.0.0"] + features)
            case "POST": try connection.respond(201, "", headers: [version, "Location: \(location)"])
            default:
                try connection.respond(200, "", headers: [version, "Upload-Offset: \(offset)", "Upload-Length: 5"])
            }
            return true
        }
    }

    var address: String { listener.withLock { $0?.address ?? "" } }
    func waitUntilIdle() -> Bool { listener.withLock { $0 }?.waitUntilIdle() ?? true }
    var requests: [FakeRequest] { state.withLock { $0.requests } }
    var uploads: [FakeRequest] { requests.filter { $0.path == "/api/uploads.php" } }
    var deletions: [FakeRequest] { requests.filter { $0.path == "/db/delete_media_files.php" } }
    var files: [FakeFile] { state.withLock { $0.files } }

    @discardableResult
    func store(_ content: String, id: Int64? = nil, date: String = "2026-03-01") -> FakeFile {
        state.withLock { state in
            let file = FakeFile(id: id ?? Int64(state.files.count + 18), content: content, date: date)
            state.files.append(file)
            return file
        }
    }

    func remove(_ id: Int64) {
        state.withLock { $0.files.removeAll { $0.id == id } }
    }

    private func serve(_ request: FakeRequest, _ connection: ScriptedServer.Connection) throws {
        state.withLock { $0.requests.append(request) }
        guard try !override(request, connection, self, uploads.count) else { return }
        switch (request.method, request.path) {
        case ("POST", "/api/uploads.php"):
            try connection.respond(201, store(request.fileContent, date: request.field("event_date") ?? "").response)
        case ("HEAD", _):
            let file = files.first { request.path == "/video/\($0.checksum).mp4" }
            try connection.write(
                "HTTP/1.1 \(file == nil ? 404 : 200) Scripted\r\nContent-Length: \(file?.size ?? 9)\r\n\r\n"
            )
        case ("GET", "/db/database.php"):
            let entries = files.map { file in
                """
                {"id":\(file.id),"file_type":"video","file_name":"\(file.checksum).mp4","date":"\(file.date)",\
                "org_name":"\(file.orgName)"}
                """
            }
            try connection.respond(
                200,
                #"{"pagination":{"page":1,"pageCount":1},"entries":[\#(entries.joined(separator: ","))]}"#
            )
        case ("GET", let path):
            if let file = files.first(where: { path == "/api/uploads/\($0.id)" }) {
                try connection.respond(
                    200,
                    #"{"id":\#(file.id),"size_bytes":\#(file.size),"checksum_sha256":"\#(file.checksum)"}"#
                )
            } else {
                try connection.respond(404, #"{"error":"Not Found"}"#)
            }
        case ("POST", "/db/delete_media_files.php"):
            if let file = files.first(where: {
                request.text.contains($0.token) || request.text.contains("asset_ids\":[\($0.id)]")
            }) {
                remove(file.id)
                try connection.respond(
                    200,
                    #"{"success":true,"deleted_count":1,"error_count":0,"results":{"deleted":[{"asset_id":\#(file.id)}],"errors":[]}}"#
                )
            } else {
                try connection.respond(403, #"{"success":false,"error":"Forbidden","message":"Invalid delete token"}"#)
            }
        default:
            try connection.respond(404, "<title>404 Not Found</title>", type: "text/html")
        }
    }
}

/// One machine with its own data directory and a fake server.
struct Workbench: UploadBench {
    let temporary: TemporaryDirectory
    let server: FakeGigHive
    let directory: DataDirectory
    let store: TokenStore
    let client: GigHiveClient
    var options: UploadOptions

    init(_ server: FakeGigHive, retries: Int = 0) throws {
        self.server = server
        temporary = try TemporaryDirectory()
        directory = try DataDirectory.open(temporary.file("data"))
        store = try TokenStore(in: directory)
        let address = try ServerURL(server.address)
        let http = try HTTPClient(
            configuration: HTTPClientConfiguration(retry: RetryPolicy(retries: 0, base: .zero))
        )
        client = GigHiveClient(
            server: address,
            http: http,
            authorization: .basic(user: "uploader", password: "uploader", for: address.origin)
        )
        options = UploadOptions(
            retry: RetryPolicy(retries: retries, base: .milliseconds(1)),
            processingTime: .milliseconds(50)
        )
    }

    /// A server whose responses to one path, by default the upload path, are set by the test.
    init(
        respondingTo path: String = "/api/uploads.php",
        retries: Int = 0,
        _ respond: @escaping @Sendable (FakeRequest, ScriptedServer.Connection, FakeGigHive, Int) throws -> Void
    ) throws {
        let server = try FakeGigHive { request, connection, server, number in
            guard request.path == path else { return false }
            try respond(request, connection, server, number)
            return true
        }
        try self.init(server, retries: retries)
    }

    /// A server whose responses a test may override; the closure returns false for the default response.
    static func overriding(retries: Int = 0, _ override: @escaping FakeGigHive.Override) throws -> Workbench {
        try Workbench(try FakeGigHive(override), retries: retries)
    }

    var host: String { client.server.scope }

    var uploader: Uploader {
        var uploader = Uploader(
            client: client,
            store: store,
            directory: directory,
            options: options,
            schedule: OutcomeInquiry.Schedule(pauses: [.milliseconds(5)], finishedChecks: 2)
        )
        uploader.raceRetry.delays = [.zero]
        return uploader
    }

    var deleter: Deleter { Deleter(client: client, store: store, host: host) }

    func prepare(_ content: String = "abc", name: String = "clip.mp4", date: String = "2026-03-01") throws
        -> PreparedUpload
    {
        try prepare(try file(content, name: name), date: date)
    }

    /// One upload for each content, from the files `0.mp4`, `1.mp4` and so on.
    func items(_ contents: [String]) throws -> [UploadBatch.Item] {
        try contents.enumerated().map { .ready(try prepare($1, name: "\($0).mp4")) }
    }

    /// Uploads of the contents `0`, `1` and so on.
    func items(_ count: Int) throws -> [UploadBatch.Item] { try items((0..<count).map(String.init)) }
}

/// SHA-256 of "abc" (FIPS 180-2, the example of appendix B.1).
let abcChecksum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

/// A source as the frozen tests of 0.1.0 pass it.
enum FrozenSource {
    case file(path: [UInt8])
}

extension Uploader {
    func prepare(_ source: FrozenSource, details: UploadDetails) throws(GigHiveError) -> PreparedUpload {
        switch source {
        case .file(let path): try prepare(path, details: details)
        }
    }
}

extension Workbench {
    /// An uploader whose grouped commits wait until the timer expires.
    func uploader(grouping timer: ManualTimer) throws -> Uploader {
        let store = try TokenStore(
            in: directory,
            fileSystem: .local,
            busyLimit: .seconds(5),
            groupTimer: { timer.set($0, $1) }
        )
        return Uploader(client: client, store: store, directory: directory, options: options)
    }
}
