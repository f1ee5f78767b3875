import Foundation
import HTTPTypes
import NIOCore
import NIOHTTPTypes

typealias HeaderList = [(name: String, value: String)]

/// A response before it is serialized.
struct Reply: Sendable {
    enum Body: Sendable {
        case json(JSONValue)
        case html(String)
        case plainText(String)
        case empty
        /// A byte range of a stored file.
        case file(StoredRange)
        /// JSON that continues for this many bytes before it ends abruptly.
        case endlessJSON(bytes: Int)
    }

    /// Which of the real programs responds; this determines headers and framing.
    enum Origin: Sendable {
        /// PHP: chunked, `Server: Gighive`.
        case application
        /// Apache before PHP: HTML with a Content-Length, `Server: Apache/…`.
        case webServer
        /// tusd behind Apache.
        case tusd
        /// PhotoSync: a program in Go without a web server before it.
        case photoSync
        /// The capture server: a program in Rust without a web server before it.
        case captures
    }

    var status: HTTPResponse.Status
    var origin: Origin
    var body: Body
    var headers: HeaderList

    init(_ status: HTTPResponse.Status, _ origin: Origin, _ body: Body, _ headers: HeaderList = []) {
        self.status = status
        self.origin = origin
        self.body = body
        self.headers = headers
    }

    /// A JSON response of the application.
    static func json(_ status: HTTPResponse.Status, _ value: JSONValue) -> Reply {
        Reply(status, .application, .json(value))
    }

    /// `{"error":…,"message":…}` of the application.
    static func failure(_ status: HTTPResponse.Status, _ error: String, _ message: String) -> Reply {
        .json(status, ["error": .string(error), "message": .string(message)])
    }

    /// 400 of the upload application.
    static func badRequest(_ message: String) -> Reply { .failure(.badRequest, "Bad Request", message) }

    /// 500 of the upload application.
    static func serverError(_ message: String) -> Reply { .failure(.internalServerError, "Server Error", message) }

    /// Apache's own error page.
    static func webServerError(_ status: HTTPResponse.Status) -> Reply {
        Reply(
            status,
            .webServer,
            .html(page("\(status.code) \(status.reasonPhrase)")),
            [("Content-Type", "text/html; charset=iso-8859-1")]
        )
    }

    /// The 401 for both wrong passwords and wrong roles (gighive contract 1).
    static func unauthorized(realm: String) -> Reply {
        Reply(
            .unauthorized,
            .webServer,
            .html(page("Unauthorized")),
            [("WWW-Authenticate", "Basic realm=\"\(realm)\""), ("Content-Type", "text/html")] + noStore
        )
    }

    /// Headers of responses that no cache may store.
    static let noStore = [("Cache-Control", "no-store"), ("Pragma", "no-cache"), ("Expires", "0")]

    /// PHP's default for responses without a type set by the script.
    static let phpContentType = ("Content-Type", "text/html; charset=UTF-8")

    /// A response of PHP without a body.
    static func emptyPHP(_ status: HTTPResponse.Status) -> Reply {
        Reply(status, .application, .empty, [phpContentType])
    }

    /// The scripts for guests send an empty 500 (gighive contract 6).
    static let guestServerError = Reply(.internalServerError, .application, .empty)

    /// The HTML page that replaces the JSON of an upload if the client accepts HTML (gighive contract 2.3).
    func asPage(when wantsHTML: Bool) -> Reply {
        guard wantsHTML, origin == .application, case .json(let value) = body else { return self }
        var page = self
        page.body = .html(Self.page("Upload \(status.kind == .successful ? "Success" : "Failed")", details: value.text))
        return page
    }

    /// A minimal HTML page with a title.
    static func page(_ title: String, details: String? = nil) -> String {
        let escaped = details?.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(
            "\"",
            with: "&quot;"
        )
        return "<!doctype html>\n<title>\(title)</title>\n" + (escaped.map { "<pre>\($0)</pre>\n" } ?? "")
    }
}

/// A request that is rejected with this response.
protocol Refusal: Error {
    var reply: Reply { get }
}

extension HTTPResponse.Status {
    /// 413 with Apache's text.
    static let requestEntityTooLarge = HTTPResponse.Status(code: 413, reasonPhrase: "Request Entity Too Large")
}

