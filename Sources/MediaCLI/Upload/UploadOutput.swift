internal import GigHive
internal import MediaCore
internal import MediaStore

extension TextRenderer {
    /// The result of one upload on standard output: the headline, then the details. Failures go to standard error.
    ///
    /// With `namesServer`, the command that deletes the file includes `--server`: without it, the command could use a
    /// different server, or no credentials from the environment.
    static func upload(_ result: UploadResult, style: Style, namesServer: Bool = false) -> [String] {
        headline(of: result, style).map { [$0] + details(of: result.values, namesServer) } ?? []
    }

    /// The first line; nil if nothing is written to standard output.
    static func headline(of result: UploadResult, _ style: Style) -> String? {
        let result = result.values
        let isStandardInput = result.path == Array("-".utf8)
        let name = isStandardInput ? TerminalText.escaped(result.fileName) : TerminalText.escaped(result.path)
        let number = result.fileID.map { " as \($0)" } ?? ""
        return switch result.state {
        // The state comes from an earlier command, which has reported it.
        case _ where result.error?.code == .notResumable: nil
        case .done:
            "\(style.green("uploaded")) \(name)\(number) (\(Formats.bytes(result.sizeBytes)), "
                + (result.isVerified == true ? "checksum matches)" : "checksum not compared)")
        case .linked:
            "\(style.green("linked")) \(name)\(number) (the server already had the file; added to \(event(of: result)))"
        // Whether the organizer has kept the file cannot be queried.
        case .duplicate where result.warnings.contains(.guestReceiptLost):
            "\(name): uploaded earlier; use --again to upload it again"
        case .duplicate: "\(name): already in this event\(number)"
        case .planned where result.error == nil:
            "\(name): would be uploaded to \(TerminalText.escaped(result.server)) (\(Formats.bytes(result.sizeBytes)))"
        case .cancelled where result.isCanceled: "\(name): canceled"
        default: nil
        }
    }

    private static func details(of result: UploadResult.Values, _ namesServer: Bool) -> [String] {
        switch result.state {
        case .duplicate where result.warnings.contains(.guestReceiptLost): return []
        case .done, .linked, .duplicate: return address(of: result) + deletion(of: result, namesServer)
        case .planned: return plan(of: result)
        case .cancelled:
            let next = result.transport == .tus && result.attempts > 0 ? result.uploadID : nil
            let command = next.map { JournalSelection.resumption(of: $0, isGuest: result.isGuest) }
            return command.map { ["  resume with: \($0)"] } ?? []
        default: return []
        }
    }

    private static func event(of result: UploadResult.Values) -> String {
        guard let details = result.details else { return "the event" }
        return "the event of \(TerminalText.escaped(details.orgName)), \(TerminalText.escaped(details.eventDate))"
    }

    /// The details that would be sent, and the transport.
    private static func plan(of result: UploadResult.Values) -> [String] {
        guard let details = result.details else { return [] }
        let event = [details.eventDate, details.orgName, details.eventType].map { TerminalText.escaped($0) }
        let way = result.plannedTransport.map { ["  transport: \($0.transport.rawValue) (\($0.reason))"] } ?? []
        return ["  label: \(TerminalText.escaped(details.label))", "  event: \(event.joined(separator: ", "))"] + way
    }

    private static func address(of result: UploadResult.Values) -> [String] {
        result.mediaURL.map { ["  \(TerminalText.escaped($0))"] } ?? []
    }

    private static func deletion(of result: UploadResult.Values, _ namesServer: Bool) -> [String] {
        guard result.guest == nil else {
            return switch (result.guestState, result.fileID) {
            case (.approved?, let id?): ["  approved by the organizer; to remove it: mediactl uploads delete \(id)"]
            case (.approved?, nil): ["  approved by the organizer"]
            case (.hidden?, _): ["  hidden by you; the server keeps the file"]
            case (.rejected?, _): ["  rejected by the organizer"]
            case (.pending?, _), (.expired?, _), (nil, _):
                ["  it is shown once the organizer approves it; to check: mediactl uploads status"]
            }
        }
        guard let id = result.fileID else { return [] }
        let server = namesServer ? " --server \(TerminalText.escaped(result.server))" : ""
        if result.isTokenlessByDesign, result.warnings.contains(.noDeleteToken) {
            return [
                "  no delete token; an administrator can delete it: mediactl uploads delete \(id) --as-admin\(server)"
            ]
        }
        guard result.hasDeleteToken || result.isDeletableDuplicate else { return [] }
        return ["  to delete: mediactl uploads delete \(id)\(server)"]
    }

