import ArgumentParser
import Foundation
import GRDB
import HTTPTypes
import Synchronization

/// Event links and the uploads of guests.
struct GuestBook: Sendable {
    let catalog: Catalog
    private var queue: DatabaseQueue { catalog.queue }

    /// The guest's link; nil for a user with a password. Throws ``GuestRefusal`` for an invalid link.
    func link(of exchange: Exchange) throws -> EventLink? { try exchange.uploadToken.map(validLink) }

    func validLink(_ token: String) throws -> EventLink {
        guard token.count <= 128 else { throw GuestRefusal(response: .json(.badRequest, ["error": "invalid token"])) }
        guard let link = try link(token, evenRevoked: false), !link.isExpired else {
            throw GuestRefusal(response: .json(.notFound, ["error": "invalid or expired"]))
        }
        return link
    }

    func link(_ token: String, evenRevoked: Bool = true) throws -> EventLink? {
        try queue.read { db in
            try EventLink.fetchOne(
                db,
                sql: """
                    SELECT * FROM event_link JOIN event ON event.id = event_id WHERE token = ? AND (NOT is_revoked OR ?)
                    """,
                arguments: [token, evenRevoked]
            )
        }
    }

    /// Adds a link, and its event if missing; replaces an older link with that token.
    func add(_ request: EventLinkRequest) throws {
        let form = [
            "label": "-", "event_date": request.eventDate, "org_name": request.orgName, "event_type": request.eventType,
        ]
        let fields = try UploadFields(form, dialect: catalog.dialect)
        try queue.write { db in
            let event = try catalog.ensureEvent(fields, db)
            try db.execute(
                sql: "INSERT OR REPLACE INTO event_link (token, event_id, expires_at) VALUES (?, ?, ?)",
                arguments: [request.token, event, Date().timeIntervalSince1970 + request.days * 86_400]
            )
        }
    }

    func revoke(_ token: String) throws -> Bool {
        try queue.change("UPDATE event_link SET is_revoked = 1 WHERE token = ?", [token])
    }

    /// Adds the job for a guest's upload to the database and to the response. Throws a constraint violation if the
    /// upload already has a job.
    func addJob(for link: EventLink, asset: Int, upload: String, to response: inout JSONValue) throws {
        let nonce = urlSafeText(randomBytes(24))
        let id = try queue.write { db in
            try db.execute(
                sql: "INSERT INTO guest_job (nonce, token, asset_id, upload_id) VALUES (?, ?, ?, ?)",
                arguments: [nonce, link.token, asset, upload]
            )
            return Int(db.lastInsertedRowID)
        }
        response["status_nonce"] = .string(nonce)
        response["upload_job_id"] = .int(id)
    }

    func job(nonce: String) throws -> GuestJob? { try queue.read { try GuestJob.fetchOne($0, key: ["nonce": nonce]) } }

    /// Number of videos that the guests of an event can see, that is, videos that are approved and not hidden.
    func videoCount(ofEvent id: Int) throws -> Int {
        let tokens = "SELECT token FROM event_link WHERE event_id = ?"
        let condition = "state = 'approved' AND hidden_at IS NULL AND token IN (\(tokens))"
        return try queue.read { try GuestJob.filter(sql: condition, arguments: [id]).fetchCount($0) }
    }

    func judge(_ id: Int, _ state: GuestJob.State) throws -> Bool {
        try queue.change("UPDATE guest_job SET state = ? WHERE id = ?", [state.rawValue, id])
    }

    /// False if the upload was already hidden in the same second: like the server's UPDATE, this then changes nothing.
    func hide(_ id: Int) throws -> Bool {
        let now = Int(Date().timeIntervalSince1970)
        return try queue.change(
            "UPDATE guest_job SET hidden_at = ? WHERE id = ? AND hidden_at IS NOT ?",
            [now, id, now]
        )
    }
}

struct GuestRefusal: Refusal {
    var response: Response
}

struct GuestJob: Sendable, SnakeCaseRecord {
    static let databaseTableName = "guest_job"

    enum State: String, Sendable, Codable {
        case pending, approved, rejected
    }

    var id: Int
    var token: String
    var state: State
}

/// A link that lets guests upload to one event (gighive contract 6).
struct EventLink: Sendable, SnakeCaseRecord {
    var token: String
    var eventId: Int
    var eventDate: String
    var orgName: String
    var eventType: String?
    /// Seconds since 1970.
    var expiresAt: Double

    /// The event, as fields of an upload.
    var fields: [String: String] { ["event_date": eventDate, "org_name": orgName, "event_type": eventType ?? ""] }

    var daysRemaining: Int { max(0, Int((expiresAt - Date().timeIntervalSince1970) / 86_400)) }
    var isExpired: Bool { expiresAt <= Date().timeIntervalSince1970 }
}

/// `[TOKEN=]DATE,ORG,TYPE[,DAYS]`; the default token is random.
struct EventLinkRequest: Sendable, Equatable, ExpressibleByArgument {
    var token: String
    var eventDate: String
    var orgName: String
    var eventType: String
    var days = 14.0

    init?(argument: String) {
        let sides = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let event = sides.last else { return nil }
        // 43 characters, like the server's tokens.
        token = sides.count == 2 ? sides[0] : urlSafeText(randomBytes(32))
        let pieces = event.split(separator: ",").map(String.init)
        guard (3...4).contains(pieces.count), token.wholeMatch(of: /[A-Za-z0-9_\-]{1,128}/) != nil else { return nil }
        (eventDate, orgName, eventType) = (pieces[0], pieces[1], pieces[2])
        guard pieces.count == 4 else { return }
        guard let days = Double(pieces[3]), days.isFinite else { return nil }
        self.days = days
    }
}
