/// What a server answered to a deletion (gighive contract 5.4).
struct DeleteReply: Sendable, Equatable {
    /// How many files went; nil when the answer does not say.
    var deletedCount: Int64?
    /// The error's short name.
    var error: String?
    /// The error in words; of an HTML page the title.
    var message: String?
    /// Why single files did not go.
    var itemErrors: [String]

    /// Reads an answer; never fails.
    static func parse(_ body: [UInt8]) -> DeleteReply {
        let content = ReplyText.content(of: body)
        let errors = content.members["results"]?.members?["errors"]?.elements ?? []
        return DeleteReply(
            deletedCount: content.members["deleted_count"]?.wholeNumber,
            error: content.members.text("error"),
            message: content.members.text("message") ?? ReplyText.title(of: content.text),
            itemErrors: errors.compactMap { $0.members?.text("error") }
        )
    }

    /// Whether a 403 is about the token and not about the user's role.
    var rejectsToken: Bool { message == "Invalid delete token" }
}
