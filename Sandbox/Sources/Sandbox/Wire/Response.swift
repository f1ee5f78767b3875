import Foundation
import HTTPTypes
import NIOCore
import NIOHTTPTypes

typealias HeaderList = [(name: String, value: String)]

/// A response before it is rendered.
struct Response: Sendable {
    enum Body: Sendable {
        case json(JSONValue)
        case html(String)
        case plainText(String)
        case empty
        /// A byte range of a stored file.
        case file(StoredRange)
        /// This many bytes of JSON without an end.
        case endlessJSON(bytes: Int)
    }

    /// The real program that would send it; determines headers and framing.
    enum Origin: Sendable {
        /// PHP: chunked, `Server: Gighive`.
        case application
        /// Apache: HTML with a Content-Length, `Server: Apache/…`.
        case webServer
        /// tusd behind Apache.
        case tusd
        /// PhotoSync: Go without a web server in front.
        case photoSync
        /// The capture server: Rust without a web server in front.
        case captures
    }

    var status: HTTPResponse.Status
    var origin: Origin
    var body: Body
    var headers: HeaderList
    /// Whether it is sent before the body of the request was read.
    var isEarly = false

    init(_ status: HTTPResponse.Status, _ origin: Origin, _ body: Body, _ headers: HeaderList = []) {
        self.status = status
        self.origin = origin
        self.body = body
        self.headers = headers
    }

    /// A JSON response from the application.
    static func json(_ status: HTTPResponse.Status, _ value: JSONValue) -> Response {
        Response(status, .application, .json(value))
    }

    /// `{"error":…,"message":…}` from the application.
    static func failure(_ status: HTTPResponse.Status, _ error: String, _ message: String) -> Response {
        .json(status, ["error": .string(error), "message": .string(message)])
    }

    /// A 400 from the upload application.
    static func badRequest(_ message: String) -> Response { .failure(.badRequest, "Bad Request", message) }

    /// A 500 from the upload application.
    static func serverError(_ message: String) -> Response { .failure(.internalServerError, "Server Error", message) }

    /// Apache's own error page.
    static func webServerError(_ status: HTTPResponse.Status) -> Response {
        Response(
            status,
            .webServer,
            .html(page("\(status.code) \(status.reasonPhrase)")),
            [("Content-Type", "text/html; charset=iso-8859-1")]
        )
    }

    /// The 401 for both wrong passwords and wrong roles (gighive contract 1).
    static func unauthorized(realm: String) -> Response {
        Response(
            .unauthorized,
            .webServer,
            .html(page("Unauthorized")),
            [("WWW-Authenticate", "Basic realm=\"\(realm)\""), ("Content-Type", "text/html")] + noStore
        )
    }

    func with(_ change: (inout Response) -> Void) -> Response {
        var response = self
        change(&response)
        return response
    }

    var early: Response { with { $0.isEarly = true } }

    static let noStore = [("Cache-Control", "no-store"), ("Pragma", "no-cache"), ("Expires", "0")]

    /// PHP's default.
    static let phpContentType = ("Content-Type", "text/html; charset=UTF-8")

    /// A response from PHP without a body.
    static func emptyPHP(_ status: HTTPResponse.Status) -> Response {
        Response(status, .application, .empty, [phpContentType])
    }

    /// The scripts for guests send an empty 500 (gighive contract 6).
    static let guestServerError = Response(.internalServerError, .application, .empty)

    /// The HTML page with the JSON of an upload, for clients that accept HTML (gighive contract 2.3).
    func asPage(when wantsHTML: Bool) -> Response {
        guard wantsHTML, origin == .application, case .json(let value) = body else { return self }
        var page = self
        page.body = .html(Self.page("Upload \(status.kind == .successful ? "Success" : "Failed")", details: value.text))
        return page
    }

