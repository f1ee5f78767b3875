internal import Foundation
internal import GigHive
internal import MediaTransport
internal import PhotoSync

extension PhotoSyncErrorFacts: CatalogedFacts {
    static var use: String { "send" }
    var number: String { photoID.map { "photo \(ErrorCatalog.clean($0))" } ?? "photo" }

    static func userFacingError(of error: PhotoSyncError) -> UserFacingError {
        UserFacingError(error, ErrorCatalog.text(for: error))
    }
}

extension ErrorCatalog {
    /// nil if the table's message is sufficient.
    fileprivate static func text(for error: PhotoSyncError) -> Text? {
        let (file, photo, status) = (error.file, error.number, error.status)
        return switch error.code {
        // Keys and devices.
        case .notLoggedIn where error.httpStatus != nil:
            Text(
                "wrong email address or password\(status)\(error.suffix)",
                hint: "nothing was changed, and existing keys still work"
            )
        case .notLoggedIn:
            .table(error, message: "not logged in" + (error.value.map { " to \(clean($0))" } ?? ""))
        case .unauthorized where error.needsPassword:
            Text(
                "not a PhotoSync server\(status): it requires a user name and password",
                hint: "this may be a GigHive server: use --user NAME with mediactl upload"
            )
        case .unauthorized:
            Text(
                "the server refused the API key\(status)\(error.suffix)",
                hint: """
                    another login by the same user may have replaced the key, or the account is disabled; get a valid \
                    key and run mediactl login
                    """
            )
        case .forbidden:
            .table(error, hint: "the photo may have another owner, or none; details: mediactl sync status")
        // Files.
        case .invalidDate:
            Text(
                "\(error.value.map { quoted($0) } ?? "the date") of \(file) is not a valid date\(error.suffix)"
            )
        case .isDirectory:
            Text("\(file) is a link to a directory, which is not followed", hint: "to upload its photos, specify it")
        case .fileTooLarge:
            Text("cannot send \(file): it is larger than the limit\(error.limit.map { " of \($0) bytes" } ?? "")")
        case .sourceChanged:
            Text("\(file) changed while it was being read or sent", hint: "push it again when it is no longer changing")
        // Copies.
        case .changedSinceUpload where !error.detail.isEmpty:
            Text(
                "\(file) differs from \(photo), and was kept",
                hint: "to download the photo under a different name: mediactl sync download "
                    + "\(error.photoID.map { ShellWord.quoted($0) } ?? "ID") --output DIR"
            )
        case .targetUnusable:
            Text(
                "cannot write to \(file)\(error.suffix)",
                hint: "check the path, or specify a different one with --output DIR"
            )
        case .targetExists:
            Text("\(file) was created in the meantime; it was not changed", hint: "run the same command again")
        case .checksumMismatch:
            Text("checksum mismatch for \(photo)\(error.suffix)", hint: retryHint)
        case .lengthMismatch: Text("\(photo) is incomplete\(error.suffix)", hint: retryHint)
        case .notOwned where error.path == nil:
            Text(
                "the server has this photo, but does not list it as yours\(error.suffix)",
                hint: "keep the local original; the photo on the server has another owner, or none"
            )
        case .busy:
            Text(
                error.path.map { "another mediactl process is writing to \(quoted($0))" }
                    ?? "another mediactl process is busy with this server\(error.suffix)",
                hint: "retry when it has finished"
            )
        case .neverSynchronized where error.value != nil:
            Text(
                "the first listing of this server is unfinished: \(clean(error.value ?? "0")) photos so far",
                hint: "finish it with: mediactl sync"
            )
        // Responses.
        case .notFound where error.photoID != nil:
            Text(
                "the server no longer has \(photo)\(status)\(error.suffix)",
                hint: "run mediactl sync --full"
            )
        case .payloadTooLarge:
            .table(
                error,
                hint: "a proxy in front of the server may limit the size of requests; photos can be up to 50 MiB"
            )
        case .setupRequired:
            .table(error, hint: "its administrator must finish the setup\(setupPlace(error.value))")
        case .unexpectedResponse: .unexpectedResponse(error, orElse: ", or it is not a PhotoSync server")
        default: nil
        }
    }

    private static let retryHint = "run the same command again; if this persists, the server's copy is damaged"

    /// The location of the setup page, if the server reports a path. An address on a different host is not shown.
    private static func setupPlace(_ value: String?) -> String {
        guard let value, value.hasPrefix("/"), !value.hasPrefix("//"), !value.contains("\\") else { return "" }
        return " at \(clean(value)) on the same host"
    }
}
