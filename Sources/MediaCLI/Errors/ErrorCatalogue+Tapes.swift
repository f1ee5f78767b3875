internal import Foundation
internal import MediaStore
internal import Tapes

extension ErrorCatalogue {
    /// Message, hint and exit code of what went wrong with a tape.
    static func diagnosis(of error: TapesError) -> Diagnosis {
        if error.code == .storeUnusable, let store = error.underlying as? StoreError {
            return diagnosis(of: store)
        }
        return Diagnosis(error, words(for: error), exitCode(of: error))
    }

    /// The exit code of each code, as in `docs/exit-codes.md`.
    static func exitCode(of code: TapesError.Code) -> ExitCode {
        switch code {
        case .tapeAmbiguous, .titleEmpty, .fileNotFound, .fileUnreadable, .notRegularFile, .emptyFile,
            .unknownMediaType, .trimTooLong, .notForThisKind, .outOfRange, .albumsOff, .nothingToExport,
            .programMissing, .targetUnusable:
            .usage
        case .libraryUnusable: .unauthorized
        case .tapeNotFound, .clipNotFound, .albumNotFound: .notFound
        case .albumTaken, .targetExists: .conflict
        case .storeUnusable, .diskFull: .store
        case .cancelled: .interrupt
        case .renderFailed, .internalError: .failure
        }
    }

    private static func exitCode(of error: TapesError) -> ExitCode {
        guard error.code == .libraryUnusable, let album = error.underlying as? AlbumError else {
            return exitCode(of: error.code)
        }
        return switch album.kind {
        case .unauthorized, .insufficient: .unauthorized
        case .albumMissing: .notFound
        case .libraryChanged: .conflict
        case .unreachable: .network
        case .rejected(let status): (status ?? 0) >= 500 ? .server : .failure
        case .quota, .albumDamaged: .failure
        case .cancelled: .interrupt
        }
    }

    private static func words(for error: TapesError) -> Words {
        switch error.code {
        case .tapeNotFound, .tapeAmbiguous, .clipNotFound, .titleEmpty: nameWords(for: error)
        case .fileNotFound, .fileUnreadable, .notRegularFile, .emptyFile, .unknownMediaType: fileWords(for: error)
        case .trimTooLong, .notForThisKind, .outOfRange: valueWords(for: error)
        case .albumNotFound, .albumsOff, .libraryUnusable, .albumTaken: albumWords(for: error)
        case .nothingToExport, .programMissing, .renderFailed, .targetExists, .targetUnusable, .diskFull:
            exportWords(for: error)
        case .storeUnusable: Words("the store cannot be used" + error.said)
        case .cancelled: .cancelled
        case .internalError: .internalError(error)
        }
    }

    // MARK: Names, files, values

    private static func nameWords(for error: TapesError) -> Words {
        let name = quoted(error.value ?? "")
        return switch error.code {
        case .tapeAmbiguous:
            Words(
                "\(name) may be any of \(error.candidates.count) tapes: "
                    + error.candidates.map { clean($0) }.joined(separator: ", "),
                hint: "name it by its id, or by the first 4 characters of that or more"
            )
        case .clipNotFound:
            Words(
                "there is no clip \(name) in the tape" + error.said,
                hint: "mediactl tapes show TAPE lists its clips; #1 is the first"
            )
        case .titleEmpty: Words("a title needs a character that can be seen")
        default: Words("there is no tape \(name)", hint: "mediactl tapes list shows them all")
        }
    }

    /// For originals that are not where the tape says.
    static let relinkingHint = "mediactl tapes relink TAPE --in DIR finds originals that were moved"

    private static func fileWords(for error: TapesError) -> Words {
        let file = error.file
        return switch error.code {
        case .fileNotFound:
            // One with the id of its clip is an original of a tape.
            .noSuchFile(
                error,
                hint: error.value == nil
                    ? "\(missingHint); --allow-missing adds it all the same" : relinkingHint
            )
        case .fileUnreadable: .unreadable(error)
        case .notRegularFile: Words("cannot use \(file): it is not a regular file")
        case .emptyFile: Words("cannot use \(file): it is empty")
        default: Words("\(file) is neither a picture nor a video\(error.said)")
        }
    }

    private static func valueWords(for error: TapesError) -> Words {
        switch error.code {
        case .trimTooLong: Words("the trims leave nothing of the clip" + error.said)
        case .notForThisKind: Words("that is not for a clip of this kind" + error.said)
        default: Words((error.value.map { quoted($0) + " " } ?? "the value ") + "is out of range" + error.said)
        }
    }

    // MARK: Albums and exports

    private static func albumWords(for error: TapesError) -> Words {
        switch error.code {
        case .albumNotFound: Words("there is no album \(quoted(error.value ?? "")) in the library" + error.said)
        case .albumsOff: Words("albums are switched off", hint: "set albums.enabled: true")
        case .albumTaken:
            Words(
                "the album \(quoted(error.value ?? "")) belongs to another tape" + error.said,
                hint: "unlink it there first: mediactl tapes album unlink TAPE"
            )
        default:
            Words(
                "the library cannot be used" + error.said,
                hint: error.value.flatMap(AssociationReason.init(rawValue:))?.hint
                    ?? "mediactl tapes library status says what is missing"
            )
        }
    }

    private static func exportWords(for error: TapesError) -> Words {
        let file = error.file
        return switch error.code {
        case .nothingToExport:
            Words("there is nothing in the tape to export", hint: "mediactl tapes add TAPE FILE adds clips")
        case .programMissing:
            Words(
                "ffmpeg is needed to render a tape and is not installed" + error.said,
                hint: "install ffmpeg with ffprobe, or leave --render out: playlists and timelines need no program"
            )
        case .targetExists:
            Words(
                "\(file) exists already; it was left as it is",
                hint: "choose another name, or replace it with --force"
            )
        case .targetUnusable: Words("cannot write \(file)" + error.said)
        case .diskFull: Words("no space left for \(file)", hint: "free some space; nothing of it was left behind")
        default:
            Words("ffmpeg could not render \(error.path.map { quoted($0) } ?? "the tape")" + error.said)
        }
    }
}
