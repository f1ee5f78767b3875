import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore
import Synchronization

/// Requests of guests before and after an upload (gighive contract 6).
struct GuestEndpoint {
    let book: GuestBook
    let catalog: Catalog
    private let cache = TokenCache()

    init(book: GuestBook, catalog: Catalog) {
        self.book = book
        self.catalog = catalog
    }

    func reply(_ call: GuestCall, to exchange: Exchange) async throws -> Reply {
        let body = try await exchange.collectBody(upTo: 1 << 16)
        guard catalog.dialect >= .d3 else { return .webServerError(.notFound) }
        // These scripts disable caching; Apache adds its own line.
        let noStore = [("Cache-Control", "no-store")]
        switch call {
        case .token: return try token(exchange)
        case .status: return try status(exchange.query["nonce"] ?? "").with { $0.headers += noStore }
        case .gallery: return try gallery(exchange.query["nonce"] ?? "").with { $0.headers += noStore }
        case .stream: return try stream(exchange)
        case .delete:
            return try ownJob(body, exchange) {
                try book.hide($0.id) ? .json(.ok, ["status": "deleted"]) : Self.forbidden
            }
            .with { $0.headers += noStore }
        case .report: return try ownJob(body, exchange) { _ in .json(.ok, ["success": true]) }
        case .form: return Reply(.ok, .application, .html(Reply.page("Upload")))
        }
    }

    private static let forbidden = Reply.json(.forbidden, ["error": "Forbidden"])
    private static let invalidNonce = Reply.json(.badRequest, ["error": "invalid nonce"])

    private static func isNonce(_ text: String) -> Bool { text.wholeMatch(of: /[A-Za-z0-9_\-]{30,40}/) != nil }

    private func token(_ exchange: Exchange) throws -> Reply {
        let url = exchange.request.head.path ?? ""
        if let reply = cache.reply(to: url) { return reply }
        guard let token = exchange.query["token"], !token.isEmpty else {
            return .json(.badRequest, ["error": "missing token"])
        }
        let link = try book.validLink(token)
        let event: JSONValue = [
            "event_id": .int(link.eventId), "event_date": .string(link.eventDate), "org_name": .string(link.orgName),
            "event_type": JSONValue(link.eventType),
        ]
        let reply = Reply.json(.ok, event)
        // With a changing parameter every URL is new; caching those would be useless.
        if exchange.query["t"] == nil { cache.store(reply, for: url) }
        return reply
    }

    private func status(_ nonce: String) throws -> Reply {
        guard Self.isNonce(nonce) else { return Self.invalidNonce }
        guard let job = try book.job(nonce: nonce), let link = try book.link(job.token) else {
            return .json(.notFound, ["error": "not found"])
        }
        let status: JSONValue = [
            "status": .string(link.isExpired ? "expired" : job.state.rawValue),
            // A backslash and a u: the real script has its dash in single quotes.
            "event_name": .string("\(link.orgName) \\u2014 \(link.eventDate)"),
            "video_count": .int(try book.gallery(ofEvent: link.eventId).count),
            "days_remaining": .int(link.daysRemaining),
        ]
        return .json(.ok, status)
    }

    /// The link of a guest whose own upload was approved, or of the link's owner.
    private func visitedLink(_ nonce: String) throws -> EventLink {
        if nonce.count == 43, let own = try book.link(nonce, evenRevoked: false) { return own }
        guard Self.isNonce(nonce) else { throw GuestRefusal(reply: Self.invalidNonce) }
        guard let job = try book.job(nonce: nonce), job.state == .approved, let found = try book.link(job.token)
        else { throw GuestRefusal(reply: Self.forbidden) }
        return found
    }

    private func gallery(_ nonce: String) throws -> Reply {
        let link = try visitedLink(nonce)
        guard !link.isExpired else { return .json(.ok, ["status": "expired", "days_remaining": 0, "videos": []]) }
        let videos = try book.gallery(ofEvent: link.eventId).map { job -> JSONValue in
            [
                "upload_job_id": .int(job.id), "label": .string(job.label),
                "stream_url": .string("/api/guest-stream.php?nonce=\(nonce)&job_id=\(job.id)"),
                "display_name": JSONValue(job.displayName), "approved_at": JSONValue(job.approvedAt),
            ]
        }
        return .json(.ok, ["status": "approved", "days_remaining": .int(link.daysRemaining), "videos": .array(videos)])
    }

    private func stream(_ exchange: Exchange) throws -> Reply {
        guard let number = Int(exchange.query["job_id"] ?? ""), number > 0 else {
            return .json(.badRequest, ["error": "Bad Request"])
        }
        let link = try visitedLink(exchange.query["nonce"] ?? "")
        guard !link.isExpired else { return Self.forbidden }
        guard let job = try book.gallery(ofEvent: link.eventId).first(where: { $0.id == number }),
            let asset = try catalog.asset(job.assetId)?.asset,
            let file = StoredRange(path: catalog.folder.mediaPath(asset.kind, asset.fileName))
        else { return .json(.notFound, ["error": "not found"]) }
        return MediaEndpoint.reply(serving: file, type: "video/mp4", exchange.request)
    }

    private func ownJob(_ body: ByteBuffer, _ exchange: Exchange, _ change: (GuestJob) throws -> Reply) throws -> Reply
    {
        guard exchange.request.method == .post else { return .json(.methodNotAllowed, ["error": "Method Not Allowed"]) }
        let object = try? JSONValue(Array(body.readableBytesView))
        guard let nonce = object?["nonce"]?.string, Self.isNonce(nonce),
            case .number(let text)? = object?["upload_job_id"], let id = Int(text), id > 0
        else { return .json(.badRequest, ["error": "Bad Request"]) }
        guard let job = try book.job(nonce: nonce), job.id == id, job.state == .approved else { return Self.forbidden }
        return try change(job)
    }
}

/// The pages and scripts for guests, which check the event link themselves (gighive contract 6).
enum GuestCall: Sendable {
    case token, status, gallery, stream, delete, report
    /// The upload form that the link opens in a browser.
    case form

    init?(path: String) {
        switch path {
        case "/api/upload-token.php": self = .token
        case "/api/guest-status.php": self = .status
        case "/api/guest-gallery.php": self = .gallery
        case "/api/guest-stream.php": self = .stream
        case "/api/guest-delete.php": self = .delete
        case "/api/guest-report.php": self = .report
        case "/db/upload_form_single.php": self = .form
        case _ where path.hasPrefix("/upload/"): self = .form
        default: return nil
        }
    }

    var place: Fault.Place? {
        switch self {
        case .token: .token
        case .status: .guestStatus
        case .delete: .guestDelete
        case .gallery, .stream, .report, .form: nil
        }
    }
}

/// Apache's disk cache for `/api/upload-token.php`: for a day, a link that was valid stays so (gighive contract 1,
/// 6).
private final class TokenCache: Sendable {
    private let entries = Mutex<[String: (reply: Reply, storedAt: Double)]>([:])

    /// The cached response to this path and query, with its age; nil if there is none.
    func reply(to url: String) -> Reply? {
        let now = Date().timeIntervalSince1970
        guard let entry = entries.withLock({ $0[url] }), now < entry.storedAt + 86_400 else { return nil }
        return entry.reply.with { $0.headers.append(("Age", String(Int(now - entry.storedAt)))) }
    }

    func store(_ reply: Reply, for url: String) { entries.withLock { $0[url] = (reply, Date().timeIntervalSince1970) } }
}
