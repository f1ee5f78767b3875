internal import MediaCore
public import MediaStore
public import MediaTransport

/// The event of an event link (gighive contract section 6). The token is secret; the description does not contain it.
public struct GuestAccess: Sendable, CustomStringConvertible {
    /// The event as the server describes it; its fields replace the user's.
    public struct Event: Sendable, Equatable {
        /// The ID on the server.
        public var eventID: Int64
        /// `YYYY-MM-DD`.
        public var eventDate: String
        /// The organization.
        public var orgName: String
        /// `band` or `wedding`.
        public var eventType: String
    }

    public var event: Event
    /// Name shown to the organizer, at most 100 bytes of UTF-8; nil for none.
    public var displayName: String?
    /// Whether the guest has accepted the site's terms; without that, nothing is sent.
    public private(set) var acceptsTerms = false
    /// The only server that the token is ever sent to.
    public let origin: Origin
    let token: EventToken

    /// The same access for a guest who has accepted the site's terms (`tos_accepted`). Only a person may decide that.
    public func acceptingTerms() -> GuestAccess {
        var access = self
        access.acceptsTerms = true
        return access
    }

    /// The event's name, without the secret.
    public var description: String { "guest of \(event.orgName), \(event.eventDate)" }

    /// `X-Upload-Token`, for every request of tus and for finalize; replaces a login.
    var authorization: Authorization {
        .uploadToken(token.secret, for: origin)
    }
}

/// The organizer's decision about a guest's upload, and whether this machine has hidden the upload.
public enum GuestState: String, Sendable {
    /// No decision yet.
    case pending
    /// The file is visible.
    case approved
    /// Hidden by this machine; no server reports it.
    case hidden
    /// The file is refused.
    case rejected
    /// The link has expired.
    case expired

    /// Whether hiding the upload can succeed. The server refuses this for an upload that is not approved, and does not
    /// report whether an upload through an expired link was approved (gighive contract section 6).
    package var mayBeHidden: Bool { self == .approved || self == .expired }
}

/// The token of an event link: 43 characters `[A-Za-z0-9_-]` (gighive contract section 6). Prints as redacted.
public struct EventToken: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible {
    let secret: String

    /// Reads a token, or a link `https://HOST/upload/TOKEN`, ignoring surrounding whitespace; nil for anything else.
    public init?(_ text: String) {
        let text = text.trimmingWhiteSpace()
        let secret = EventLink(text)?.token ?? text[...]
        guard secret.utf8.count == 43, secret.utf8.allSatisfy(TextFields.isOfName) else { return nil }
        self.secret = String(secret)
    }

    /// Address of the server in a link; nil for a bare token.
    public static func server(ofLink text: String) -> String? {
        EventLink(text.trimmingWhiteSpace()).map { String($0.server) }
    }

    /// Without the secret.
    public var description: String { "***" }

    /// Without the secret.
    public var debugDescription: String { description }
}

/// The two parts of `https://HOST/upload/TOKEN`; a slash, query or fragment after the token is ignored.
private struct EventLink {
    let server: Substring
    let token: Substring

    init?(_ text: String) {
        let path = "/upload/"
        guard let scheme = text.firstRange(of: "://"),
            ["http", "https"].contains(text[..<scheme.lowerBound].lowercased()),
            let slash = text[scheme.upperBound...].firstIndex(of: "/"), text[slash...].hasPrefix(path)
        else { return nil }
        server = text[..<slash]
        let rest = text[slash...].dropFirst(path.count)
        let token = rest.prefix { !"/?#".contains($0) }
        let tail = rest.dropFirst(token.count)
        guard tail.isEmpty || tail == "/" || tail.hasPrefix("?") || tail.hasPrefix("#") else { return nil }
        self.token = token
    }
}

extension String {
    func trimmingWhiteSpace() -> String {
        if let first = utf8.first, let last = utf8.last, (0x21...0x7e).contains(first), (0x21...0x7e).contains(last) {
            return String(self)
        }
        var rest = drop { $0.isWhitespace }
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return String(rest)
    }
}

