import Foundation
import HTTPTypes

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

    /// The scripts for guests say nothing with their 500 (gighive contract 6).
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
