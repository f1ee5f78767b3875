internal import Foundation
internal import MediaStore
internal import Outcomes
internal import Tapes

extension ErrorCatalogue {
    static func diagnosis(of error: TapesError) -> Diagnosis {
        if error.code == .storeUnusable, let store = error.underlying as? StoreError {
            return diagnosis(of: store)
        }
        return Diagnosis(error, words(for: error), exitCode: libraryExitCode(of: error))
    }

    /// The exit code for the library's status or failure; nil if the error is not about the library.
    private static func libraryExitCode(of error: TapesError) -> ExitCode? {
        guard error.code == .libraryUnusable, let album = error.underlying as? AlbumError else { return nil }
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

    private static func exitCode(ofStatus status: Int) -> ExitCode {
        ExitCode(OutcomeTable.outcome(of: status, from: .immich).code)
    }

    /// The message of the table, unless the error has more information than its code.
    private static func words(for error: TapesError) -> Words {
        switch error.code {
        case .tapeAmbiguous:
            Words(
                "\(quoted(error.value ?? "")) matches \(error.candidates.count) tapes: "
                    + error.candidates.map { clean($0) }.joined(separator: ", "),
                hint: "name it by its id, or by the first 4 characters of that or more"
            )
        case .fileNotFound:
            // With the ID of its clip, the file is an original of a tape.
            .table(
                error,
                hint: error.value == nil ? "\(missingHint); --allow-missing adds it anyway" : relinkingHint
            )
        case .fileUnreadable: .unreadable(error)
        case .libraryUnusable:
            .table(
                error,
                hint: error.value.flatMap(AssociationReason.init(rawValue:))?.hint
                    ?? "mediactl tapes library status shows what is missing"
            )
        case .renderFailed where error.path != nil: Words("ffmpeg could not render \(error.file)" + error.said)
        case .targetExists: .table(error, hint: "choose another name, or replace it with --force")
        case .targetUnusable: Words("cannot write \(error.file)" + error.said)
        case .diskFull: .table(error, hint: "free some space; the incomplete file was removed")
        case .storeUnusable: Words("the store cannot be used" + error.said)
        default: Words(error)
        }
    }

    /// For originals that are missing at their stored path.
    static let relinkingHint = "find moved originals with: mediactl tapes relink TAPE --in DIR"
}
