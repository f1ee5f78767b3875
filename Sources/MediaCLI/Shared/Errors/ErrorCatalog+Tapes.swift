internal import Foundation
internal import MediaFiles
internal import MediaStore
internal import Outcomes
internal import Tapes

extension TapesErrorFacts: CatalogedFacts {
    /// Adds the facts of the library's error.
    static func userFacingError(of error: TapesError) -> UserFacingError {
        if error.code == .clipUndecodable, let found = error.underlying as? UndecodableClips {
            return ErrorCatalog.userFacingError(of: found, error)
        }
        var error = error
        if let album = error.album {
            if error.detail.isEmpty { error.detail = album.detail }
            error.httpStatus = album.httpStatus
            error.isRetryable = album.isRetryable
        }
        return UserFacingError(error, ErrorCatalog.text(for: error), exitCode: ErrorCatalog.libraryExitCode(of: error))
    }
}

extension TapesError {
    fileprivate var album: AlbumError? { self.underlying as? AlbumError }
}

extension AlbumError {
    fileprivate var isRetryable: Bool {
        guard case .unreachable = kind else { return false }
        return httpStatus.map { OutcomeTable.outcome(of: $0, from: .immich).isRetryable } ?? true
    }
}

extension ErrorCatalog {
    /// Lists every clip: `#2 "/p/a.heic": Invalid data found when processing input`.
    fileprivate static func userFacingError(of found: UndecodableClips, _ error: TapesError) -> UserFacingError {
        let count = Formats.count(found.checkedCount, "clip")
        var userFacingError = UserFacingError(
            error,
            Text("the installed ffmpeg cannot decode \(found.clips.count) of \(count)")
        )
        userFacingError.details = found.clips.map { clip in
            // ffmpeg's message starts with the file name.
            let name = String(decoding: clip.path.nameOfPath, as: UTF8.self) + ": "
            let detail = clip.detail.hasPrefix(name) ? String(clip.detail.dropFirst(name.count)) : clip.detail
            return "#\(clip.number) \(quoted(clip.path)): \(clean(detail))"
        }
        userFacingError.hint = found.clips.lazy.compactMap { conversion(of: $0.path) }.first ?? error.code.hint
        return userFacingError
    }

    /// The command that converts an HEIC or AVIF photo; nil for other files.
    private static func conversion(of path: [UInt8]) -> String? {
        guard let path = String(validating: path, as: UTF8.self) else { return nil }
        let type = MediaType.pathExtension(of: path)
        guard ["heic", "heif", "hif", "avif"].contains(type.lowercased()) else { return nil }
        let (photo, copy) = (ShellWord.quoted(path), ShellWord.quoted(path.dropLast(type.count) + "jpg"))
        return "heif-convert \(photo) \(copy) creates a JPEG (Debian: libheif-examples); "
            + "then add the JPEG and remove the clip"
    }

    /// The exit code for the library's status or failure; nil to use the exit code in the table.
    fileprivate static func libraryExitCode(of error: TapesError) -> ExitCode? {
        guard error.code == .libraryUnusable else { return nil }
        guard let album = error.underlying as? AlbumError else { return reason(of: error)?.exitCode }
        return switch album.kind {
        case .albumMissing: .notFound
        case .libraryChanged: .conflict
        case .quota, .albumDamaged, .tooLarge: .failure
        case .unsupported: .server
        case .cancelled: .interrupt
        case .unauthorized, .insufficient: .unauthorized
        case .unreachable: album.httpStatus.map { exitCode(ofStatus: $0) } ?? .network
        case .rejected(let status): status.map { exitCode(ofStatus: $0) } ?? .failure
        }
    }

    private static func reason(of error: TapesError) -> AssociationReason? {
        error.value.flatMap(AssociationReason.init(rawValue:))
    }

    private static func exitCode(ofStatus status: Int) -> ExitCode {
        ExitCode(OutcomeTable.outcome(of: status, from: .immich).code)
    }

    /// The table's message, unless the error has more details than its code.
    fileprivate static func text(for error: TapesError) -> Text {
        switch error.code {
        case .tapeAmbiguous:
            Text(
                "\(quoted(error.value ?? "")) matches \(error.candidates.count) tapes: "
                    + error.candidates.map { clean($0) }.joined(separator: ", "),
                hint: "specify its ID, or at least the first 4 characters of it"
            )
        case .fileNotFound:
            // If the error has the ID of a clip, the file is the original of a clip in a tape.
            .table(
                error,
                hint: error.value == nil ? "\(missingHint); --allow-missing adds it anyway" : relinkingHint
            )
        case .libraryUnusable:
            .table(
                error,
                hint: error.album?.obstacle?.hint ?? reason(of: error)?.hint
                    ?? "mediactl tapes library status shows what is missing"
            )
        case .trimTooLong where error.path != nil:
            Text(
                "the trim range exceeds the length of \(error.file)" + error.suffix,
                hint: replacedHint
            )
        case .renderFailed where error.path != nil: Text("ffmpeg could not render \(error.file)" + error.suffix)
        case .targetExists: .table(error, hint: "choose another name, or replace it with --force")
        case .targetUnusable: Text("cannot write \(error.file)" + error.suffix)
        case .diskFull: .table(error, hint: "free some space; the incomplete file was removed")
        case .storeUnusable: Text("the store cannot be used" + error.suffix)
        default: Text(error)
        }
    }

    /// For originals that are shorter or longer than when they were added.
    static let replacedHint =
        "if it was replaced by a different file, find the original with: mediactl tapes relink TAPE --changed --in DIR"

    /// For originals that are missing at their stored path.
    static let relinkingHint = "find moved originals with: mediactl tapes relink TAPE --in DIR"
}
