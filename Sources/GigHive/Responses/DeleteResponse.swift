internal import MediaCore
internal import MediaTransport

/// A response to a deletion (gighive contract 5.4).
struct DeleteResponse: Sendable, Equatable {
    /// Number of deleted files; nil if not reported.
    var deletedCount: Int64?
    /// The IDs that the server reports as deleted; nil if it reports none.
    var deletedIDs: [Int64]?
    var error: String?
    /// The error message, or the title of an HTML page.
    var message: String?
    var itemErrors: [String]

    /// Never fails.
    static func parse(_ body: [UInt8]) -> DeleteResponse {
        let content = ResponseText.content(of: body)
        let results = content.members["results"]?.members ?? [:]
        let errors = results["errors"]?.elements ?? []
        return DeleteResponse(
            deletedCount: content.members["deleted_count"]?.wholeNumber,
            deletedIDs: results["deleted"].map { $0.elements.map { id(of: $0) ?? 0 } },
            error: content.members.text("error"),
            message: content.members.text("message") ?? ResponseText.title(of: content.text),
            itemErrors: errors.compactMap { $0.members?.text("error") }
        )
    }

    /// The ID of a deleted file: in an object or bare; a number or a string of digits.
    private static func id(of deleted: JSONValue) -> Int64? {
        (deleted.members.flatMap { $0["asset_id"] ?? $0["file_id"] ?? $0["id"] } ?? deleted).wholeNumber
    }

    /// The required login, according to a 400's message about the body: the server expects the body for the signed-in
    /// user, an admin's list or an uploader's token (gighive contract 5.3 and 5.4).
    var neededLogin: GigHiveErrorFacts.NeededLogin? {
        switch message {
        case "Expected JSON body with asset_ids array", "Expected JSON body with file_ids array": .uploader
        case "Expected JSON body with asset_id and delete_token", "Expected JSON body with file_id and delete_token":
            .admin
        default: nil
        }
    }

    /// The error for a response that is not a success.
    func failure(_ head: HTTPResponseHead) -> GigHiveError {
        .ofResponse(head, message: message ?? error, isJSON: error != nil)
    }

    /// Whether a 403 is about the token and not about the user's role.
    var rejectsToken: Bool { message == "Invalid delete token" }
}
