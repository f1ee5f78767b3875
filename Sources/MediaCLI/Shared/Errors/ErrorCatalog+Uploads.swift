internal import Foundation
internal import GigHive
internal import MediaCore
internal import MediaStore

extension GigHiveErrorFacts: CatalogedFacts {
    static var use: String { "upload" }
    var number: String { fileID.map { "\($0)" } ?? "the file" }

    static func userFacingError(of error: GigHiveError) -> UserFacingError {
        UserFacingError(error, ErrorCatalog.text(for: error))
    }
}

extension ErrorCatalog {
    /// The error for an upload and how to resume it; nil if there is no error. The server keeps the received bytes of a
    /// tus upload. With `isOneOfMany`, the hint also covers other uploads that may have failed the same way.
    static func userFacingError(of result: UploadResult, isOneOfMany: Bool = false) -> UserFacingError? {
        let result = result.values
        guard let error = result.error else { return nil }
        var userFacingError = userFacingError(of: error)
        guard result.transport == .tus, result.attempts > 0, let id = result.uploadID else { return userFacingError }
        switch error.code {
        case .serverError where refusedFlag(error) != nil, .badRequest:
            // Only a detail can be corrected, not a refused type or size.
            let flag = refusedFlag(error) ?? flag(for: error)
            let command = JournalSelection.resumption(of: id, isGuest: result.isGuest)
            userFacingError.hint = flag.map { "correct it and resume: \(command) \($0) TEXT" }
        case .rateLimited where error.isPendingLimit: break
        case .networkTimeout, .connectionLost, .cannotConnect, .unknownHost, .requestTimeout, .serverError, .locked,
            .rateLimited, .serverUnavailable:
            let command = JournalSelection.resumption(of: isOneOfMany ? "--all" : id, isGuest: result.isGuest)
            userFacingError.hint = "run the same command again" + (result.isResumable ? ", or: \(command)" : "")
        default: break
        }
        return userFacingError
    }

    /// The flag for a detail refused by the server (messages: gighive contract 2.5); nil for other refusals.
    private static func flag(for error: GigHiveError) -> String? {
        let named = error.field ?? DetailOptions.names.first { error.detail.lowercased().contains($0) }
        return named.map { "--" + $0.replacing("_", with: "-") }
    }

