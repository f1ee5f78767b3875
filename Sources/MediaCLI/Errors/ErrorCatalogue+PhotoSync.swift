internal import Foundation
internal import GigHive
internal import MediaFiles
internal import MediaTransport
internal import PhotoSync

extension ErrorCatalogue {
    /// Message, hint and exit code of what a photo server, or the checks around it, said.
    static func diagnosis(of error: PhotoSyncError) -> Diagnosis {
        if error.code == .storeUnusable, let store = error.store {
            return diagnosis(of: store)
        }
        if error.code == .transport, let transport = error.transport {
            return diagnosis(ofMissingAnswer: transport, isRetryable: error.isRetryable)
        }
        let words = words(for: error)
        return Diagnosis(
            error.code.rawValue,
            words.message,
            hint: words.hint,
            exitCode: exitCode(of: error.code),
            httpStatus: error.httpStatus,
            isRetryable: error.isRetryable
        )
    }

    /// The exit code of each code, as in `docs/exit-codes.md`.
    static func exitCode(of code: PhotoSyncError.Code) -> ExitCode {
        switch code {
        case .invalidDate, .fileNotFound, .fileUnreadable, .notRegularFile, .emptyFile, .fileTooLarge,
            .unknownExtension, .targetUnusable, .badRequest:
            .usage
        case .notLoggedIn, .noDevice, .invalidAPIKey, .forbidden, .invalidDevice: .unauthorized
        case .unknownPhoto, .neverSynchronized, .notFound: .notFound
        case .bodyTooSlow, .transport: .network
        case .setupRequired, .serverError, .keyNotRotated, .unexpectedAnswer, .stubServer, .listingIncomplete,
            .repeatedCursor, .ownershipDefect:
            .server
        case .checksumMismatch, .lengthMismatch: .integrity
        case .notOwned, .targetExists, .busy: .conflict
        case .storeUnusable: .store
        case .sourceChanged: .sourceChanged
        case .cancelled: .interrupt
        case .diskFull, .redirected, .internalError: .failure
        }
    }

    /// What a transport's failure is called and told is the same for all servers.
    static func diagnosis(ofMissingAnswer error: TransportError, isRetryable: Bool) -> Diagnosis {
        let code: GigHiveError.Code =
            switch error.kind {
            case .unknownHost: .unknownHost
            case .cannotConnect: .cannotConnect
            case .connectTimeout, .stalled, .answerTimeout: .networkTimeout
            case .connectionLost, .invalidAnswer, .repeatRefused: .connectionLost
            case .certificateUntrusted: .certificateUntrusted
            case .certificateNameMismatch: .certificateNameMismatch
            case .pinnedKeyMismatch: .pinnedKeyMismatch
            case .tls: .tlsFailed
            case .responseTooLarge: .unexpectedAnswer
            case .cancelled: .cancelled
            case .bodyUnreadable, .receiverFailed, .unusable: .internalError
            }
        return diagnosis(
            of: GigHiveError(code, detail: error.detail, httpStatus: error.head?.status, isRetryable: isRetryable)
        )
    }

    private static func words(for error: PhotoSyncError) -> Words {
        switch error.code {
        case .notLoggedIn, .noDevice, .invalidAPIKey, .forbidden, .invalidDevice, .keyNotRotated:
            accountWords(for: error)
        case .invalidDate, .fileNotFound, .fileUnreadable, .notRegularFile, .emptyFile, .fileTooLarge,
            .unknownExtension, .sourceChanged:
            fileWords(for: error)
        case .targetUnusable, .targetExists, .diskFull, .checksumMismatch, .lengthMismatch, .unknownPhoto:
            copyWords(for: error)
        case .badRequest, .bodyTooSlow, .notFound, .setupRequired, .serverError, .redirected, .unexpectedAnswer:
            answerWords(for: error)
        case .stubServer, .listingIncomplete, .repeatedCursor, .ownershipDefect, .notOwned: listingWords(for: error)
        case .storeUnusable:
            Words("the local store cannot be used" + detail(error), hint: "use another with --data-dir DIR")
        case .neverSynchronized:
            Words("nothing is known of this server's photos yet", hint: "run mediactl sync first")
        case .transport: Words("the network failed" + detail(error), hint: "try again")
        case .cancelled: Words("cancelled")
        case .busy where error.path != nil:
            Words(
                "another mediactl is writing to \(error.path.map { quoted($0) } ?? "the directory")",
                hint: "try again when it has ended"
            )
        case .busy:
            Words(
                "another mediactl is at work on this server's photos" + detail(error),
                hint: "try again when it has ended"
            )
        case .internalError: Words("internal error" + detail(error))
        }
    }

    // MARK: Keys and devices

    private static func accountWords(for error: PhotoSyncError) -> Words {
        let status = status(error)
        return switch error.code {
        case .notLoggedIn where error.httpStatus != nil:
            Words(
                "the server refused e-mail address or password\(status)\(detail(error))",
                hint: "check both; nothing was changed, and keys go on working"
            )
        case .notLoggedIn:
            Words(
                "not logged in" + (error.value.map { " to \(clean($0))" } ?? ""),
                hint: "run mediactl login, or give a key with --api-key-file FILE or MEDIACTL_API_KEY"
            )
        case .noDevice:
            Words("this machine is no device of the server yet", hint: "run mediactl login, which makes it one")
        case .invalidAPIKey:
            Words(
                "the server refused the API key\(status)\(detail(error))",
                hint: """
                    another login of the same user may have replaced the key, or the account is disabled; get a valid \
                    key and run mediactl login
                    """
            )
        case .forbidden:
            Words(
                "the server does not allow this\(status)\(detail(error))",
                hint: "the photo may belong to another user, or to nobody; mediactl sync status tells more"
            )
        case .invalidDevice:
            Words(
                "the server does not know this machine as a device of this user\(status)\(detail(error))",
                hint: "it may have been removed there; run mediactl login again"
            )
        default:
            Words(
                "the server could not give this user a new key\(status)\(detail(error))",
                hint: "the old key goes on working: log in with it, without --email"
            )
        }
    }

