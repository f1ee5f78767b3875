import ArgumentParser
import Foundation
import GRDB
import HTTPTypes
import HummingbirdCore
import NIOCore

/// What guests ask before and after they upload (gighive contract 6).
struct GuestEndpoint {
    private static let bodyLimit = 1 << 16

    let book: GuestBook
    let catalog: Catalog
    private let cache = TokenCache()

    init(book: GuestBook, catalog: Catalog) {
        self.book = book
        self.catalog = catalog
    }

    func reply(_ call: GuestCall, to exchange: Exchange) async throws -> Reply {
        let body = try await exchange.collectBody(upTo: Self.bodyLimit)
        guard catalog.dialect >= .d3 else { return .webServerError(.notFound) }
        var reply = try reply(call, exchange, body)
        // These scripts forbid caching; Apache adds its own line.
        if [.status, .gallery, .delete].contains(call) { reply.headers.append(("Cache-Control", "no-store")) }
        return reply
    }

    private func reply(_ call: GuestCall, _ exchange: Exchange, _ body: ByteBuffer) throws -> Reply {
        switch call {
        case .token: return try token(exchange)
        case .status: return try status(exchange.query["nonce"] ?? "")
        case .gallery: return try gallery(exchange.query["nonce"] ?? "")
        case .stream: return try stream(exchange)
        case .delete:
            return try ownJob(body, exchange) { job in
                guard try book.hide(job.id) else { return Self.forbidden }
                return .json(.ok, ["status": "deleted"])
            }
        case .report: return try ownJob(body, exchange) { _ in .json(.ok, ["success": true]) }
        case .form:
            return Reply(status: .ok, origin: .application, body: .html("<!doctype html>\n<title>Upload</title>\n"))
        }
    }

    private static let forbidden = Reply.json(.forbidden, ["error": "Forbidden"])
    private static let invalidNonce = Reply.json(.badRequest, ["error": "invalid nonce"])

    // MARK: The link

    private func token(_ exchange: Exchange) throws -> Reply {
        let url = exchange.request.head.path ?? ""
        if let reply = cache.reply(to: url) { return reply }
        guard let token = exchange.query["token"], !token.isEmpty else {
            return .json(.badRequest, ["error": "missing token"])
        }
        switch try book.check(token) {
        case .malformed: return .json(.badRequest, ["error": "invalid token"])
        case .unusable: return .json(.notFound, ["error": "invalid or expired"])
        case .valid(let link):
            let reply = Reply.json(
                .ok,
                [
                    "event_id": .int(link.eventID),
                    "event_date": .string(link.eventDate),
                    "org_name": .string(link.orgName),
                    "event_type": JSONValue(link.eventType),
                ]
            )
            // A changing parameter makes every URL a new one; remembering those would serve nobody.
            if exchange.query["t"] == nil { cache.store(reply, for: url) }
            return reply
        }
    }

    // MARK: Looking

    private func status(_ nonce: String) throws -> Reply {
        guard Self.isNonce(nonce) else { return Self.invalidNonce }
        guard let job = try book.job(nonce: nonce), let link = try book.link(job.token) else {
            return .json(.notFound, ["error": "not found"])
        }
        return .json(
            .ok,
            [
                "status": .string(link.isExpired ? "expired" : job.state.rawValue),
                // A backslash and a u: the real script writes its dash in single quotes.
                "event_name": .string("\(link.orgName) \\u2014 \(link.eventDate)"),
                "video_count": .int(try book.gallery(ofEvent: link.eventID).count),
                "days_remaining": .int(link.daysRemaining),
            ]
        )
    }

    private enum Visitor {
        case refused(Reply)
        case admitted(EventLink)
    }

    /// Who may look at an event: a guest whose own upload was approved, and those who have the link itself.
    private func visitor(_ nonce: String) throws -> Visitor {
        if nonce.count == 43, let link = try book.link(nonce, evenRevoked: false) { return .admitted(link) }
        guard Self.isNonce(nonce) else { return .refused(Self.invalidNonce) }
        guard let job = try book.job(nonce: nonce), job.state == .approved, let link = try book.link(job.token) else {
            return .refused(Self.forbidden)
        }
        return .admitted(link)
    }

    private func gallery(_ nonce: String) throws -> Reply {
        switch try visitor(nonce) {
        case .refused(let reply): return reply
        case .admitted(let link) where link.isExpired:
            return .json(.ok, ["status": "expired", "days_remaining": 0, "videos": []])
        case .admitted(let link):
            let videos = try book.gallery(ofEvent: link.eventID).map { job -> JSONValue in
                [
                    "upload_job_id": .int(job.id),
                    "label": .string(job.label),
                    "stream_url": .string("/api/guest-stream.php?nonce=\(nonce)&job_id=\(job.id)"),
                    "display_name": JSONValue(job.displayName),
                    "approved_at": JSONValue(job.approvedAt),
                ]
            }
            return .json(
                .ok,
                [
                    "status": "approved", "days_remaining": .int(link.daysRemaining), "videos": .array(videos),
                ]
            )
        }
    }

