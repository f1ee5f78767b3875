internal import MediaCore
public import MediaStore
internal import MediaTransport

extension GigHiveClient {
    /// Asks what event a link stands for (`GET /api/upload-token.php`, gighive contract section 6). No login is sent.
    ///
    /// The access is good for uploads once the guest has accepted the terms: `GuestAccess.acceptingTerms()`.
    ///
    /// - Parameters:
    ///   - token: The secret of the link.
    ///   - displayName: Name shown to the organizer; at most 100 characters.
    /// - Returns: The access, without the guest's consent yet.
    /// - Throws: `GigHiveError`: `.invalidEventLink` for a link that is malformed, expired or revoked; `.invalidDetail` for
    ///   a display name that is too long.
    public func guestAccess(_ token: EventToken, displayName: String?) async throws(GigHiveError) -> GuestAccess {
        let displayName = try displayName.flatMap { name throws(GigHiveError) in try GuestName.checked(name) }
        let response = try await ask("/api/upload-token.php", (name: "token", value: token.secret))
        let content = ReplyText.content(of: response.body)
        guard response.status == 200 else {
            throw GuestRefusal.error(response.head, content)
        }
        let members = content.members
        guard let eventID = members.identifier("event_id"), let date = members.text("event_date"),
            let organisation = members.text("org_name")
        else {
            throw GigHiveError(.unexpectedAnswer, detail: "the response has no event", httpStatus: response.status)
        }
        let event = GuestAccess.Event(
            eventID: eventID,
            eventDate: date,
            orgName: organisation,
            eventType: members.text("event_type") ?? "band"
        )
        return GuestAccess(event: event, displayName: displayName, origin: server.origin, token: token)
    }

    /// Asks where a guest's upload stands (`GET /api/guest-status.php`). No login is sent.
    ///
    /// - Returns: nil when the server knows no such upload.
    /// - Throws: `GigHiveError`.
    public func guestStatus(_ receipt: GuestReceipt) async throws(GigHiveError) -> GuestStatus? {
        let response = try await ask("/api/guest-status.php", (name: "nonce", value: receipt.nonce))
        let content = ReplyText.content(of: response.body)
        let members = content.members
        if response.status == 404, content.form == .json, members.text("error") == "not found" {
            return nil
        }
        guard response.status == 200 else {
            throw GuestRefusal.error(response.head, content)
        }
        guard let state = members.text("status").flatMap(GuestStatus.State.init) else {
            throw GigHiveError(.unexpectedAnswer, detail: "the response is not a status", httpStatus: response.status)
        }
        return GuestStatus(
            state: state,
            eventName: members.text("event_name"),
            daysRemaining: members["days_remaining"]?.wholeNumber
        )
    }

    /// Hides a guest's upload (`POST /api/guest-delete.php`). The server keeps the file.
    ///
    /// Sent at most once: a repeat within the same second would be refused.
    ///
    /// - Throws: `GigHiveError`: `.forbidden` when it is not approved, or not one's own.
    public func guestHide(_ receipt: GuestReceipt) async throws(GigHiveError) {
        let body = JSONText.object([("nonce", .string(receipt.nonce)), ("upload_job_id", .number(receipt.jobID))])
        var request = post("/api/guest-delete.php", json: body)
        request.authorization = nil
        request.tokens = [receipt.nonce]
        let response = try await send(request, control: TransferControl())
        let content = ReplyText.content(of: response.body)
        guard response.status == 200 else {
            throw GuestRefusal.error(response.head, content)
        }
        guard content.members.text("status") == "deleted" else {
            throw GigHiveError(.unexpectedAnswer, detail: "not a confirmation", httpStatus: response.status)
        }
    }

    /// A question that needs no login. The changing query keeps the server's own cache out: a revoked link would look
    /// valid for a day (gighive contract section 6).
    private func ask(
        _ path: String,
        _ secret: (name: String, value: String)
    ) async throws(GigHiveError) -> HTTPResponse {
        var request = request(.get, path, [secret], isAuthorized: false)
        request.tokens = [secret.value]
        return try await send(request, control: TransferControl())
    }
}

/// The display name of a guest, shown to the organizer.
enum GuestName {
    /// Trims, and leaves out what is blank.
    ///
    /// - Throws: `GigHiveError` with code `.invalidDetail` for control characters and for more than 100 characters,
    ///   counted as Unicode scalars.
    static func checked(_ name: String) throws(GigHiveError) -> String? {
        try DetailRule("display_name").limited(name, limit: 100)
    }
}
