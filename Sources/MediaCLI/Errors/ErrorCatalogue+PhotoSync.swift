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
        return Diagnosis(error, words(for: error), exitCode(of: error.code))
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
        case .storeUnusable: .storeUnusable(error)
        case .neverSynchronized:
            Words("nothing is known of this server's photos yet", hint: "run mediactl sync first")
        case .transport: Words("the network failed" + error.said, hint: "try again")
        case .cancelled: .cancelled
        case .busy where error.path != nil:
            Words(
                "another mediactl is writing to \(error.path.map { quoted($0) } ?? "the directory")",
                hint: "try again when it has ended"
            )
        case .busy:
            Words(
                "another mediactl is at work on this server's photos" + error.said,
                hint: "try again when it has ended"
            )
        case .internalError: .internalError(error)
        }
    }

    // MARK: Keys and devices

    private static func accountWords(for error: PhotoSyncError) -> Words {
        let status = error.status
        return switch error.code {
        case .notLoggedIn where error.httpStatus != nil:
            Words(
                "the server refused e-mail address or password\(status)\(error.said)",
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
                "the server refused the API key\(status)\(error.said)",
                hint: """
                    another login of the same user may have replaced the key, or the account is disabled; get a valid \
                    key and run mediactl login
                    """
            )
        case .forbidden:
            .forbidden(
                error,
                hint: "the photo may belong to another user, or to nobody; mediactl sync status tells more"
            )
        case .invalidDevice:
            Words(
                "the server does not know this machine as a device of this user\(status)\(error.said)",
                hint: "it may have been removed there; run mediactl login again"
            )
        default:
            Words(
                "the server could not give this user a new key\(status)\(error.said)",
                hint: "the old key goes on working: log in with it, without --email"
            )
        }
    }

    // MARK: Files

    private static func fileWords(for error: PhotoSyncError) -> Words {
        let file = error.file
        return switch error.code {
        case .invalidDate:
            Words(
                "\(error.value.map { quoted($0) } ?? "the date") of \(file) is no date that the server takes\(error.said)"
            )
        case .fileNotFound: .noSuchFile(error)
        case .fileUnreadable: .unreadable(error)
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
        let file = error.file
        return switch error.code {
        case .targetUnusable:
            Words("cannot write to \(file)\(error.said)", hint: "check it, or name another directory with --to DIR")
        case .targetExists:
            Words("\(file) has appeared meanwhile; it was left as it is", hint: "run the same command again")
        case .diskFull: Words("no space left for \(file)", hint: "free some space and run the same command again")
        case .checksumMismatch:
            Words("\(photo(error)) does not have the bytes that were uploaded\(error.said)", hint: retryHint)
        case .lengthMismatch: Words("\(photo(error)) did not arrive whole\(error.said)", hint: retryHint)
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
        let status = error.status
        return switch error.code {
        case .badRequest: .refused(error)
        case .bodyTooSlow:
            Words(
                "the server gave up waiting for the body\(status)",
                hint: "it takes 30 seconds at most; use --jobs 1, raise --limit-rate, or a faster line"
            )
        case .notFound where error.photoID != nil:
            Words(
                "the server has no \(photo(error)) any more\(status)\(error.said)",
                hint: "run mediactl sync --full"
            )
        case .notFound:
            Words(
                "the server does not know this address or photo\(status)\(error.said)",
                hint: "check --server, or run mediactl sync --full"
            )
        case .setupRequired:
            Words(
                "the server has not been set up yet\(status)",
                hint: "its administrator must finish the setup\(setupPlace(error.value))"
            )
        case .redirected: .redirected(error)
        case .unexpectedAnswer: .unexpectedAnswer(error, orElse: ", or it is no PhotoSync server")
        default: .serverFailed(error)
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
                "this server cannot list its photos page by page\(error.said)",
                hint: "it runs without PostgreSQL; its operator must configure that"
            )
        case .listingIncomplete:
            Words(
                "the server's listing does not add up\(error.said)",
                hint: "nothing was recorded as complete; run mediactl sync again later"
            )
        case .repeatedCursor:
            Words(
                "the server's listing goes round in circles\(error.said)",
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
                "the server has \(error.path.map { quoted($0) } ?? "these bytes"), but not as yours\(error.said)",
                hint: "keep the local original; another user, or nobody, owns the photo there"
            )
        }
    }
}
