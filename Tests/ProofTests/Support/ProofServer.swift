import Foundation
import Synchronization
import TestSupport

/// A file with a published digest, and the server's responses about it.
struct KnownFile: Sendable {
    let id: Int
    let content: String
    let checksum: String

    /// The examples of FIPS 180-2, appendix B.1 to B.3. Only the last is above the 64 KiB up to which a body is sent
    /// without `Expect`.
    static let abc = KnownFile(
        id: 18,
        content: "abc",
        checksum: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )
    static let twoBlocks = KnownFile(
        id: 19,
        content: "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        checksum: "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    )
    static let millionLetters = KnownFile(
        id: 20,
        content: String(repeating: "a", count: 1_000_000),
        checksum: "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
    )
    static let all = [abc, twoBlocks, millionLetters]

    /// 64 hexadecimal digits that do not occur in any other text of a test.
    var token: String { String(repeating: "c0ffee\(id)decafbad", count: 4).prefix(64).lowercased() }

    /// The success response in dialect 3 (gighive contract 2.2).
    var response: String {
        """
        {"id":\(id),"asset_id":\(id),"event_id":1,"event_item_id":1,"position":1,"file_name":"\(checksum).mp4",\
        "file_type":"video","mime_type":"video\\/mp4","size_bytes":\(content.utf8.count),\
        "checksum_sha256":"\(checksum)","event_date":"2026-03-01","org_name":"Band","event_type":"band",\
        "label":"one","participants":"","keywords":"","duration_seconds":null,"delete_token":"\(token)"}
        """
    }

    /// The listing of section 7 with this file in it.
    static func listing(of files: [KnownFile]) -> String {
        let entries = files.map { #"{"id":\#($0.id),"file_type":"video","file_name":"\#($0.checksum).mp4"}"# }
        return #"{"pagination":{"page":1,"pageCount":1},"entries":[\#(entries.joined(separator: ","))]}"#
    }
}

/// A media server whose responses to POST requests are set by a test; it stores the files whose bodies it has read,
/// and responds to queries about them.
final class ProofServer: Sendable {
    /// A request that was read completely.
    struct Request: Sendable {
        let method: String
        let path: String
        let body: String
        /// The file of an upload, or the one that a deletion specifies.
        let file: KnownFile?
    }

    /// Responds to a POST, numbered from 1 over all connections; throwing ends the connection.
    typealias Response = @Sendable (ScriptedServer.Connection, Request, _ number: Int) throws -> Void

    private struct State {
        var requests: [Request] = []
        var stored: [KnownFile] = []
    }

    private let state = Mutex(State())
    private let listener = Mutex<ScriptedServer?>(nil)

    init(_ response: @escaping Response) throws {
        let server = try ScriptedServer { [weak self] connection, _ in
            while let self {
                try self.serve(connection, response)
            }
        }
        listener.withLock { $0 = server }
    }

    var address: String { listener.withLock { $0?.address ?? "" } }
    var requests: [Request] { state.withLock { $0.requests } }
    var posts: [Request] { requests.filter { $0.method == "POST" } }

    private func serve(_ connection: ScriptedServer.Connection, _ response: Response) throws {
        let (head, bytes) = try connection.readRequest()
        let words = head.prefix { $0 != "\r\n" }.split(separator: " ").map(String.init)
        let target = words.count > 1 ? words[1] : ""
        let path = target.split(separator: "?").first.map(String.init) ?? ""
        let body = String(decoding: bytes, as: UTF8.self)
        let file = KnownFile.all.first { file in
            body.contains("\r\n\r\n\(file.content)\r\n--") || body.contains("\"asset_id\":\(file.id)")
        }
        let request = Request(method: words.first ?? "", path: path, body: body, file: file)
        let number = state.withLock { state in
            state.requests.append(request)
            if request.method == "POST", let file {
                if path.hasPrefix("/api/uploads") {
                    state.stored.append(file)
                } else {
                    state.stored.removeAll { $0.id == file.id }
                }
            }
            return state.requests.count { $0.method == "POST" }
        }
        if request.method == "POST" {
            try response(connection, request, number)
        } else {
            try respondToQuery(connection, request)
        }
    }

    private func respondToQuery(_ connection: ScriptedServer.Connection, _ request: Request) throws {
        let stored = state.withLock { $0.stored }
        if request.method == "HEAD" {
            let file = stored.first { request.path == "/video/\($0.checksum).mp4" }
            try connection.write(
                "HTTP/1.1 \(file == nil ? 404 : 200) Scripted\r\n"
                    + "Content-Length: \(file?.content.utf8.count ?? 3)\r\n\r\n"
            )
        } else if request.path == "/db/database.php" {
            try connection.respond(200, KnownFile.listing(of: stored))
        } else if let file = stored.first(where: { request.path == "/api/uploads/\($0.id)" }) {
            try connection.respond(
                200,
                #"{"id":\#(file.id),"size_bytes":\#(file.content.utf8.count),"checksum_sha256":"\#(file.checksum)"}"#
            )
        } else {
            try connection.respond(404, #"{"error":"Not Found"}"#)
        }
    }
}

/// The success response to a deletion (gighive contract 5.2).
func deletedResponse(_ id: Int) -> String {
    #"{"success":true,"deleted_count":1,"error_count":0,"results":{"deleted":[{"asset_id":\#(id)}],"errors":[]}}"#
}
