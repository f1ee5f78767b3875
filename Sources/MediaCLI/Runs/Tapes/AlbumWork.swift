internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import Tapes

/// The album part of a command that is about a tape: trouble with it becomes one warning, never a failure (rule R9).
struct AlbumWork: Sendable {
    let console: Console
    let service: AlbumService
    let display: RunDisplay<TapeReading>

    /// Runs work on an album, which a signal ends.
    ///
    /// - Returns: nil when it was ended; what the library has confirmed is kept.
    /// - Throws: `TapesError` when the store cannot be used.
    func run(
        _ body: @escaping @Sendable (AlbumService) async throws(TapesError) -> AlbumOutcome
    ) async throws -> AlbumOutcome? {
        do {
            let outcome = try await display.during {
                try await console.context.interruption.cancelling { [service] in try await body(service) }
            }
            if let note = outcome.noteOfChange { console.note(note) }
            return outcome
        } catch let error as TapesError where error.code == .cancelled {
            return nil
        }
    }
}

extension AlbumOutcome {
    /// That the tape has an album elsewhere as well: the settings may have led to another library unnoticed.
    var noteOfChange: String? {
        guard let formerLink, let link else { return nil }
        let title = ErrorCatalogue.quoted(formerLink.titleAtCreation)
        return "the album \(title) in \(formerLink.libraryPlace) stays; a new one was made in \(link.libraryPlace)"
    }

    /// Whether the album has everything that it is to have, or is not to be looked after.
    var isComplete: Bool { state == .associated || state == .skipped }
}

extension AlbumLink {
    /// The root of a folder, or the address of a server: what the user has chosen.
    fileprivate var libraryPlace: String {
        if let hint, let slash = hint.lastIndex(of: UInt8(ascii: "/")) {
            return TerminalText.escaped(Array(hint[..<slash]))
        }
        return ErrorCatalogue.clean(libraryID.split(separator: "#").first.map(String.init) ?? libraryID)
    }
}
