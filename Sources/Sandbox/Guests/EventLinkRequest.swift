import ArgumentParser
import Foundation

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
