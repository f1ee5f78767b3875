internal import Foundation
internal import GigHive
internal import MediaFiles

extension ErrorCatalogue {
    /// Message, hint and exit code of what a GigHive server, or the checks before it, said.
    static func diagnosis(of error: GigHiveError) -> Diagnosis {
        if error.code == .storeUnusable, let store = error.store {
            return diagnosis(of: store)
        }
        return Diagnosis(error, words(for: error), exitCode(of: error.code))
    }

    /// The exit code of each code, as in `docs/exit-codes.md`.
    static func exitCode(of code: GigHiveError.Code) -> ExitCode {
        switch code {
        case .invalidDetail, .fileNotFound, .fileUnreadable, .isDirectory, .notRegularFile, .emptyFile, .fileTooLarge,
            .unknownExtension, .badRequest, .payloadTooLarge, .unsupportedMedia, .termsNotAccepted,
            .filterUnavailable:
            .usage
        case .uploadInProgress, .locked, .notResumable: .conflict
        case .storeUnusable, .tokenNotStored: .store
        case .unauthorized, .forbidden, .invalidEventLink: .unauthorized
        case .notFound, .tusUnavailable, .uploadExpired: .notFound
        case .requestTimeout, .rateLimited, .unknownHost, .cannotConnect, .tlsFailed, .certificateUntrusted,
            .certificateNameMismatch, .pinnedKeyMismatch, .networkTimeout, .connectionLost, .outcomeUnknown:
            .network
        case .serverError, .unexpectedAnswer, .notDeleted, .otherFilesDeleted: .server
        case .checksumMismatch: .integrity
        case .sourceChanged: .sourceChanged
        case .tokenLost, .invalidDeleteToken, .noDeleteToken, .idReused: .deleteToken
        case .cancelled: .interrupt
        case .adminUnverified, .redirected, .internalError: .failure
        }
    }

    private static func words(for error: GigHiveError) -> Words {
        switch error.code {
        case .invalidDetail, .fileNotFound, .fileUnreadable, .isDirectory, .notRegularFile, .emptyFile, .fileTooLarge,
            .unknownExtension, .uploadInProgress, .storeUnusable, .sourceChanged:
            localWords(for: error)
        case .badRequest, .unauthorized, .forbidden, .notFound, .requestTimeout, .payloadTooLarge, .unsupportedMedia,
            .locked, .rateLimited, .serverError, .redirected, .unexpectedAnswer:
            answerWords(for: error)
        case .unknownHost, .cannotConnect, .tlsFailed, .certificateUntrusted, .certificateNameMismatch,
            .pinnedKeyMismatch, .networkTimeout, .connectionLost, .outcomeUnknown:
            networkWords(for: error)
        case .checksumMismatch, .tokenLost, .tokenNotStored, .invalidDeleteToken, .noDeleteToken, .idReused,
            .notDeleted, .otherFilesDeleted, .adminUnverified:
            tokenWords(for: error)
        case .filterUnavailable: filterWords(for: error)
        case .tusUnavailable, .uploadExpired, .notResumable: resumableWords(for: error)
        case .invalidEventLink, .termsNotAccepted: guestWords(for: error)
        case .cancelled: .cancelled
        case .internalError: .internalError(error)
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
        case .fileNotFound: .noSuchFile(error)
        case .fileUnreadable:
            // A link that leads nowhere, or a failing disk, is no matter of permissions.
            .unreadable(
                error,
                hint: error.detail.isEmpty || error.detail == "permission denied" ? "check its permissions" : nil
            )
        case .isDirectory:
            Words("cannot upload \(file): it is a directory", hint: "name the files in it, or add --recursive")
        case .notRegularFile:
            Words(
                "cannot upload \(file): it is not a regular file",
                hint: "to send a stream, use: mediactl upload - --stdin-name NAME"
            )
        case .emptyFile: Words("cannot upload \(file): it is empty")
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
        case .uploadInProgress:
            Words(
                "\(file) is being uploaded by another mediactl",
                hint: "wait for it; mediactl uploads status shows where it stands"
            )
        case .sourceChanged where error.value != nil:
            Words("\(file) has changed since its upload began", hint: "upload it anew, and \(discardHint(for: error))")
        case .sourceChanged:
            Words("\(file) changed while it was being sent", hint: "send it again when nothing writes to it")
        default: .storeUnusable(error)
        }
    }

    /// How to give up the upload that `error.value` names.
    private static func discardHint(for error: GigHiveError) -> String {
        "give the old upload up with: mediactl uploads discard \(clean(error.value ?? ""))"
    }

    private static func fieldName(_ field: String?) -> String {
        (field ?? "detail").replacing("_", with: " ")
    }

    // MARK: Resumable uploads and guests

    private static func resumableWords(for error: GigHiveError) -> Words {
        switch error.code {
        case .tusUnavailable:
            Words(
                "the server takes no resumable uploads\(error.said)",
                hint: "use --transport multipart; an event link cannot be used there"
            )
        case .uploadExpired:
            Words(
                "the server has forgotten what was sent of \(error.file)\(error.said)",
                hint: "send it again with mediactl upload"
            )
        default:
            Words(
                "cannot go on with \(error.path.map { quoted($0) } ?? "the upload")\(error.said)",
                hint: error.value == nil
                    ? "mediactl uploads status shows where uploads stand; mediactl upload sends the file as it is now"
                    : discardHint(for: error)
            )
        }
    }

