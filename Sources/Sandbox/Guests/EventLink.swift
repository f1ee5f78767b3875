import Foundation
import GRDB

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