    static func warning(_ warning: UploadWarning) -> String {
        switch warning {
        case .notVerified: "the server did not send a checksum, so its copy could not be verified"
        case .noDeleteToken: "the server did not send a delete token"
        case .oddToken: "the delete token has an unexpected format; it was stored unchanged"
        case .unusableToken(let path):
            "the server sent an invalid delete token"
                + (path.map { "; the response is stored in \(ErrorCatalog.quoted($0))" } ?? "")
        case .tokenKept(let path):
            "a delete token is stored in \(ErrorCatalog.quoted(path)); "
                + "to adopt it: mediactl uploads adopt \(ShellWord.quoted(path))"
        case .responseKept:
            "a response that could not be read completely may contain a delete token; "
                + "to list it: mediactl uploads responses"
        case .tokenLostEarlier: "it was uploaded from this machine earlier, but its delete token was lost"
        case .tokenMayBeLost:
            "an attempt from this machine may have stored the file; its delete token is then lost"
        case .respondedInHTML: "the server responded with an HTML page; the result was read from it"
        case .rescued(let uploadID, let fileID):
            "stored the delete token of \(fileID) from an interrupted upload (\(TerminalText.escaped(uploadID)))"
        case .aboveDirectLimit: "the file is larger than 1 GiB; the server will probably refuse it"
        case .detailsIgnored(let names):
            "the server ignores these details of uploads over tus: \(names.joined(separator: ", "))"
        case .keptByServer(let date):
            "the server cannot delete unfinished uploads: it keeps the data, and the upload occupies one of the five slots "
                + "for unfinished uploads, \(date.map { "until \(Formats.timestamp($0))" } ?? "for 24 hours after its start")"
        case .guestReceiptLost:
            "the file is stored, but the response with its receipt was lost: the upload cannot be tracked or hidden "
                + "from this machine"
        case .typeMismatch(let declared, let sniffed):
            "the extension is \(TerminalText.escaped(declared)), but the content is \(TerminalText.escaped(sniffed))"
        }
    }
}

extension PlannedTransport {
    var reason: String {
        switch self {
        case .multipartAsSet, .tusAsSet: "set with --transport or in the settings"
        case .multipartForSize: "smaller than 64 MiB"
        case .tusForSize:
            "64 MiB or larger; multipart if the server does not support tus, or does not issue delete tokens with it"
        case .tusForGuest: "event links require tus"
        }
    }
}

extension JSONRenderer {
    /// `userFacingError` replaces the error of the result.
    static func upload(_ result: UploadResult, contact: String, userFacingError: UserFacingError? = nil) -> JSONObject {
        [
            "path": .path(result.path), "upload_id": JSONValue(result.uploadID),
            "state": .string(result.state.rawValue), "server": .string(result.server),
            "file_id": JSONValue(result.fileID), "file_name": .string(result.fileName),
            "file_type": JSONValue(result.fileType), "size_bytes": size(result),
            "checksum_sha256": JSONValue(result.checksumSHA256), "verified": JSONValue(result.isVerified),
            "has_delete_token": .bool(result.hasDeleteToken), "deletable_duplicate": .bool(result.isDeletableDuplicate),
            "media_url": JSONValue(result.mediaURL),
        ] + event(of: result) + [
            "http_status": JSONValue(result.httpStatus),
            "bytes_sent": .integer(result.bytesSent), "duration_ms": .integer(Formats.milliseconds(result.duration)),
            "attempts": JSONValue(result.attempts), "resumed": .bool(result.isResumed),
            "skipped": .bool(result.isSkipped), "transport": transport(of: result),
            "planned_transport": JSONValue(result.plannedTransport?.transport.rawValue),
            "transport_reason": JSONValue(result.plannedTransport?.reason),
            "guest_job_id": JSONValue(result.guest?.jobID),
            "warnings": .array(result.warnings.map { warning($0, contact: contact) }),
            "exit_code": .exitCode(result.exitCode),
            "error": .error(userFacingError ?? ErrorCatalog.userFacingError(of: result)),
        ]
    }