/// Serializes a response into a head as sent by the real server, and bytes.
struct ReplyRenderer: Sendable {
    let dialect: Dialect

    /// Head and body of a response.
    struct Rendered {
        var head: HTTPResponse
        /// Empty if ``file`` is set.
        var bytes = ByteBuffer()
        var file: StoredRange?
        /// Bytes of a text without an end, after ``bytes``.
        var padding = 0

        /// Responds instead of the site, and closes the connection.
        func send(instead context: ChannelHandlerContext) {
            context.write(NIOAny(HTTPResponsePart.head(head)), promise: nil)
            context.write(NIOAny(HTTPResponsePart.body(bytes)), promise: nil)
            context.writeAndFlush(NIOAny(HTTPResponsePart.end(nil)), promise: nil)
            context.close(promise: nil)
        }
    }

    /// A response after which the connection is closed.
    func renderLast(_ reply: Reply) -> Rendered {
        var rendered = render(reply)
        rendered.head.headerFields[.connection] = "close"
        return rendered
    }

    func render(_ reply: Reply, leadingSpace: Int = 0) -> Rendered {
        var rendered = Rendered(head: HTTPResponse(status: reply.status))
        add(commonHeaders(reply), to: &rendered.head)
        rendered.bytes.writeRepeatingByte(UInt8(ascii: " "), count: leadingSpace)
        var type: String?
        switch reply.body {
        case .json(let value):
            // Go's encoder ends with a line feed.
            rendered.bytes.writeString(value.text + (reply.origin == .photoSync ? "\n" : ""))
            type = "application/json"
        case .endlessJSON(let count):
            rendered.bytes.writeString(#"{"photos":[{"id":""#)
            rendered.padding = count
            type = "application/json"
        case .html(let text):
            rendered.bytes.writeString(text)
            type = "text/html; charset=utf-8"
        case .plainText(let text):
            rendered.bytes.writeString(text)
            type = "text/plain; charset=utf-8"
        case .empty: break
        case .file(let range): rendered.file = range
        }
        if let type { rendered.head.headerFields[.contentType] = type }
        if let length = length(of: rendered, reply) { rendered.head.headerFields[.contentLength] = String(length) }
        add(reply.headers, to: &rendered.head)
        return rendered
    }

    /// The announced length; nil for chunked responses.
    private func length(of rendered: Rendered, _ reply: Reply) -> Int? {
        let count = rendered.bytes.readableBytes
        switch (reply.body, reply.origin) {
        case (.file(let range), _): return range.count
        case (.empty, _): return [204, 304].contains(reply.status.code) ? nil : 0
        // Apache knows the length of its error pages.
        case (.plainText, _), (.json, .captures), (.html, .webServer): return count
        // Go knows the length of what its handler wrote into one buffer.
        case (.json, .photoSync): return count <= 2048 ? count : nil
        case (.json, _), (.html, _), (.endlessJSON, _): return nil
        }
    }

    private func commonHeaders(_ reply: Reply) -> HeaderList {
        let date = ("Date", HTTPDate.text(time(nil)))
        if [.photoSync, .captures].contains(reply.origin) { return [date] }
        var headers = [
            date,
            ("Server", reply.origin != .webServer ? "Gighive" : "Apache/2.4.71 (Debian) OpenSSL/3.0.19"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "SAMEORIGIN"),
            ("Referrer-Policy", "no-referrer-when-downgrade"),
            ("Permissions-Policy", "geolocation=(), microphone=(), camera=()"),
        ]
        guard reply.origin == .application else { return headers }
        if reply.status.kind == .successful || dialect == .d1 {
            headers.append(("Cache-Control", "public, max-age=86400"))
        } else if [404, 500].contains(reply.status.code) {
            headers += Reply.noStore
        }
        return headers
    }

    private func add(_ headers: HeaderList, to head: inout HTTPResponse) {
        for (name, value) in headers {
            guard let field = HTTPField.Name(name) else { continue }
            // Apache adds its line to that of a script.
            let others = field == .cacheControl ? head.headerFields[values: field] : []
            head.headerFields[values: field] = [value] + others
        }
    }
}
