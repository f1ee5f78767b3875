import ArgumentParser
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

/// Base64 with the alphabet of RFC 4648 section 5, without padding.
func urlSafeText(_ bytes: [UInt8]) -> String {
    Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
        .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
}