    // MARK: Files

    private static func fileWords(for error: PhotoSyncError) -> Words {
        let file = error.path.map { quoted($0) } ?? "the file"
        return switch error.code {
        case .invalidDate:
            Words(
                "\(error.value.map { quoted($0) } ?? "the date") of \(file) is no date that the server takes\(detail(error))"
            )
        case .fileNotFound: Words("cannot read \(file): no such file", hint: "check the spelling of the path")
        case .fileUnreadable: Words("cannot read \(file)\(detail(error, else: "permission denied"))")
        case .notRegularFile: Words("cannot send \(file): it is not a regular file")
        case .emptyFile: Words("cannot send \(file): it is empty")
        case .fileTooLarge:
            Words("cannot send \(file): it is larger than the limit\(error.limit.map { " of \($0) bytes" } ?? "")")
        case .unknownExtension: Words("cannot send \(file): the server takes no files with its extension")
        default: Words("\(file) changed while it was read or sent", hint: "push it again when nothing writes to it")
        }
    }

    // MARK: Copies

    private static func copyWords(for error: PhotoSyncError) -> Words {
        let file = error.path.map { quoted($0) } ?? "the file"
        return switch error.code {
        case .targetUnusable:
            Words("cannot write to \(file)\(detail(error))", hint: "check it, or name another directory with --to DIR")
        case .targetExists:
            Words("\(file) has appeared meanwhile; it was left as it is", hint: "run the same command again")
        case .diskFull: Words("no space left for \(file)", hint: "free some space and run the same command again")
        case .checksumMismatch:
            Words("\(photo(error)) does not have the bytes that were uploaded\(detail(error))", hint: retryHint)
        case .lengthMismatch: Words("\(photo(error)) did not arrive whole\(detail(error))", hint: retryHint)
        default:
            Words(
                "there is no \(photo(error)) in the index",
                hint: "mediactl sync list shows the ids; mediactl sync --full brings the index up to date"
            )
        }
    }

    private static let retryHint = "run the same command again; if it stays so, the server's copy is damaged"

    private static func photo(_ error: PhotoSyncError) -> String {
        error.photoID.map { "photo \(clean($0))" } ?? "photo"
    }

    // MARK: Answers

    private static func answerWords(for error: PhotoSyncError) -> Words {
        let status = status(error)
        return switch error.code {
        case .badRequest: Words("the server refused the request\(status)\(detail(error))")
        case .bodyTooSlow:
            Words(
                "the server gave up waiting for the body\(status)",
                hint: "it takes 30 seconds at most; use --jobs 1, raise --limit-rate, or a faster line"
            )
        case .notFound where error.photoID != nil:
            Words(
                "the server has no \(photo(error)) any more\(status)\(detail(error))",
                hint: "run mediactl sync --full"
            )
        case .notFound:
            Words(
                "the server does not know this address or photo\(status)\(detail(error))",
                hint: "check --server, or run mediactl sync --full"
            )
        case .setupRequired:
            Words(
                "the server has not been set up yet\(status)",
                hint: "its administrator must finish the setup\(setupPlace(error.value))"
            )
        case .redirected:
            Words(
                "the server sends this request elsewhere\(status)\(detail(error))",
                hint: "name the address it leads to with --server; nothing is sent to another address unasked"
            )
        case .unexpectedAnswer:
            Words(
                "the server's answer makes no sense\(status)\(detail(error))",
                hint: "check --server; a proxy may have answered, or it is no PhotoSync server"
            )
        default: Words("the server failed\(status)\(detail(error))", hint: "try again later, or ask its operator")
        }
    }

    /// Where the setup is done, when the server names a place of its own. An address elsewhere is not passed on.
    private static func setupPlace(_ value: String?) -> String {
        guard let value, value.hasPrefix("/"), !value.hasPrefix("//"), !value.contains("\\") else { return "" }
        return ", at \(clean(value)) of the same address"
    }

    // MARK: What the listing shows

    private static func listingWords(for error: PhotoSyncError) -> Words {
        switch error.code {
        case .stubServer:
            Words(
                "this server cannot list its photos page by page\(detail(error))",
                hint: "it runs without PostgreSQL; its operator must configure that"
            )
        case .listingIncomplete:
            Words(
                "the server's listing does not add up\(detail(error))",
                hint: "nothing was recorded as complete; run mediactl sync again later"
            )
        case .repeatedCursor:
            Words(
                "the server's listing goes round in circles\(detail(error))",
                hint: "nothing was recorded as complete; ask its operator"
            )
        case .ownershipDefect:
            Words(
                """
                this server does not record who sends a photo: what was sent is not yours there, and it deletes such \
                photos on its own
                """,
                hint: "do not delete any local original; ask its operator for a PhotoSync server without this defect"
            )
        default:
            Words(
                "the server has \(error.path.map { quoted($0) } ?? "these bytes"), but not as yours\(detail(error))",
                hint: "keep the local original; another user, or nobody, owns the photo there"
            )
        }
    }

    private static func status(_ error: PhotoSyncError) -> String { error.httpStatus.map { " (\($0))" } ?? "" }

    /// `: ` and what the server or the system said, when it said something.
    private static func detail(_ error: PhotoSyncError, else fallback: String? = nil) -> String {
        let text = error.detail.isEmpty ? fallback : clean(error.detail)
        return text.map { ": \($0)" } ?? ""
    }
}
