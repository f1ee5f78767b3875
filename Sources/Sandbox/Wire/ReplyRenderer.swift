import Foundation
import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Turns an answer into the head and bytes that the real server would send.
struct ReplyRenderer: Sendable {
    let dialect: Dialect

    /// Head and body of an answer.
    struct Rendered {
        var head: HTTPResponse
        /// Empty when ``file`` is set.
        var bytes: ByteBuffer
        var file: StoredRange?
        /// Bytes of a text that has no end, after ``bytes``.
        var padding = 0

        /// Answers in place of the site, and closes the connection.
        func send(instead context: ChannelHandlerContext) {
            context.write(NIOAny(HTTPResponsePart.head(head)), promise: nil)
            context.write(NIOAny(HTTPResponsePart.body(bytes)), promise: nil)
            context.writeAndFlush(NIOAny(HTTPResponsePart.end(nil)), promise: nil)
            context.close(promise: nil)
        }
    }

    func render(_ reply: Reply, leadingSpace: Int = 0) -> Rendered {
        var head = HTTPResponse(status: reply.status)
        add(commonHeaders(reply), to: &head)
        var bytes = ByteBuffer()
        bytes.writeRepeatingByte(UInt8(ascii: " "), count: leadingSpace)
        var file: StoredRange?
        var padding = 0
        switch reply.body {
        case .json(let value):
            bytes.writeString(PHPJSONEncoder().encode(value))
            head.headerFields[.contentType] = "application/json"
        case .goJSON(let value):
            bytes.writeString(GoJSONEncoder.encode(value))
            head.headerFields[.contentType] = "application/json"
            // Go knows the length of what its handler wrote into one buffer.
            if bytes.readableBytes <= 2048 { head.headerFields[.contentLength] = String(bytes.readableBytes) }
        case .serdeJSON(let value):
            bytes.writeString(SerdeJSONEncoder.encode(value))
            head.headerFields[.contentType] = "application/json"
            head.headerFields[.contentLength] = String(bytes.readableBytes)
        case .endlessJSON(let count):
            bytes.writeString(#"{"photos":[{"id":""#)
            padding = count
            head.headerFields[.contentType] = "application/json"
        case .prettyJSON(let value):
            bytes.writeString(PHPJSONEncoder(pretty: true).encode(value) + "\n")
            head.headerFields[.contentType] = "application/json"
        case .html(let text):
            bytes.writeString(text)
            head.headerFields[.contentType] = "text/html; charset=utf-8"
            // Apache knows the length of its own pages; what PHP writes is chunked.
            if reply.origin == .webServer { head.headerFields[.contentLength] = String(bytes.readableBytes) }
        case .plainText(let text):
            bytes.writeString(text)
            head.headerFields[.contentType] = "text/plain; charset=utf-8"
            head.headerFields[.contentLength] = String(bytes.readableBytes)
        case .empty:
            if ![204, 304].contains(reply.status.code) { head.headerFields[.contentLength] = "0" }
        case .file(let range):
            file = range
            head.headerFields[.contentLength] = String(range.count)
        }
        add(reply.headers, to: &head)
        return Rendered(head: head, bytes: bytes, file: file, padding: padding)
    }

    private func commonHeaders(_ reply: Reply) -> [(name: String, value: String)] {
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

    private func add(_ headers: [(name: String, value: String)], to head: inout HTTPResponse) {
        for (name, value) in headers {
            guard let field = HTTPField.Name(name) else { continue }
            if field == .cacheControl {
                // Apache adds its line to that of a script.
                head.headerFields[values: field] = [value] + head.headerFields[values: field]
            } else {
                head.headerFields[field] = value
            }
        }
    }
}

extension HTTPResponse.Status {
    /// 413 with the words Apache uses.
    static let requestEntityTooLarge = HTTPResponse.Status(code: 413, reasonPhrase: "Request Entity Too Large")
}
