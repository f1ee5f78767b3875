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
            // Apache knows the length of its error pages; what PHP writes is chunked.
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

/// An answer before it is turned into bytes.
struct Reply: Sendable {
    /// What the body is made of.
    enum Body: Sendable {
        case json(JSONValue)
        /// As Go writes it, with a line feed.
        case goJSON(JSONValue)
        /// As the capture server writes it.
        case serdeJSON(JSONValue)
        /// Pretty-printed like the listing.
        case prettyJSON(JSONValue)
        case html(String)
        /// As Go's servers write it.
        case plainText(String)
        case empty
        /// A byte range of a stored file.
        case file(StoredRange)
        /// JSON that goes on for so many bytes before it breaks off.
        case endlessJSON(bytes: Int)
    }

    /// Which of the real server's two programs speaks; it decides headers and framing.
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
    var headers: [(name: String, value: String)] = []

    /// A JSON answer of the application.
    static func json(_ status: HTTPResponse.Status, _ value: JSONValue) -> Reply {
        Reply(status: status, origin: .application, body: .json(value))
    }

    /// Apache's own error page.
    static func webServerError(_ status: HTTPResponse.Status) -> Reply {
        Reply(
            status: status,
            origin: .webServer,
            body: .html(HTMLPages.apacheError(status.code, reason: status.reasonPhrase)),
            headers: [("Content-Type", "text/html; charset=iso-8859-1")]
        )
    }

    /// The 401 of wrong passwords and wrong roles alike (gighive contract 1).
    static func unauthorized(realm: String) -> Reply {
        Reply(
            status: .unauthorized,
            origin: .webServer,
            body: .html(HTMLPages.unauthorized),
            headers: [
                ("WWW-Authenticate", "Basic realm=\"\(realm)\""),
                ("Content-Type", "text/html"),
            ] + noStore
        )
    }

    /// Headers of answers that no cache may keep.
    static let noStore = [("Cache-Control", "no-store"), ("Pragma", "no-cache"), ("Expires", "0")]

    /// The scripts for guests send an empty 500 (gighive contract 6).
    static let guestServerError = Reply(status: .internalServerError, origin: .application, body: .empty)

    /// 400 of the upload application.
    static func badRequest(_ message: JSONValue) -> Reply {
        .json(.badRequest, ["error": "Bad Request", "message": message])
    }

    /// 500 of the upload application.
    static func serverError(_ message: JSONValue) -> Reply {
        .json(.internalServerError, ["error": "Server Error", "message": message])
    }
}

/// The HTML pages of the real server, as recorded.
enum HTMLPages {
    /// The page behind every 401, regardless of user and reason (gighive contract 1).
    static let unauthorized = """
        <!doctype html>
        <html lang="en">
        <head>
          <meta charset="utf-8">
          <meta name="viewport" content="width=device-width, initial-scale=1">
          <title>Unauthorized</title>
        </head>
        <body>
          <h1>Unauthorized</h1>
          <p>Authentication is required to access this resource.</p>
        </body>
        </html>

        """

    /// Apache's own page for an error that never reached the application.
    static func apacheError(_ status: Int, reason: String) -> String {
        """
        <!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd">
        <html><head>
        <title>\(status) \(reason)</title>
        </head><body>
        <h1>\(reason)</h1>
        <p>\(explanation(status))</p>
        </body></html>

        """
    }

    /// The page an upload is answered with when the client accepts HTML (gighive contract 2.3).
    static func uploadResult(_ json: JSONValue, succeeded: Bool) -> String {
        let details = escaped(PHPJSONEncoder(pretty: true).encode(json))
        let title = succeeded ? "Upload Success" : "Upload Failed"
        let heading = succeeded ? "Upload completed" : "Upload failed"
        var link = ""
        if case .object(let object) = json, case .int(let id)? = object["id"] {
            link = "\n<p><a href=\"/db/database.php?view=event#media-\(id)\">Go to database</a></p>"
        }
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(title)</title>
            <style>body{font-family:system-ui,Arial,sans-serif;margin:20px;} \
            pre{background:#f7f7f7;padding:12px;overflow:auto;} .status{font-weight:700;color:#0a0;}</style>
            </head>
            <body>
            <h1 class="status">\(heading)</h1>\(link)
            <details><summary>Response details</summary><pre>\(details)</pre></details>
            </body>
            </html>
            """
    }

    /// What PHP's `htmlspecialchars` makes of a text.
    static func escaped(_ text: String) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#039;"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }

    private static func explanation(_ status: Int) -> String {
        switch status {
        case 400: "Your browser sent a request that this server could not understand."
        case 404: "The requested URL was not found on this server."
        case 408: "Server timeout waiting for the HTTP request from the client."
        case 413:
            "The requested resource does not allow request data with the requested method,"
                + "\nor the amount of data provided in the request exceeds the capacity limit."
        case 415: "The supplied request data is not in a format\nacceptable for processing by this resource."
        case 502: "The proxy server received an invalid\nresponse from an upstream server."
        case 503:
            "The server is temporarily unable to service your\nrequest due to maintenance downtime or capacity"
                + "\nproblems. Please try again later."
        case 504: "The gateway did not receive a timely response\nfrom the upstream server or application."
        default: "The server could not complete your request."
        }
    }
}

/// The dates of HTTP headers (RFC 9110 section 5.6.7).
enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// The preferred form.
    static func text(_ seconds: time_t) -> String {
        var seconds = seconds
        var fields = tm()
        gmtime_r(&seconds, &fields)
        let clock = [fields.tm_hour, fields.tm_min, fields.tm_sec].map { twoDigits(Int($0)) }
        return "\(days[Int(fields.tm_wday)]), \(twoDigits(Int(fields.tm_mday))) \(months[Int(fields.tm_mon)]) "
            + "\(fields.tm_year + 1900) \(clock.joined(separator: ":")) GMT"
    }

    /// Seconds since 1970 of the preferred form; nil for anything else.
    static func seconds(_ text: String) -> Int? {
        let pattern = /[A-Z][a-z]{2}, ([0-9]{2}) ([A-Z][a-z]{2}) ([0-9]{4}) ([0-9:]{8}) GMT/
        guard let match = text.wholeMatch(of: pattern), let month = months.firstIndex(of: String(match.2)),
            let time = GoTime("\(match.3)-\(twoDigits(month + 1))-\(match.1)T\(match.4)Z")
        else { return nil }
        return time.microseconds / 1_000_000
    }
}
