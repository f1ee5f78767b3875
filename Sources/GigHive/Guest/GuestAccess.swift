internal import MediaTransport

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
    /// Name shown to the organiser, at most 100 characters; nil for none.
    public var displayName: String?
    let token: EventToken

    /// The event's name, without the secret.
    public var description: String { "guest of \(event.orgName), \(event.eventDate)" }
}

/// The token of an event link: 43 characters `[A-Za-z0-9_-]`. Prints as redacted.
public struct EventToken: Sendable, Equatable, CustomStringConvertible {
    let secret: String

    /// Reads a token, or takes it out of a link `https://HOST/upload/TOKEN`; surrounding white space does not matter.
    ///
    /// - Returns: nil for anything else.
    public init?(_ text: String) { return nil }

    /// Address of the server that a link names; nil for a bare token.
    public static func server(ofLink text: String) -> String? { nil }

    /// Never the secret.
    public var description: String { "***" }
}

/// Where a guest's upload stands.
public struct GuestStatus: Sendable, Equatable {
    /// What the organiser has decided.
    public enum State: String, Sendable, CaseIterable {
        case pending
        case approved
        case rejected
        case expired
    }

    /// What the organiser has decided.
    public var state: State
    /// Name of the event.
    public var eventName: String?
    /// Days until the link ends.
    public var daysRemaining: Int64?
}