    /// nil if the table's message is sufficient.
    fileprivate static func text(for error: GigHiveError) -> Text? {
        // For an unavailable service or a size limit of a single request, a different transport may work.
        let hasAlternative = error.field == "transport"
        return switch error.code {
        case .loginRequired, .loginExpired: loginText(for: error)
        case .unauthorized where error.origin != nil: loginText(for: error)
        // Nothing was sent: there are no credentials for this server.
        case .unauthorized where error.httpStatus == nil && !error.detail.isEmpty:
            Text(foreign(error.detail), hint: nil)
        case .forbidden: .table(error, hint: loginHint(error.neededLogin))
        case .unknownOutcome where error.httpStatus.map { (300..<400).contains($0) } == true:
            Text(
                "the server redirects this request\(error.status); whether it has the file is unknown\(error.suffix)",
                hint: "redirects are not followed; to use that address, specify it with --server"
            )
        case .unknownOutcome where error.field == "deletion":
            Text(
                "whether the server has deleted \(error.number) is unknown\(error.status)\(error.suffix)",
                hint: "run the same command again"
            )
        // The server has the file.
        case .unknownOutcome where error.field == "event": .table(error, message: foreign(error.detail))
        // No query can determine the outcome.
        case .unknownOutcome where !error.isRetryable && error.path != nil && error.value != nil:
            .table(error, hint: discardHint(for: error))
        case .rateLimited where error.isPendingLimit:
            Text(
                "the server has five unfinished tus uploads\(error.status), and does not accept any more; it deletes "
                    + "them after 24 hours",
                hint: "retry in 24 hours; files below 1 GiB can be uploaded with --transport multipart"
            )
        case .rateLimited:
            .table(
                error,
                hint: error.retryAfterSeconds.map { "retry in \(Formats.span(.seconds($0)))" } ?? "retry later"
            )
        case .notResumable where error.field == "directory":
            Text(
                "cannot resume \(error.path.map { quoted($0) } ?? "the upload")\(error.suffix)",
                hint: "change to the directory of the upload, and run the same command again"
            )
        case .notResumable where error.field == "event_link":
            Text(
                "the upload\(error.path.map { " of " + quoted($0) } ?? "") requires its event link",
                hint: error.value.map { JournalSelection.resumption(of: clean($0), isGuest: true) }
                    ?? "run the same command again with --event-link-file FILE"
            )
        case .notResumable where error.field == "discard":
            Text(
                "cannot discard \(error.path.map { quoted($0) } ?? "the upload")\(error.suffix)",
                hint: error.fileID.map { "to delete the file from the server: mediactl uploads delete \($0)" }
            )
        case .notResumable:
            Text(
                "cannot resume \(error.path.map { quoted($0) } ?? "the upload")\(error.suffix)",
                hint: error.value == nil
                    ? "check with: mediactl uploads status; to upload the file as it is now, use mediactl upload"
                    : discardHint(for: error)
            )
        case .idReused, .adminUnverified: .table(error, hint: error.fileID.map { "mediactl media show \($0)" })
        case .filterUnavailable: filterText(for: error)
        case .refusedDuplicate where error.field == "event":
            Text(
                "the server refused the file, which it already has\(error.fileID.map { " as \($0)" } ?? "") outside any event",
                hint: "upload the file again after an administrator has deleted that copy"
            )
        case .refusedDuplicate:
            Text(
                "the server refused the file, which it already has\(error.fileID.map { " as \($0)" } ?? "") in another "
                    + "event, but not in this one\(error.suffix)",
                hint: error.fileID.map { "show the other copy with: mediactl media show \($0)" }
            )
        case .serverError where refusedFlag(error) != nil:
            .table(
                error,
                hint: refusedFlag(error).map { "change the value of \($0); the server always refuses this value" }
            )
        // Before anything is sent.
        case .invalidDetail:
            Text(
                "cannot use \(error.value.map { quoted($0) } ?? "this") as \(fieldName(error.field))\(error.suffix)",
                hint: error.field.map { "set it with --\($0.replacing("_", with: "-"))" }
            )
        case .fileNotFound where error.path.map(isAddress) == true:
            .table(error, hint: "specify the address of the server with --server URL")
        case .notRegularFile: .table(error, hint: "to send a stream, use: mediactl upload - --stdin-name NAME")
        case .fileTooLarge:
            Text(
                "cannot upload \(error.file): it is larger than the limit\(error.limit.map { " of \($0) bytes" } ?? "")",
                hint: "if this server accepts larger files, set max_bytes in its profile"
            )
        case .unknownExtension: .table(error, hint: "to upload it anyway, add --any-extension")
        case .sourceChanged where error.value != nil:
            Text(
                "\(error.file) changed since its upload started",
                hint: "upload it again, and \(discardHint(for: error))"
            )
        case .sourceChanged where error.fileID != nil:
            Text(
                "\(error.file) changed while it was being sent; the bytes sent are on the server as \(error.number)",
                hint: "send it again when no program is writing to it"
                    + (error.neededLogin == nil
                        ? ", and delete that copy with: mediactl uploads delete \(error.number)" : "")
            )
        // The connection.
        case .unknownHost, .cannotConnect:
            proxyHint(for: error).map { .table(error, hint: $0) }
        // Not a lost connection: an earlier process exited during an upload.
        case .connectionLost where error.path != nil:
            Text(
                "the upload was interrupted, and its event does not have the file",
                hint: "upload the file again with: \(uploadCommand(for: error))"
            )
        // The stored file and its token.
        case .checksumMismatch:
            Text(
                "the server's copy differs from the source\(error.suffix)",
                hint: badCopyHint(for: error)
            )
        case .tokenLost:
            Text(
                "the file is on the server\(error.fileID.map { " as \($0)" } ?? ""), but its delete token is lost"
                    + error.suffix,
                hint: error.fileID.map { "an administrator can delete it: mediactl uploads delete \($0) --as-admin" }
                    ?? "to have it deleted, contact the operator of the server"
            )
        case .tokenNotStored:
            .table(error, hint: error.rescuePath.map { unstoredTokenHint(for: error, path: $0) })
        case .noDeleteToken: noTokenText(for: error)
        // Limits set by the server.
        case .serverUnavailable where error.isOfTusServer:
            Text(
                "the tus server is unavailable\(error.status)\(error.suffix)",
                hint: hasAlternative
                    ? "use --transport auto or --transport multipart, or run the same command again later"
                    : "run the same command again when the tus server is available"
            )
        // PHP's limits (gighive contract, trap T23).
        case .payloadTooLarge where error.httpStatus == 500:
            Text(
                "the file exceeds the server's upload limit\(error.status): PHP upload_max_filesize or post_max_size",
                hint: hasAlternative
                    ? "upload it with --transport tus" : "ask the operator of the server to raise the limit"
            )
        case .payloadTooLarge where hasAlternative:
            .table(error, hint: "upload it with --transport \(error.isOfTusServer ? "multipart" : "tus")")
        default: nil
        }
    }

