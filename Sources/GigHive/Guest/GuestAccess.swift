public import MediaTransport

/// What an event link stands for (gighive contract section 6). The token is a secret; its description never shows it.
public struct GuestAccess: Sendable, CustomStringConvertible {
    /// The event as the server describes it; its fields replace the user's.
    public struct Event: Sendable, Equatable {
        /// The server's id.
        public var eventID: Int64
        /// `YYYY-MM-DD`.
        public var eventDate: String
        /// The organisation.
        public var orgName: String
        /// `band` or `wedding`.
        public var eventType: String
    }

    /// The event.
    public var event: Event
    /// Name shown to the organizer, at most 100 characters; nil for none.
    public var displayName: String?
    /// Whether the guest has accepted the site's terms; without that nothing is sent.
    public private(set) var acceptsTerms = false
    /// The only server that ever gets the token.
    public let origin: Origin
    let token: EventToken

    init(event: Event, displayName: String?, origin: Origin, token: EventToken) {
        self.event = event
        self.displayName = displayName
        self.origin = origin
        self.token = token
    }

    /// The same access for a guest who has accepted the site's terms (`tos_accepted`). Only a person may decide that.
    public func acceptingTerms() -> GuestAccess {
        var access = self
        access.acceptsTerms = true
        return access
    }

    /// The event's name, without the secret.
    public var description: String { "guest of \(event.orgName), \(event.eventDate)" }

    /// `X-Upload-Token`, for every request of tus and for finalize; takes the place of a login.
    var authorization: Authorization {
        .uploadToken(token.secret, for: origin)
    }
}

/// Where a guest's upload stands.
public struct GuestStatus: Sendable, Equatable {
    /// What the organizer has decided.
    public enum State: String, Sendable, CaseIterable {
        /// Nothing yet.
        case pending
        /// The file may be seen.
        case approved
        /// The file is refused.
        case rejected
        /// The link has ended.
        case expired
    }

    /// What the organizer has decided.
    public var state: State
    /// Name of the event.
    public var eventName: String?
    /// Days until the link ends.
    public var daysRemaining: Int64?
}
