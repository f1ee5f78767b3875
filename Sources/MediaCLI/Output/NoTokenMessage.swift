internal import GigHive
internal import MediaCore
internal import MediaFiles
internal import MediaStore

/// What the user is told when an upload succeeded without a delete token.
struct NoTokenMessage: Sendable {
    var contact: String

    /// The required sentence (issue's wording; the address is the profile's).
    var sentence: String {
        "File uploaded successfully, but no delete token was discovered. This upload can't be deleted from the server "
            + "via the app. Contact \(contact) to request a manual deletion. You will need to submit the following "
            + "information: event_date, org_name, event_type, label or file name."
    }

    /// The fields that the message requests, as the server stored them.
    func fields(of result: UploadResult) -> [String] {
        let (stored, details) = (result.stored, result.details)
        let fields = [
            ("event_date", stored?.eventDate ?? details?.eventDate), ("org_name", stored?.orgName ?? details?.orgName),
            ("event_type", stored?.eventType ?? details?.eventType), ("label", stored?.label ?? details?.label),
            ("file name", result.fileName), ("file id", result.fileID.map { "\($0)" }),
            ("checksum_sha256", result.checksumSHA256),
        ]
        return fields.compactMap { name, value in value.map { "  \(name): \(TerminalText.escaped($0))" } }
    }
}