    /// A minimal page.
    static func page(_ title: String, details: String? = nil) -> String {
        let escaped = details?.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(
            "\"",
            with: "&quot;"
        )
        return "<!doctype html>\n<title>\(title)</title>\n" + (escaped.map { "<pre>\($0)</pre>\n" } ?? "")
    }
}

/// An error with its response.
protocol Refusal: Error {
    var response: Response { get }
}

extension HTTPResponse.Status {
    /// The status 413 with Apache's reason phrase.
    static let requestEntityTooLarge = HTTPResponse.Status(code: 413, reasonPhrase: "Request Entity Too Large")
}

/// Renders responses with the headers of the real servers.
struct ResponseRenderer: Sendable {
    let dialect: Dialect

    struct Rendered {
        var head: HTTPResponse
        /// Empty if ``file`` is set.
        var bytes = ByteBuffer()
        var file: StoredRange?
        /// Bytes of endless text after ``bytes``.
        var padding = 0

        /// Sends this response instead of that of the site, and closes the connection.
        func send(instead context: ChannelHandlerContext) {
            context.write(NIOAny(HTTPResponsePart.head(head)), promise: nil)
            context.write(NIOAny(HTTPResponsePart.body(bytes)), promise: nil)
            context.writeAndFlush(NIOAny(HTTPResponsePart.end(nil)), promise: nil)
            context.close(promise: nil)
        }
    }

    /// With `Connection: close`.
    func renderLast(_ response: Response) -> Rendered {
        var rendered = render(response)
        rendered.head.headerFields[.connection] = "close"
        return rendered
    }

    func render(_ response: Response, leadingSpace: Int = 0) -> Rendered {
        var rendered = Rendered(head: HTTPResponse(status: response.status))
        add(commonHeaders(response), to: &rendered.head)
        rendered.bytes.writeRepeatingByte(UInt8(ascii: " "), count: leadingSpace)
        var type: String?
        switch response.body {
        case .json(let value):
            // Like Go's encoder.
            rendered.bytes.writeString(value.text + (response.origin == .photoSync ? "\n" : ""))
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
        if let length = length(of: rendered, response) { rendered.head.headerFields[.contentLength] = String(length) }
        add(response.headers, to: &rendered.head)
        return rendered
    }

    /// Nil if chunked.
    private func length(of rendered: Rendered, _ response: Response) -> Int? {
        let count = rendered.bytes.readableBytes
        switch (response.body, response.origin) {
        case (.file(let range), _): return range.count
        case (.empty, _): return response.status == .noContent ? nil : 0
        // Apache sends the length of its error pages.
        case (.plainText, _), (.json, .captures), (.html, .webServer): return count
        // Go sends the length of data that fits into one buffer.
        case (.json, .photoSync): return count <= 2048 ? count : nil
        case (.json, _), (.html, _), (.endlessJSON, _): return nil
        }
    }

    private func commonHeaders(_ response: Response) -> HeaderList {
        let date = ("Date", HTTPDate.text(time(nil)))
        if [.photoSync, .captures].contains(response.origin) { return [date] }
        var headers = [
            date,
            ("Server", response.origin != .webServer ? "Gighive" : "Apache/2.4.71 (Debian) OpenSSL/3.0.19"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "SAMEORIGIN"),
            ("Referrer-Policy", "no-referrer-when-downgrade"),
            ("Permissions-Policy", "geolocation=(), microphone=(), camera=()"),
        ]
        guard response.origin == .application else { return headers }
        if response.status.kind == .successful || dialect == .d1 {
            headers.append(("Cache-Control", "public, max-age=86400"))
        } else if [404, 500].contains(response.status.code) {
            headers += Response.noStore
        }
        return headers
    }

    private func add(_ headers: HeaderList, to head: inout HTTPResponse) {
        for (name, value) in headers {
            guard let field = HTTPField.Name(name) else { continue }
            // Apache adds its own line to the script's.
            let others = field == .cacheControl ? head.headerFields[values: field] : []
            head.headerFields[values: field] = [value] + others
        }
    }
}
