import Foundation
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

    /// Who may look at an event: a guest whose own upload was approved, and whoever has the link itself.
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