    private func stream(_ exchange: Exchange) throws -> Reply {
        guard let number = Int(exchange.query["job_id"] ?? ""), number > 0 else {
            return .json(.badRequest, ["error": "Bad Request"])
        }
        switch try visitor(exchange.query["nonce"] ?? "") {
        case .refused(let reply): return reply
        case .admitted(let link) where link.isExpired: return Self.forbidden
        case .admitted(let link):
            guard let job = try book.gallery(ofEvent: link.eventID).first(where: { $0.id == number }),
                var asset = try catalog.asset(job.assetID)?.asset
            else { return .json(.notFound, ["error": "not found"]) }
            asset.mimeType = "video/mp4"
            return MediaEndpoint(catalog: catalog).reply(serving: asset, exchange.request)
        }
    }

    // MARK: Changing

    private func ownJob(_ body: ByteBuffer, _ exchange: Exchange, _ change: (GuestJob) throws -> Reply) throws -> Reply
    {
        guard exchange.request.method == .post else {
            return .json(.methodNotAllowed, ["error": "Method Not Allowed"])
        }
        let object = try? JSONSerialization.jsonObject(with: Data(body.readableBytesView)) as? [String: Any]
        guard let nonce = object?["nonce"] as? String, Self.isNonce(nonce), let id = object?["upload_job_id"] as? Int,
            id > 0
        else { return .json(.badRequest, ["error": "Bad Request"]) }
        guard let job = try book.job(nonce: nonce), job.id == id, job.state == .approved else { return Self.forbidden }
        return try change(job)
    }

    private static func isNonce(_ text: String) -> Bool {
        text.wholeMatch(of: /[A-Za-z0-9_\-]{30,40}/) != nil
    }
}

/// The pages and scripts for guests, which check the event link themselves (gighive contract 6).
enum GuestCall: Sendable {
    case token
    case status
    case gallery
    case stream
    case delete
    case report
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

/// What one guest uploaded.
struct GuestJob: Sendable {
    enum State: String, Sendable {
        case pending
        case approved
        case rejected
    }

    var id: Int
    var nonce: String
    var token: String
    var assetID: Int
    var label: String
    var displayName: String?
    var state: State
    var approvedAt: String?
    /// Second at which it was hidden; nil while it is shown.
    var hiddenAt: Int?

    init(_ row: Row) {
        id = row["id"]
        nonce = row["nonce"]
        token = row["token"]
        assetID = row["asset_id"]
        label = row["label"]
        displayName = row["display_name"]
        state = State(rawValue: row["state"]) ?? .pending
        approvedAt = row["approved_at"]
        hiddenAt = row["hidden_at"]
    }
}

/// A link that lets guests upload to one event (gighive contract 6).
struct EventLink: Sendable {
    var token: String
    var eventID: Int
    var eventDate: String
    var orgName: String
    var eventType: String?
    /// Seconds since 1970.
    var expiresAt: Double

    init(_ row: Row) {
        token = row["token"]
        eventID = row["event_id"]
        eventDate = row["event_date"]
        orgName = row["org_name"]
        eventType = row["event_type"]
        expiresAt = row["expires_at"]
    }

    /// The event's fields, as an upload form holds them.
    var fields: [String: String] {
        ["event_date": eventDate, "org_name": orgName, "event_type": eventType ?? ""]
    }

    var daysRemaining: Int {
        max(0, Int((expiresAt - Date().timeIntervalSince1970) / 86_400))
    }

    var isExpired: Bool { expiresAt <= Date().timeIntervalSince1970 }
}

/// `TOKEN=DATE,ORG,TYPE[,DAYS]`: a link to be made; without `TOKEN=` the sandbox invents one.
struct EventLinkRequest: Sendable, Equatable, ExpressibleByArgument {
    var token: String
    var eventDate: String
    var orgName: String
    var eventType: String
    var days = 14.0

    init?(argument: String) {
        let sides = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let event = sides.last else { return nil }
        token = sides.count == 2 ? sides[0] : Self.newToken()
        let pieces = event.split(separator: ",").map(String.init)
        guard (3...4).contains(pieces.count), token.wholeMatch(of: /[A-Za-z0-9_\-]{1,128}/) != nil else { return nil }
        (eventDate, orgName, eventType) = (pieces[0], pieces[1], pieces[2])
        guard pieces.count == 4 else { return }
        guard let days = Double(pieces[3]), days.isFinite else { return nil }
        self.days = days
    }

    /// 43 characters, as the server's.
    private static func newToken() -> String { urlSafeText(randomBytes(32)) }
}