    private static func loginText(for error: GigHiveError) -> Text {
        var text = Text(error)
        guard let origin = error.origin else { return text }
        if error.code == .unauthorized { text.message = "login failed\(error.status)\(error.suffix)" }
        if error.code == .loginExpired, let time = error.expiredAt {
            text.message = clean("the login for \(origin) expired on \(RFC3339.text(seconds: time))")
        }
        text.hint = CredentialError.loginCommand(origin)
        return text
    }

    /// Users of other programs may pass the server's address as an argument.
    private static func isAddress(_ path: [UInt8]) -> Bool {
        path.starts(with: "http://".utf8) || path.starts(with: "https://".utf8)
    }

    /// The hint with the command that discards the upload in `error.value`.
    private static func discardHint(for error: GigHiveError) -> String {
        "discard the old upload with: mediactl uploads discard \(clean(error.value ?? ""))"
    }

    private static func fieldName(_ field: String?) -> String {
        (field ?? "detail").replacing("_", with: " ")
    }

    private static func filterText(for error: GigHiveError) -> Text {
        let option = (error.field ?? "filter").replacing("_", with: "-")
        return Text(
            "cannot filter by --\(option)\(error.suffix)",
            hint: "omit --\(option) and use other filters, for example --event-date and --org-name"
        )
    }

    // MARK: Responses and tokens

    /// The flag for a value that the server's database always refuses (gighive contract 2.1, trap T26); nil for
    /// failures that may be temporary.
    static func refusedFlag(_ error: GigHiveError) -> String? {
        let form =
            /(?:Data too long|Data truncated|Incorrect [a-z]+ value|Out of range value)[^']*.*for column '([^']+)'/
        guard error.code == .serverError, let match = error.detail.firstMatch(of: form) else { return nil }
        let column = String(match.1)
        let fields = ["event_date", "org_name", "event_type", "label", "keywords", "location", "rating", "notes"]
        // Participants are stored as rows with a name (current releases), and labels as song titles (D1 and D2, which
        // spell them in Latin letters: 78 Chinese characters can exceed 255).
        let aliases = ["name": "participants", "title": "label"]
        let field = aliases[column] ?? fields.first { $0 == column }
        return field.map { "--" + $0.replacing("_", with: "-") }
    }

    private static func loginHint(_ login: GigHiveErrorFacts.NeededLogin?) -> String {
        switch login {
        case .uploader: "log in as uploader, or add --as-admin"
        case .admin: "only the administrator can do this; log in with --user admin"
        case nil: "log in as uploader or admin"
        }
    }

    /// Without a delete token, only an administrator can delete the copy, and only by its digest.
    private static func badCopyHint(for error: GigHiveError) -> String? {
        guard let id = error.fileID else { return nil }
        guard error.neededLogin == .admin, let digest = error.value else {
            return "delete the bad copy with: mediactl uploads delete \(id)"
        }
        let command = "mediactl uploads delete \(id) --as-admin --sha256 \(clean(digest))"
        return "an administrator can delete the bad copy: \(command)"
    }

    private static func unstoredTokenHint(for error: GigHiveError, path: String) -> String {
        // If the store refused the token, it imports the token from the rescue file once it is usable again. Otherwise
        // the response itself lacks information that only the operator has.
        if error.store != nil {
            return "the response is stored in \(quoted(path)); free some space and run: mediactl uploads list"
        }
        return error.fileID == nil
            ? "the token is in \(quoted(path)); to get the file's ID, send its checksum to the operator of the server; then run: "
                + "mediactl uploads adopt \(ShellWord.quoted(path)) --file-id ID"
            : "the response is in \(quoted(path)); to have the file deleted, contact the operator of the server"
    }

    private static func noTokenText(for error: GigHiveError) -> Text {
        guard let id = error.fileID else { return Text(error) }
        if !error.removedHosts.isEmpty {
            let hosts = error.removedHosts.map { TerminalText.escaped($0) }.joined(separator: ", ")
            return Text(
                "no stored delete token for \(id): its entry on \(hosts) was removed, for example by a deletion",
                hint: "check whether the server still has the file: mediactl media show \(id)"
            )
        }
        guard !error.otherHosts.isEmpty else {
            return .table(error, hint: "an administrator can delete it: mediactl uploads delete \(id) --as-admin")
        }
        // On a different server, this ID identifies a different file, so commands that delete it are not suggested.
        let others = error.otherHosts.map { TerminalText.escaped($0) }.joined(separator: ", ")
        return Text(
            "no stored delete token for \(id) on this host; \(id) on \(others) is a different file",
            hint: "list the files of each host with: mediactl uploads list"
        )
    }
}
