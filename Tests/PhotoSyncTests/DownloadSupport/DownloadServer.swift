import Foundation
import Synchronization
import TestSupport

/// A server that delivers photos as in photosync contract section 6, unless a test overrides it.
final class DownloadServer: Sendable {
    /// A received request.
    struct Request: Sendable {
        var target: String
        var id: String
        var range: String?
        var ifRange: String?
        var apiKey: String?
        /// The number of the request for this ID, from 1.
        var number: Int
    }

    /// The file served for an ID.
    struct File: Sendable {
        var body: String
        /// `X-Photosync-Hash`; nil omits it.
        var digest: String?
        var lastModified: String? = "Wed, 01 Jan 2025 10:00:00 GMT"
        var date: String? = "Thu, 02 Jan 2025 10:00:00 GMT"
        var headers: [String] = []
    }

    enum Response: Sendable {
        /// A file, or its requested range.
        case file(File)
        /// A file, but the connection closes after this many characters of the body.
        case cut(File, after: Int)
        /// A status with a message.
        case refusal(Int, String, headers: [String] = [])
        /// These bytes, then the connection closes.
        case raw(String)
    }

    private let server: ScriptedServer
    private let log = Log()

    init(_ response: @escaping @Sendable (Request) throws -> Response) throws {
        server = try ScriptedServer { [log] connection, _ in
            while true {
                let request = log.note(try connection.readHead())
                guard try Self.response(request, try response(request), connection) else { return }
            }
        }
    }

    /// All files by ID; anything else is not found.
    convenience init(files: [String: File]) throws {
        try self.init { request in
            files[request.id].map { .file($0) } ?? .refusal(404, "Photo not found")
        }
    }

    var address: String { server.address }
    var requests: [Request] { log.requests.withLock { $0 } }
    var connectionCount: Int { server.connectionCount }
    func stop() { server.stopListening() }
    func waitUntilIdle() -> Bool { server.waitUntilIdle() }

    private static func response(
        _ request: Request,
        _ response: Response,
        _ connection: ScriptedServer.Connection
    ) throws -> Bool {
        switch response {
        case .file(let file):
            try connection.write(head(of: file, request) + body(of: file, request))
            return true
        case .cut(let file, let count):
            try connection.write(head(of: file, request) + body(of: file, request).prefix(count))
            return false
        case .refusal(let status, let text, let headers):
            try connection.respond(status, text + "\n", type: "text/plain; charset=utf-8", headers: headers)
            return true
        case .raw(let text):
            try connection.write(text)
            return false
        }
    }

    private static func head(of file: File, _ request: Request) -> String {
        let total = file.body.utf8.count
        let first = offset(request, file)
        var lines = [first == nil ? "HTTP/1.1 200 OK" : "HTTP/1.1 206 Partial Content"]
        if let first {
            guard first < total else {
                return "HTTP/1.1 416 Requested Range Not Satisfiable\r\nContent-Type: text/plain\r\n"
                    + "Content-Range: bytes */\(total)\r\nContent-Length: 0\r\n\r\n"
            }
            lines.append("Content-Range: bytes \(first)-\(total - 1)/\(total)")
        }
        lines += ["Content-Type: image/jpeg", "Accept-Ranges: bytes", "Content-Length: \(total - (first ?? 0))"]
        if let digest = file.digest { lines.append("X-Photosync-Hash: \(digest)") }
        if let time = file.lastModified { lines.append("Last-Modified: \(time)") }
        if let date = file.date { lines.append("Date: \(date)") }
        return (lines + file.headers).joined(separator: "\r\n") + "\r\n\r\n"
    }

    private static func body(of file: File, _ request: Request) -> Substring {
        let bytes = file.body.utf8
        let first = min(offset(request, file) ?? 0, bytes.count)
        return file.body[bytes.index(bytes.startIndex, offsetBy: first)...]
    }

    /// Where a valid range starts (RFC 9110 section 13.1.5).
    private static func offset(_ request: Request, _ file: File) -> Int? {
        guard let range = request.range, request.ifRange == nil || request.ifRange == file.lastModified else {
            return nil
        }
        return Int(range.dropFirst("bytes=".count).dropLast())
    }

    private final class Log: Sendable {
        let requests = Mutex<[Request]>([])

        func note(_ head: String) -> Request {
            let lines = head.components(separatedBy: "\r\n")
            let target = lines[0].split(separator: " ").dropFirst().first.map(String.init) ?? ""
            let id = target.components(separatedBy: "/").dropLast().last ?? ""
            func value(_ name: String) -> String? {
                lines.first { $0.lowercased().hasPrefix(name + ": ") }.map { String($0.dropFirst(name.count + 2)) }
            }
            return requests.withLock { requests in
                let request = Request(
                    target: target,
                    id: id,
                    range: value("range"),
                    ifRange: value("if-range"),
                    apiKey: value("x-api-key"),
                    number: requests.filter { $0.id == id }.count + 1
                )
                requests.append(request)
                return request
            }
        }
    }
}
