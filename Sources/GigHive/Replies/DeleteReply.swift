internal import MediaTransport

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

    /// The login that was missing, by what a 400 says about the body: the server reads what fits the signed-in user, an
    /// admin's list or an uploader's token (gighive contract 5.3 and 5.4).
    var neededLogin: GigHiveError.NeededLogin? {
        switch message {
        case "Expected JSON body with asset_ids array", "Expected JSON body with file_ids array": .uploader
        case "Expected JSON body with asset_id and delete_token", "Expected JSON body with file_id and delete_token":
            .admin
        default: nil
        }
    }

    /// Whether a 403 is about the token and not about the user's role.
    var rejectsToken: Bool { message == "Invalid delete token" }
}