    /// The details that the server stored; before its response, the details that were sent.
    private static func event(of result: UploadResult) -> JSONObject {
        let (stored, details) = (result.stored, result.details)
        let sent = stored == nil ? details : nil
        return [
            "event_date": JSONValue(stored?.eventDate ?? details?.eventDate),
            "org_name": JSONValue(stored?.orgName ?? details?.orgName),
            "event_type": JSONValue(stored?.eventType ?? details?.eventType),
            "label": JSONValue(stored?.label ?? details?.label), "event_id": JSONValue(stored?.eventID),
            "position": JSONValue(stored?.position), "mime_type": JSONValue(stored?.mimeType),
            "duration_seconds": JSONValue(stored?.durationSeconds),
            "participants": JSONValue(stored?.participants ?? sent?.participants),
            "keywords": JSONValue(stored?.keywords ?? sent?.keywords),
        ]
    }

    /// `null` for a file that was not uploaded.
    static func transport(of result: UploadResult) -> JSONValue {
        result.attempts > 0 ? .string(result.transport.rawValue) : .null
    }

    /// `null` for a file that was refused before its length was known. The length of an empty file, which is also
    /// refused, is known.
    private static func size(_ result: UploadResult) -> JSONValue {
        let isKnown = result.sizeBytes > 0 || result.error?.code == .emptyFile
        return isKnown ? .integer(result.sizeBytes) : .null
    }

    private static func warning(_ warning: UploadWarning, contact: String) -> JSONValue {
        let message =
            warning == .noDeleteToken ? NoTokenMessage(contact: contact).sentence : TextRenderer.warning(warning)
        return .object(["code": .string(warning.code), "message": .string(message)])
    }
}

extension UploadResult {
    /// The exit code for this upload alone.
    var exitCode: ExitCode { values.exitCode }
}

extension UploadResult.Values {
    /// Whether this run was canceled. A run that could not resume an upload keeps the state from an earlier run.
    var isCanceled: Bool { self.state == .cancelled && (self.error == nil || self.error?.code == .cancelled) }

    var exitCode: ExitCode {
        if let error = self.error {
            return ExitCode(error.code)
        }
        return switch self.state {
        case .planned, .done, .linked, .duplicate: .success
        case .refusedDuplicate: .conflict
        case .sending, .sent, .finalized, .unknownOutcome: .network
        case .tokenLost: .deleteToken
        case .cancelled: .interrupt
        case .failed: .failure
        }
    }
}

extension UploadWarning {
    var code: String {
        switch self {
        case .notVerified: "not_verified"
        case .noDeleteToken: "no_delete_token"
        case .oddToken: "odd_token"
        case .unusableToken: "unusable_token"
        case .tokenKept: "token_kept"
        case .responseKept: "response_kept"
        case .tokenLostEarlier: "token_lost_earlier"
        case .tokenMayBeLost: "token_may_be_lost"
        case .respondedInHTML: "answered_in_html"
        case .rescued: "rescued"
        case .aboveDirectLimit: "above_direct_limit"
        case .typeMismatch: "type_mismatch"
        case .detailsIgnored: "details_ignored"
        case .keptByServer: "kept_by_server"
        case .guestReceiptLost: "guest_receipt_lost"
        }
    }
}

/// The message for an upload that succeeded without a delete token.
struct NoTokenMessage: Sendable {
    var contact: String

    /// The required sentence, with the contact from the settings.
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
