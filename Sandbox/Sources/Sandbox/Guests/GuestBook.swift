import ArgumentParser
import Foundation
import GRDB
import HTTPTypes
import Synchronization

/// Event links and their guests' uploads.
struct GuestBook: Sendable {
    let catalog: Catalog
    private var queue: DatabaseQueue { catalog.queue }

    /// The link of a guest; nil for a request without its token, of a user with a password. Throws ``GuestRefusal``
    /// for a token that is unknown, expired or revoked.
    func link(of exchange: Exchange) throws -> EventLink? { try exchange.uploadToken.map(validLink) }

    func validLink(_ token: String) throws -> EventLink {
        guard token.count <= 128 else { throw GuestRefusal(reply: .json(.badRequest, ["error": "invalid token"])) }
        guard let link = try link(token, evenRevoked: false), !link.isExpired else {
            throw GuestRefusal(reply: .json(.notFound, ["error": "invalid or expired"]))
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

    /// Creates a link, and its event if there is none; an older link with that token is replaced.
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

    /// Creates the job of a guest's upload, and adds it to the response. Throws a constraint violation if the upload
    /// has a job already.
    func addJob(
        for link: EventLink,
        asset: Int,
        _ label: String,
        _ request: FinalizeRequest,
        upload: String,
        to answer: inout JSONValue
    ) throws {
        let nonce = urlSafeText(randomBytes(24))
        let id = try queue.write { db in
            try db.execute(
                sql: """
                    INSERT INTO guest_job (nonce, token, asset_id, label, display_name, upload_id) VALUES (?, ?, ?, ?, ?, ?)
                    """,
                arguments: [nonce, link.token, asset, label, request.text("display_name"), upload]
            )
            return Int(db.lastInsertedRowID)
        }
        answer["status_nonce"] = .string(nonce)
        answer["upload_job_id"] = .int(id)
    }

    func job(nonce: String) throws -> GuestJob? { try jobs("nonce = ?", [nonce]).first }

    /// The uploads that an event shows to its guests: approved and not hidden.
    func gallery(ofEvent id: Int) throws -> [GuestJob] {
        try jobs(
            """
            state = 'approved' AND hidden_at IS NULL
            AND token IN (SELECT token FROM event_link WHERE event_id = ?)
            """,
            [id]
        )
    }

    func judge(_ id: Int, _ state: GuestJob.State) throws -> Bool {
        try queue.change(
            "UPDATE guest_job SET state = ?, approved_at = iif(? = 'approved', datetime('now'), NULL) WHERE id = ?",
            [state.rawValue, state.rawValue, id]
        )
    }

    /// Hides a job; like the server's UPDATE, it reports no change twice within a second.
    func hide(_ id: Int) throws -> Bool {
        let now = Int(Date().timeIntervalSince1970)
        return try queue.change(
            "UPDATE guest_job SET hidden_at = ? WHERE id = ? AND hidden_at IS NOT ?",
            [now, id, now]
        )
    }

    private func jobs(_ condition: String, _ arguments: StatementArguments) throws -> [GuestJob] {
        let jobs = GuestJob.filter(sql: condition, arguments: arguments).order(sql: "id")
        return try queue.read { try jobs.fetchAll($0) }
    }
}

struct GuestRefusal: Refusal {
    var reply: Reply
}

struct GuestJob: Sendable, SnakeCaseRecord {
    static let databaseTableName = "guest_job"

    enum State: String, Sendable, Codable {
        case pending, approved, rejected
    }

    var id: Int
    var token: String
    var assetId: Int
    var label: String
    var displayName: String?
    var state: State
    var approvedAt: String?
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

    /// The event's fields, in the form of an upload's fields.
    var fields: [String: String] { ["event_date": eventDate, "org_name": orgName, "event_type": eventType ?? ""] }

    var daysRemaining: Int { max(0, Int((expiresAt - Date().timeIntervalSince1970) / 86_400)) }
    var isExpired: Bool { expiresAt <= Date().timeIntervalSince1970 }
}

/// `TOKEN=DATE,ORG,TYPE[,DAYS]`: a link to be created; without `TOKEN=` the sandbox creates a token.
struct EventLinkRequest: Sendable, Equatable, ExpressibleByArgument {
    var token: String
    var eventDate: String
    var orgName: String
    var eventType: String
    var days = 14.0

    init?(argument: String) {
        let sides = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let event = sides.last else { return nil }
        // 43 characters, like the server's.
        token = sides.count == 2 ? sides[0] : urlSafeText(randomBytes(32))
        let pieces = event.split(separator: ",").map(String.init)
        guard (3...4).contains(pieces.count), token.wholeMatch(of: /[A-Za-z0-9_\-]{1,128}/) != nil else { return nil }
        (eventDate, orgName, eventType) = (pieces[0], pieces[1], pieces[2])
        guard pieces.count == 4 else { return }
        guard let days = Double(pieces[3]), days.isFinite else { return nil }
        self.days = days
    }
}
