import Foundation
import GRDB
import HTTPTypes
import Synchronization

/// Event links and what guests did with them.
struct GuestBook: Sendable {
    let catalog: Catalog
    private var queue: DatabaseQueue { catalog.queue }

    // MARK: Links

    enum Check: Sendable {
        case malformed
        /// Unknown, expired or revoked.
        case unusable
        case valid(EventLink)
    }

    func check(_ token: String) throws -> Check {
        guard token.count <= 128 else { return .malformed }
        guard let link = try link(token, evenRevoked: false), !link.isExpired else { return .unusable }
        return .valid(link)
    }

    /// Who finalizes an upload.
    enum Admission: Sendable {
        /// A user with a password, without the token of a link.
        case user
        case guest(EventLink)
        case refused(Reply)
    }

    func admission(_ token: String?) throws -> Admission {
        guard let token else { return .user }
        return switch try check(token) {
        case .malformed: .refused(.json(.badRequest, ["error": "invalid token"]))
        case .unusable: .refused(.json(.notFound, ["error": "invalid or expired"]))
        case .valid(let link): .guest(link)
        }
    }

    func link(_ token: String, evenRevoked: Bool = true) throws -> EventLink? {
        try queue.read { db in
            try Row.fetchOne(
                db,
                sql: """
                    SELECT * FROM event_link JOIN event ON event.id = event_id
                    WHERE token = ? AND (NOT is_revoked OR ?)
                    """,
                arguments: [token, evenRevoked]
            )
        }
        .map(EventLink.init)
    }

    /// Makes a link, and its event when there is none; an older link of that token is replaced.
    func add(_ request: EventLinkRequest) throws {
        let form = [
            "label": "-", "event_date": request.eventDate, "org_name": request.orgName,
            "event_type": request.eventType,
        ]
        let fields = try UploadFields(form, dialect: catalog.dialect, today: UploadFields.today())
        try queue.write { db in
            let event = try catalog.ensureEvent(fields, db)
            try db.execute(
                sql: "INSERT OR REPLACE INTO event_link (token, event_id, expires_at) VALUES (?, ?, ?)",
                arguments: [request.token, event, Date().timeIntervalSince1970 + request.days * 86_400]
            )
        }
    }

    /// False when there is no such link.
    func revoke(_ token: String) throws -> Bool {
        try changed("UPDATE event_link SET is_revoked = 1 WHERE token = ?", [token])
    }

    // MARK: Jobs

    /// Throws a constraint violation when the upload has a job already.
    func addJob(
        for link: EventLink,
        asset: Int,
        label: String,
        displayName: String?,
        upload: String
    ) throws -> (id: Int, nonce: String) {
        let nonce = urlSafeText(randomBytes(24))
        return try queue.write { db in
            try db.execute(
                sql: """
                    INSERT INTO guest_job (nonce, token, asset_id, label, display_name, upload_id)
                    VALUES (?, ?, ?, ?, ?, ?)
                    """,
                arguments: [nonce, link.token, asset, label, displayName, upload]
            )
            return (Int(db.lastInsertedRowID), nonce)
        }
    }

    func job(nonce: String) throws -> GuestJob? {
        try jobs("nonce = ?", [nonce]).first
    }

    /// What an event shows to its guests: approved and not hidden.
    func gallery(ofEvent id: Int) throws -> [GuestJob] {
        try jobs(
            """
            state = 'approved' AND hidden_at IS NULL
            AND token IN (SELECT token FROM event_link WHERE event_id = ?) ORDER BY id
            """,
            [id]
        )
    }

    /// False when there is no such job.
    func judge(_ id: Int, _ state: GuestJob.State) throws -> Bool {
        try changed(
            """
            UPDATE guest_job SET state = ?, approved_at = iif(? = 'approved', datetime('now'), NULL) WHERE id = ?
            """,
            [state.rawValue, state.rawValue, id]
        )
    }

    /// Hides a job; like the server's UPDATE, it changes nothing twice within a second.
    func hide(_ id: Int) throws -> Bool {
        let now = Int(Date().timeIntervalSince1970)
        return try changed(
            "UPDATE guest_job SET hidden_at = ? WHERE id = ? AND hidden_at IS NOT ?",
            [now, id, now]
        )
    }

    private func jobs(_ condition: String, _ arguments: StatementArguments) throws -> [GuestJob] {
        try queue.read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM guest_job WHERE \(condition)", arguments: arguments)
        }
        .map(GuestJob.init)
    }

    private func changed(_ sql: String, _ arguments: StatementArguments) throws -> Bool {
        try queue.write { db in
            try db.execute(sql: sql, arguments: arguments)
            return db.changesCount > 0
        }
    }
}

/// Apache's disk cache as it treats `/api/upload-token.php`: for a day, a link that was valid stays so (gighive contract 1, 6).
final class TokenCache: Sendable {
    private static let lifetime = 86_400.0

    private struct Entry {
        var reply: Reply
        var storedAt: Double
    }

    private let entries = Mutex<[String: Entry]>([:])

    /// The answer that was given to this path and query before, with its age; nil when there is none.
    func reply(to url: String) -> Reply? {
        let now = Date().timeIntervalSince1970
        guard let entry = entries.withLock({ $0[url] }), now < entry.storedAt + Self.lifetime else { return nil }
        var reply = entry.reply
        reply.headers.append(("Age", String(Int(now - entry.storedAt))))
        return reply
    }

    func store(_ reply: Reply, for url: String) {
        entries.withLock { $0[url] = Entry(reply: reply, storedAt: Date().timeIntervalSince1970) }
    }
}
