internal import MediaTransport
internal import Outcomes

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
        return .answered(
            head,
            message: words ?? ReplyText.title(of: content.text),
            isJSON: content.form == .json,
            to: .guest
        )
    }

    /// Whether an answer of the application is about the event token.
    static func rejectsLink(status: Int, _ words: String?) -> Bool {
        OutcomeTable.outcome(of: status, from: .gigHive, to: .guest, mark: words).code == "invalid_event_link"
    }
}
