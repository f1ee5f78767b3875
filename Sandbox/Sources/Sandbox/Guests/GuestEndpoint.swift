import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore
import Synchronization

/// The scripts for guests (gighive contract 6).
struct GuestEndpoint {
    let book: GuestBook
    private let cache = TokenCache()

    func response(_ call: GuestCall, to exchange: Exchange) async throws -> Response {
        let body = try await exchange.collectBody(upTo: 1 << 16)
        guard book.catalog.dialect >= .d3 else { return .webServerError(.notFound) }
        // Apache adds its own Cache-Control line.
        let noStore = [("Cache-Control", "no-store")]
        switch call {
        case .token: return try token(exchange)
        case .status: return try status(exchange.query["nonce"] ?? "").with { $0.headers += noStore }
        case .delete: return try delete(body, exchange).with { $0.headers += noStore }
        case .form: return Response(.ok, .application, .html(Response.page("Upload")))
        }
    }

    private static func isNonce(_ text: String) -> Bool { text.wholeMatch(of: /[A-Za-z0-9_\-]{30,40}/) != nil }

    private func token(_ exchange: Exchange) throws -> Response {
        let url = exchange.request.head.path ?? ""
        if let response = cache.response(to: url) { return response }
        guard let token = exchange.query["token"], !token.isEmpty else {
            return .json(.badRequest, ["error": "missing token"])
        }
        let link = try book.validLink(token)
        let event: JSONValue = [
            "event_id": .int(link.eventId), "event_date": .string(link.eventDate), "org_name": .string(link.orgName),
            "event_type": JSONValue(link.eventType),
        ]
        let response = Response.json(.ok, event)
        // Each value of this parameter results in a different URL.
        if exchange.query["t"] == nil { cache.store(response, for: url) }
        return response
    }

    private func status(_ nonce: String) throws -> Response {
        guard Self.isNonce(nonce) else { return .json(.badRequest, ["error": "invalid nonce"]) }
        guard let job = try book.job(nonce: nonce), let link = try book.link(job.token) else {
            return .json(.notFound, ["error": "not found"])
        }
        let status: JSONValue = [
            "status": .string(link.isExpired ? "expired" : job.state.rawValue),
            // An escape sequence, not a dash: the real script has it in single quotes.
            "event_name": .string("\(link.orgName) \\u2014 \(link.eventDate)"),
            "video_count": .int(try book.videoCount(ofEvent: link.eventId)),
            "days_remaining": .int(link.daysRemaining),
        ]
        return .json(.ok, status)
    }

    private func delete(_ body: ByteBuffer, _ exchange: Exchange) throws -> Response {
        guard exchange.request.method == .post else { return .json(.methodNotAllowed, ["error": "Method Not Allowed"]) }
        let object = try? JSONValue(Array(body.readableBytesView))
        guard let nonce = object?["nonce"]?.string, Self.isNonce(nonce),
            case .number(let text)? = object?["upload_job_id"], let id = Int(text), id > 0
        else { return .json(.badRequest, ["error": "Bad Request"]) }
        let forbidden = Response.json(.forbidden, ["error": "Forbidden"])
        guard let job = try book.job(nonce: nonce), job.id == id, job.state == .approved else { return forbidden }
        return try book.hide(id) ? .json(.ok, ["status": "deleted"]) : forbidden
    }
}

/// Scripts that check the event link themselves (gighive contract 6).
enum GuestCall: Sendable {
    case token, status, delete
    /// The upload form, which the link opens in a browser.
    case form

    init?(path: String) {
        switch path {
        case "/api/upload-token.php": self = .token
        case "/api/guest-status.php": self = .status
        case "/api/guest-delete.php": self = .delete
        case _ where path.hasPrefix("/upload/"): self = .form
        default: return nil
        }
    }

    var place: Fault.Place? {
        switch self {
        case .token: .token
        case .status: .guestStatus
        case .delete: .guestDelete
        case .form: nil
        }
    }
}

/// Apache's cache of `/api/upload-token.php`, in which a valid link stays valid for a day (gighive contract 1, 6).
private final class TokenCache: Sendable {
    private let entries = Mutex<[String: (response: Response, storedAt: Double)]>([:])

    /// The cached response to a path and query, with its age.
    func response(to url: String) -> Response? {
        let now = Date().timeIntervalSince1970
        guard let entry = entries.withLock({ $0[url] }), now < entry.storedAt + 86_400 else { return nil }
        return entry.response.with { $0.headers.append(("Age", String(Int(now - entry.storedAt)))) }
    }

    func store(_ response: Response, for url: String) {
        entries.withLock { $0[url] = (response, Date().timeIntervalSince1970) }
    }
}