extension GigHiveClient {
    /// Queries the event for a link (`GET /api/upload-token.php`, gighive contract section 6). Does not send a login.
    ///
    /// Uploads also require that the guest has accepted the terms: `GuestAccess.acceptingTerms()`. The organizer sees
    /// `displayName`, at most 100 bytes of UTF-8: the server truncates a longer one, possibly within a character, and
    /// then fails after it has stored the file.
    ///
    /// - Throws: `GigHiveError`: `.invalidEventLink` for a link that is malformed, expired or revoked; `.invalidDetail`
    ///   for a display name that is too long.
    public func guestAccess(_ token: EventToken, displayName: String?) async throws(GigHiveError) -> GuestAccess {
        let rule = DetailRule("display_name")
        // nil if the name is blank.
        let displayName = try rule.limited(displayName, limit: 100)
        if let displayName { try rule.checkBytes(displayName, limit: 100) }
        let response = try await submit("/api/upload-token.php", (name: "token", value: token.secret))
        let content = ResponseText.content(of: response.body)
        guard response.status == 200 else {
            throw GigHiveError.ofResponse(response.head, content, to: .guest)
        }
        let members = content.members
        guard let eventID = members.identifier("event_id"), let date = members.text("event_date"),
            let organization = members.text("org_name")
        else {
            throw GigHiveError(.unexpectedResponse, detail: "the response has no event", httpStatus: response.status)
        }
        let event = GuestAccess.Event(
            eventID: eventID,
            eventDate: date,
            orgName: organization,
            eventType: members.text("event_type") ?? "band"
        )
        return GuestAccess(event: event, displayName: displayName, origin: server.origin, token: token)
    }

    /// Queries the status of a guest's upload (`GET /api/guest-status.php`); nil if the server does not have the
    /// upload. Does not send a login.
    public func guestState(_ receipt: GuestReceipt) async throws(GigHiveError) -> GuestState? {
        let response = try await submit("/api/guest-status.php", (name: "nonce", value: receipt.nonce))
        let content = ResponseText.content(of: response.body)
        let members = content.members
        if response.status == 404, content.form == .json, members.text("error") == "not found" {
            return nil
        }
        guard response.status == 200 else {
            throw GigHiveError.ofResponse(response.head, content, to: .guest)
        }
        guard let state = members.text("status").flatMap(GuestState.init), state != .hidden else {
            throw GigHiveError(.unexpectedResponse, detail: "the response is not a status", httpStatus: response.status)
        }
        return state
    }

    /// Hides a guest's upload (`POST /api/guest-delete.php`). The server keeps the file.
    ///
    /// Sent at most once: a repeat within the same second would be refused.
    ///
    /// - Throws: `GigHiveError`: `.forbidden` if it is not approved, or not the guest's own.
    public func guestHide(_ receipt: GuestReceipt) async throws(GigHiveError) {
        let body: JSONObject = ["nonce": .string(receipt.nonce), "upload_job_id": .integer(receipt.jobID)]
        var request = post("/api/guest-delete.php", json: body)
        request.authorization = nil
        request.tokens = [receipt.nonce]
        let response = try await send(request)
        let content = ResponseText.content(of: response.body)
        guard response.status == 200 else {
            throw GigHiveError.ofResponse(response.head, content, to: .guest)
        }
        guard content.members.text("status") == "deleted" else {
            throw GigHiveError(.unexpectedResponse, detail: "not a confirmation", httpStatus: response.status)
        }
    }

    /// A request without a login. The query string contains the time, to bypass the server's own cache: otherwise, a
    /// revoked link would look valid for a day (gighive contract section 6).
    private func submit(
        _ path: String,
        _ secret: (name: String, value: String)
    ) async throws(GigHiveError) -> HTTPResponse {
        var request = request(.get, path, [secret], isAuthorized: false)
        request.tokens = [secret.value]
        return try await send(request)
    }
}