    private static func guestWords(for error: GigHiveError) -> Words {
        error.code == .termsNotAccepted
            ? Words(
                "the organiser's terms are not accepted",
                hint: "read them at the event link, then add --accept-terms"
            )
            : Words(
                "the event link is not valid\(error.said)",
                hint: "ask the organiser for a new one; links expire and can be revoked"
            )
    }

    private static func filterWords(for error: GigHiveError) -> Words {
        let option = (error.field ?? "filter").replacing("_", with: "-")
        return Words(
            "cannot filter by --\(option)\(error.said)",
            hint: "leave --\(option) out and use other filters, for example --event-date and --org-name"
        )
    }

    // MARK: Answers

    private static func answerWords(for error: GigHiveError) -> Words {
        let status = error.status
        return switch error.code {
        case .badRequest: .refused(error)
        case .unauthorized:
            Words(
                "the server refused the login\(status): wrong password, or a user without this right",
                hint: "log in as uploader or admin, for example: --user uploader --password-file FILE"
            )
        case .forbidden: .forbidden(error, hint: loginHint(error.neededLogin))
        case .notFound:
            Words(
                "the server does not know this address or number\(status)\(error.said)",
                hint: "check --server; mediactl config show tells where it comes from"
            )
        case .requestTimeout:
            Words("the server waited too long for the body\(status)", hint: "try again, or raise --limit-rate")
        case .payloadTooLarge:
            Words(
                "the server refused the body as too large, or as malformed\(status)\(error.said)",
                hint: "servers like this one often take 1 GiB at most in one request"
            )
        case .unsupportedMedia: Words("the server does not take this kind of file\(status)\(error.said)")
        case .locked: Words("the server says it is locked\(status)\(error.said)", hint: "try again later")
        case .rateLimited:
            Words(
                "the server asks for fewer requests\(status)",
                hint: error.retryAfterSeconds.map { "try again in \(Formats.span(.seconds($0)))" } ?? "try again later"
            )
        case .redirected: .redirected(error)
        case .unexpectedAnswer: .unexpectedAnswer(error)
        default: .serverFailed(error)
        }
    }

    private static func loginHint(_ login: GigHiveError.NeededLogin?) -> String {
        switch login {
        case .uploader: "log in as uploader, or add --as-admin"
        case .admin: "only the administrator may do this; log in with --user admin"
        case nil: "log in as uploader or admin"
        }
    }

    // MARK: Integrity and tokens

    private static func tokenWords(for error: GigHiveError) -> Words {
        let number = error.fileID.map { "\($0)" } ?? "the file"
        return switch error.code {
        case .checksumMismatch:
            Words(
                "the server's copy differs from the source\(error.said)",
                hint: error.fileID.map { "delete the bad copy with: mediactl uploads delete \($0)" }
            )
        case .tokenLost:
            Words(
                "the file is on the server\(error.fileID.map { " as \($0)" } ?? ""), but its delete token is lost"
                    + error.said,
                hint: error.fileID.map { "an administrator can delete it: mediactl uploads delete \($0) --as-admin" }
                    ?? "ask the operator of the server for a deletion if it must go"
            )
        case .tokenNotStored:
            Words(
                "the file is on the server, but its delete token could not be stored\(error.said)",
                hint: error.rescuePath.map { unstoredTokenHint(for: error, path: $0) }
            )
        case .invalidDeleteToken:
            Words(
                "the server rejects the delete token of \(number)",
                hint: "the local entry was kept; drop it with --on-invalid-token remove"
            )
        case .noDeleteToken: noTokenWords(for: error, number: number)
        case .idReused:
            Words(
                "the server has another file with the id \(number); nothing was deleted\(error.said)",
                hint: error.fileID.map { "mediactl media show \($0)" }
            )
        case .adminUnverified:
            Words(
                "cannot make sure that \(number) is still the same file; nothing was deleted\(error.said)",
                hint: error.fileID.map { "mediactl media show \($0)" }
            )
        case .otherFilesDeleted:
            Words(
                "the server was asked to delete \(number) only, and reports something else\(error.said)",
                hint: "mediactl media list shows what is still on the server"
            )
        default: Words("the server did not delete \(number)\(error.said)", hint: "try again, or ask its operator")
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

    private static func noTokenWords(for error: GigHiveError, number: String) -> Words {
        guard let other = error.otherHosts.first, let id = error.fileID else {
            return Words(
                "there is no delete token for \(number) here",
                hint: error.fileID.map { "an administrator can delete it: mediactl uploads delete \($0) --as-admin" }
                    ?? "mediactl uploads list shows what there is"
            )
        }
        let others = error.otherHosts.map { TerminalText.escaped($0) }.joined(separator: ", ")
        return Words(
            "there is no delete token for \(id) of this host; \(id) belongs to \(others)",
            hint: "mediactl uploads delete \(id) --host \(TerminalText.escaped(other))"
        )
    }
}
