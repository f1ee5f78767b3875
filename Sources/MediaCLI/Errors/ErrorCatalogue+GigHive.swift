internal import Foundation
internal import GigHive
internal import MediaFiles

extension ErrorCatalogue {
    /// Message, hint and exit code of what a GigHive server, or the checks before it, said.
    static func diagnosis(of error: GigHiveError) -> Diagnosis {
        if error.code == .storeUnusable, let store = error.store {
            return diagnosis(of: store)
        }
        return Diagnosis(error, words(for: error))
    }

    /// The words of the table, unless an error knows more than its code.
    private static func words(for error: GigHiveError) -> Words {
        switch error.code {
        case .invalidDetail, .fileUnreadable, .notRegularFile, .fileTooLarge, .unknownExtension, .sourceChanged:
            localWords(for: error)
        case .forbidden: .table(error, hint: loginHint(error.neededLogin))
        case .rateLimited:
            .table(
                error,
                hint: error.retryAfterSeconds.map { "try again in \(Formats.span(.seconds($0)))" } ?? "try again later"
            )
        case .unknownHost, .cannotConnect, .connectionLost: networkWords(for: error)
        case .checksumMismatch, .tokenLost, .tokenNotStored, .noDeleteToken: tokenWords(for: error)
        case .notResumable:
            Words(
                "cannot go on with \(error.path.map { quoted($0) } ?? "the upload")\(error.said)",
                hint: error.value == nil
                    ? "mediactl uploads status shows where uploads stand; mediactl upload sends the file as it is now"
                    : discardHint(for: error)
            )
        default: Words(error)
        }
    }

    // MARK: Before anything is sent

    private static func localWords(for error: GigHiveError) -> Words {
        let file = error.file
        return switch error.code {
        case .invalidDetail:
            Words(
                "cannot use \(error.value.map { quoted($0) } ?? "this") as \(fieldName(error.field))\(error.said)",
                hint: error.field.map { "set it with --\($0.replacing("_", with: "-"))" }
            )
        case .fileUnreadable:
            // A link that leads nowhere, or a failing disk, is no matter of permissions.
            .unreadable(
                error,
                hint: error.detail.isEmpty || error.detail == "permission denied" ? "check its permissions" : nil
            )
        case .notRegularFile: .table(error, hint: "to send a stream, use: mediactl upload - --stdin-name NAME")
        case .fileTooLarge:
            Words(
                "cannot upload \(file): it is larger than the limit\(error.limit.map { " of \($0) bytes" } ?? "")",
                hint: "if this server takes more, set max_bytes in its profile"
            )
        case .unknownExtension:
            Words(
                "cannot upload \(file): its extension is not one the server knows",
                hint: "send it all the same with --force"
            )
        case .sourceChanged where error.value != nil:
            Words("\(file) has changed since its upload began", hint: "upload it anew, and \(discardHint(for: error))")
        default: Words(error)
        }
    }

    /// How to give up the upload that `error.value` names.
    private static func discardHint(for error: GigHiveError) -> String {
        "give the old upload up with: mediactl uploads discard \(clean(error.value ?? ""))"
    }

    private static func fieldName(_ field: String?) -> String {
        (field ?? "detail").replacing("_", with: " ")
    }

    // MARK: Answers and tokens

    private static func loginHint(_ login: GigHiveError.NeededLogin?) -> String {
        switch login {
        case .uploader: "log in as uploader, or add --as-admin"
        case .admin: "--as-admin needs the admin user"
        case nil: "log in as uploader or admin"
        }
    }

    private static func tokenWords(for error: GigHiveError) -> Words {
        switch error.code {
        case .checksumMismatch:
            Words(
                "the server's copy differs from the source\(error.said)",
                hint: error.fileID.map { "delete the bad copy with: mediactl uploads delete \($0)" }
            )
        case .tokenLost:
            Words(
                "the file is on the server\(error.fileID.map { " as \($0)" } ?? ""), but its delete token is lost"
                    + error.said,
                hint: "ask the operator of the server for a deletion if it must go"
            )
        case .tokenNotStored:
            Words(
                "the file is on the server, but its delete token could not be stored\(error.said)",
                hint: error.rescuePath.map { unstoredTokenHint(for: error, path: $0) }
            )
        default: noTokenWords(for: error)
        }
    }

    private static func unstoredTokenHint(for error: GigHiveError, path: String) -> String {
        // A store that refused the token takes it from the rescue file when it works again. Otherwise the answer itself
        // lacks something, and no command here can find that.
        if error.store != nil {
            return "the answer is kept in \(quoted(path)); free some space and run: mediactl uploads list"
        }
        return error.fileID == nil
            ? "\(quoted(path)) holds the token; send the file's checksum to the operator of the server and ask for its id"
            : "\(quoted(path)) holds what was sent; ask the operator of the server for a deletion if it must go"
    }

    private static func noTokenWords(for error: GigHiveError) -> Words {
        guard let other = error.otherHosts.first, let id = error.fileID else { return Words(error) }
        let others = error.otherHosts.map { TerminalText.escaped($0) }.joined(separator: ", ")
        return Words(
            "there is no delete token for \(id) of this host; \(id) belongs to \(others)",
            hint: "mediactl uploads delete \(id) --host \(TerminalText.escaped(other))"
        )
    }
}
