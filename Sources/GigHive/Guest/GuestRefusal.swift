internal import MediaTransport

/// What the guests' endpoints answer instead of success (gighive contract 4.3 and section 6).
enum GuestRefusal {
    /// The error of an answer.
    ///
    /// - Parameters:
    ///   - head: Status and header fields.
    ///   - content: The body.
    /// - Returns: `.invalidEventLink` for a token that the server does not take (any more), else as for everybody.
    static func error(_ head: HTTPResponseHead, _ content: ReplyText.Content) -> GigHiveError {
        let words = content.members.text("message") ?? content.members.text("error")
        if content.form == .json, rejectsLink(status: head.status, words) {
            return GigHiveError(.invalidEventLink, detail: words ?? "", httpStatus: head.status)
        }
        return .answered(
            head,
            message: words ?? ReplyText.title(of: content.text),
            isJSON: content.form == .json
        )
    }

    /// Whether an answer of the application is about the event token.
    static func rejectsLink(status: Int, _ words: String?) -> Bool {
        switch (status, words) {
        case (400, "invalid token"), (400, "missing token"), (404, "invalid or expired"): true
        default: false
        }
    }
}
