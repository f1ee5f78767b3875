internal import Foundation
internal import GigHive
internal import MediaTransport
internal import PhotoSync

extension ErrorCatalogue {
    static func diagnosis(of error: PhotoSyncError) -> Diagnosis {
        if error.code == .storeUnusable, let store = error.store {
            return diagnosis(of: store)
        }
        if error.code == .transport, let transport = error.transport {
            return diagnosis(ofMissingAnswer: transport, isRetryable: error.isRetryable)
        }
        return Diagnosis(error, words(for: error))
    }

    /// The message of the table, unless the error has more information than its code.
    private static func words(for error: PhotoSyncError) -> Words {
        switch error.code {
        case .notLoggedIn, .unauthorized, .forbidden: accountWords(for: error)
        case .invalidDate, .fileUnreadable, .fileTooLarge, .sourceChanged: fileWords(for: error)
        case .targetUnusable, .targetExists, .checksumMismatch, .lengthMismatch, .unknownPhoto: copyWords(for: error)
        case .notFound, .setupRequired, .unexpectedAnswer: answerWords(for: error)
        case .notOwned where error.path == nil:
            Words(
                "the server has this photo, but does not list it as yours\(error.said)",
                hint: "keep the local original; the photo on the server has another owner, or none"
            )
        case .busy:
            Words(busyMessage(error), hint: "retry when it has finished")
        case .neverSynchronized where error.value != nil:
            Words(unfinishedListing(error), hint: "finish it with: mediactl sync")
        default: Words(error)
        }
    }

    private static func busyMessage(_ error: PhotoSyncError) -> String {
        error.path.map { "another mediactl process is writing to \(quoted($0))" }
            ?? "another mediactl process is using this server's index\(error.said)"
    }

    private static func unfinishedListing(_ error: PhotoSyncError) -> String {
        "the first listing of this server is unfinished: \(clean(error.value ?? "0")) photos so far"
    }

    // MARK: Keys and devices

    private static func accountWords(for error: PhotoSyncError) -> Words {
        let status = error.status
        return switch error.code {
        case .notLoggedIn where error.httpStatus != nil:
            Words(
                "the server refused e-mail address or password\(status)\(error.said)",
                hint: "check both; nothing was changed, and existing keys still work"
            )
        case .notLoggedIn:
            Words(
                "not logged in" + (error.value.map { " to \(clean($0))" } ?? ""),
                hint: "run mediactl login, or set a key with --api-key-file FILE or MEDIACTL_API_KEY"
            )
        case .unauthorized:
            Words(
                "the server refused the API key\(status)\(error.said)",
                hint: """
                    another login of the same user may have replaced the key, or the account is disabled; get a valid \
                    key and run mediactl login
                    """
            )
        default:
            .table(error, hint: "the photo may have another owner, or none; details: mediactl sync status")
        }
    }

    // MARK: Files

    private static func fileWords(for error: PhotoSyncError) -> Words {
        let file = error.file
        return switch error.code {
        case .invalidDate:
            Words(
                "\(error.value.map { quoted($0) } ?? "the date") of \(file) is not a valid date\(error.said)"
            )
        case .fileUnreadable: .unreadable(error)
        case .fileTooLarge:
            Words("cannot send \(file): it is larger than the limit\(error.limit.map { " of \($0) bytes" } ?? "")")
        default: Words("\(file) changed while it was read or sent", hint: "push it again when it is no longer changing")
        }
    }

    // MARK: Copies

    private static func copyWords(for error: PhotoSyncError) -> Words {
        let file = error.file
        return switch error.code {
        case .targetUnusable:
            Words("cannot write to \(file)\(error.said)", hint: "check it, or specify another one with --output DIR")
        case .targetExists:
            Words("\(file) was created in the meantime; it was not changed", hint: "run the same command again")
        case .checksumMismatch:
            Words("\(photo(error)) does not have the bytes that were uploaded\(error.said)", hint: retryHint)
        case .lengthMismatch: Words("\(photo(error)) is incomplete\(error.said)", hint: retryHint)
        default:
            Words(
                "there is no \(photo(error)) in the index",
                hint: "mediactl sync list shows the IDs; mediactl sync --full updates the index"
            )
        }
    }

    private static let retryHint = "run the same command again; if this persists, the server's copy is damaged"

    private static func photo(_ error: PhotoSyncError) -> String {
        error.photoID.map { "photo \(clean($0))" } ?? "photo"
    }

    // MARK: Answers

    private static func answerWords(for error: PhotoSyncError) -> Words {
        let status = error.status
        return switch error.code {
        case .notFound where error.photoID != nil:
            Words(
                "the server no longer has \(photo(error))\(status)\(error.said)",
                hint: "run mediactl sync --full"
            )
        case .notFound:
            .table(error, message: "no such address on the server\(status)\(error.said)")
        case .setupRequired:
            Words(
                "the server has not been set up yet\(status)",
                hint: "its administrator must finish the setup\(setupPlace(error.value))"
            )
        default: .unexpectedAnswer(error, orElse: ", or it is not a PhotoSync server")
        }
    }

    /// Where the setup is done, if the server reports a path. An address on another host is not passed on.
    private static func setupPlace(_ value: String?) -> String {
        guard let value, value.hasPrefix("/"), !value.hasPrefix("//"), !value.contains("\\") else { return "" }
        return " at \(clean(value)) on the same host"
    }
}
