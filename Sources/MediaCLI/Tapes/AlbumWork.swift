internal import MediaCore
internal import MediaStore
internal import Tapes

extension RunDisplay<TapeReading> {
    /// Runs the album part of a command about a tape: a failure becomes one warning, never an error (rule R9). Returns
    /// nil if a signal stopped the work; what the library has confirmed is kept.
    ///
    /// - Throws: `TapesError` if the store cannot be used.
    func albumWork(_ body: @escaping @Sendable () async throws -> AlbumOutcome) async throws -> AlbumOutcome? {
        do {
            let outcome = try await during { try await console.context.interruption.canceling(body) }
            if let note = outcome.noteOfChange { console.note(note) }
            return outcome
        } catch let error as TapesError where error.code == .cancelled {
            return nil
        }
    }
}

extension AlbumOutcome {
    /// Reports that the tape also has an album in a different library: the settings may have changed unintentionally.
    var noteOfChange: String? {
        guard let formerLink, let link else { return nil }
        let title = ErrorCatalog.quoted(formerLink.titleAtCreation)
        return "the album \(title) in \(formerLink.libraryPlace) is kept; a new one was created in \(link.libraryPlace)"
    }

    /// Whether the album is complete or not managed.
    var isComplete: Bool { state == .associated || state == .skipped }
}

extension AlbumLink {
    /// The root of a folder library, or the address of a server.
    fileprivate var libraryPlace: String {
        if let hint, let slash = hint.lastIndex(of: UInt8(ascii: "/")) {
            return TerminalText.escaped(Array(hint[..<slash]))
        }
        return ErrorCatalog.clean(libraryID.split(separator: "#").first.map(String.init) ?? libraryID)
    }
}

/// The one warning of a command about an album (rule R9).
struct AlbumWarning: Sendable, Equatable {
    var text: String
    var hint: String?

    /// Returns nil if there is nothing to warn about. `saved` is the part that is saved in any case, for example `3
    /// clips`, or nil for an export to standard output; `count` is the number of clips or tapes in it, nil for an
    /// export. `outcome` is nil if a signal stopped the work. `isOrder` means that only the order of the album was to
    /// be updated, which is not retried automatically.
    init?(saved: String?, count: Int?, _ outcome: AlbumOutcome?, isOrder: Bool = false) {
        let album = count.map { $0 == 1 ? "its album" : "their album" } ?? "the album of the tape"
        let saved = saved.map { "\($0) saved; " } ?? ""
        let waits = "\(saved)\(album) was not updated"
        let repair = "to update the album: mediactl tapes repair"
        guard let outcome else {
            text = waits + (isOrder ? " (interrupted)" : " (interrupted) - will retry")
            hint = isOrder ? repair : nil
            return
        }
        var parts: [String] = []
        if outcome.state == .pending || outcome.state == .partly {
            let reason = Self.words(for: outcome)
            parts.append(
                outcome.state == .partly && outcome.pendingClips > 0 && !isOrder
                    ? "\(saved)\(Formats.count(outcome.pendingClips, "clip")) "
                        + "\(outcome.pendingClips == 1 ? "is" : "are") not in the album (\(reason))"
                    : waits + " (\(reason))"
            )
            // Nothing changes until a different version of mediactl is used.
            let prospect = outcome.obstacle == .newerVersion ? nil : outcome.reason?.prospect
            if !isOrder, let prospect { parts[0] += " - " + prospect }
        } else if !outcome.missingPermissions.isEmpty {
            parts.append("access to the library is limited: \(Self.list(outcome.missingPermissions)) missing")
        }
        if outcome.hiddenClips > 0 {
            parts.append(
                "\(Formats.count(outcome.hiddenClips, "clip")) \(outcome.hiddenClips == 1 ? "is" : "are") in the library's "
                    + "trash and invisible until you restore \(outcome.hiddenClips == 1 ? "it" : "them") there"
            )
        }
        guard !parts.isEmpty else { return nil }
        text = parts.joined(separator: "; ")
        if outcome.state == .pending || outcome.state == .partly {
            hint = outcome.obstacle?.hint ?? outcome.reason?.hint
        }
        if isOrder, hint == nil { hint = repair }
    }

    private static func words(for outcome: AlbumOutcome) -> String {
        if outcome.isAlbumDamaged { return ErrorCatalog.clean(outcome.detail) }
        if outcome.obstacle != nil || outcome.reason == .libraryChanged, !outcome.detail.isEmpty {
            return ErrorCatalog.clean(outcome.detail)
        }
        let reason = outcome.reason?.words ?? "unknown reason"
        if outcome.reason == .tooLarge, let size = outcome.refusedByteCount {
            return "\(reason): a file of \(Formats.bytes(size)) was refused"
        }
        if !outcome.missingPermissions.isEmpty { return "\(reason): \(list(outcome.missingPermissions)) missing" }
        return outcome.detail.isEmpty ? reason : "\(reason): \(ErrorCatalog.clean(outcome.detail))"
    }

    private static func list(_ names: [String]) -> String {
        names.map { ErrorCatalog.clean($0) }.joined(separator: ", ")
    }
}

/// Messages about albums in addition to the results.
extension Console {
    func warn(_ warning: AlbumWarning?) {
        guard let warning else { return }
        self.warning(warning.text, hint: warning.hint)
    }

    /// Traces album events (rule R19): with -v, the IDs of tapes and albums; with -vv, titles and paths as well.
    func log(_ event: AlbumEvent) {
        guard verbosity > 0 else { return }
        var words = ["photos: \(event.kind.rawValue): tape \(ErrorCatalog.clean(event.tapeID))"]
        if let album = event.albumID {
            words.append("album \(ErrorCatalog.clean(album))")
        }
        if !event.message.isEmpty {
            words.append(ErrorCatalog.clean(event.message))
        }
        if verbosity > 1, !event.details.isEmpty {
            words.append(ErrorCatalog.clean(event.details))
        }
        trace(words.joined(separator: ", "))
    }
}

extension AssociationReason {
    /// Why there is no album, or why a clip is not in it: a few lowercase words.
    var words: String { guide.words }

    /// The automatic action that follows; nil if there is none.
    var prospect: String? { guide.prospect }

    var hint: String? { guide.hint }

    /// The exit code of a command that only updates the album.
    var exitCode: ExitCode { guide.exitCode }

    private var guide: (words: String, prospect: String?, hint: String?, exitCode: ExitCode) {
        let retry = "will retry"
        let reconcile = "to retry: mediactl tapes reconcile --apply"
        let grant = "to list missing permissions: mediactl tapes library status; then: mediactl tapes library grant"
        return switch self {
        case .neverTried: ("not attempted yet", retry, reconcile, .failure)
        case .accessNotDetermined:
            (
                "the library is not set up", "will retry once it is set up",
                "to set it up: mediactl tapes library init", .unauthorized
            )
        case .accessDenied:
            ("access to the library was denied", "will retry once access is granted", grant, .unauthorized)
        case .accessLimited:
            ("access to the library is limited", "will retry once access is granted", grant, .unauthorized)
        case .libraryChanged:
            (
                "a different library is now at this address", "will retry once the album's library is available again",
                "to show the library: mediactl tapes library status", .conflict
            )
        case .unreachable: ("library unreachable", retry, nil, .network)
        case .albumMissing: ("the album no longer exists", retry, reconcile, .notFound)
        case .createFailed: ("the album could not be created", nil, reconcile, .failure)
        case .originalUnavailable: ("the original cannot be read", retry, nil, .failure)
        case .assetUnidentified:
            (
                "the original is not in the library", retry,
                "set albums.upload: true, or add the originals to the library yourself", .failure
            )
        case .assetRejected: ("the library refused the original", nil, nil, .failure)
        case .quota:
            (
                "the library is full", retry,
                "free space in the library, then run mediactl tapes reconcile --apply",
                .failure
            )
        case .tooLarge:
            (
                "larger than the upload limit of the server or its proxy", retry,
                "raise the limit (nginx: client_max_body_size), then run mediactl tapes reconcile --apply", .failure
            )
        case .unsupported:
            (
                "the version of the server is not supported", retry,
                "update the server to Immich 2 or later, then run mediactl tapes reconcile --apply", .server
            )
        case .rejected:
            (
                "the server refused the request", nil,
                "check the address of the server (--library-url, library_url)", .usage
            )
        case .internalError: ("internal error", nil, nil, .failure)
        }
    }
}

extension AlbumObstacle {
    /// How to fix the problem.
    var hint: String {
        let marker = "restore its .mediactl-library.json"
        let replacing = "mediactl tapes library init --yes, then mediactl tapes album unlink TAPE"
        return switch self {
        case .libraryMissing: "mount its disk or \(marker); if the library is lost: \(replacing)"
        case .markerDamaged: "\(marker) from a backup; without a backup, remove it, then: \(replacing)"
        case .otherFolder:
            "to use the library of the album again, mount its disk or \(marker); for a new album here: "
                + "mediactl tapes album unlink TAPE; for an album that is here: mediactl tapes album link TAPE ALBUM"
        case .otherAccount:
            "store a key with user.read for the account that has the albums: mediactl tapes library init "
                + "--api-key-file FILE; for new albums in this account: mediactl tapes album unlink TAPE"
        case .newerVersion: "use the version of mediactl that wrote it, or a later one"
        }
    }
}

extension JSONRenderer {
    /// Changes to the album of a tape; all null if there are no changes.
    static func album(_ outcome: AlbumOutcome?) -> JSONObject {
        [
            "album": JSONValue(outcome?.state.rawValue), "album_id": JSONValue(outcome?.link?.albumID),
            "library_id": JSONValue(outcome?.link?.libraryID), "created": JSONValue(outcome?.isCreated),
            "pending_clips": JSONValue(outcome?.pendingClips),
            "added_to_album": JSONValue(outcome.map { $0.addedClips + ($0.isFiled ? 1 : 0) }),
            "hidden_clips": JSONValue(outcome?.hiddenClips),
            "missing_permissions": .array((outcome?.missingPermissions ?? []).map { .string($0) }),
            "detail": .nonEmpty(outcome?.detail),
        ]
    }

    /// A stored album; all null if there is no album.
    static func link(_ link: AlbumLink?) -> JSONObject {
        [
            "album_id": JSONValue(link?.albumID), "library_id": JSONValue(link?.libraryID),
            "title_at_creation": JSONValue(link?.titleAtCreation), "owner_id": JSONValue(link?.ownerID),
            "place": .path(link?.hint),
            "album_created_at": .time(link?.createdAt),
            "verified_at": .time(link?.verifiedAt),
        ]
    }
}

extension TextRenderer {
    /// Changes to the album; empty if there are no changes.
    static func album(_ outcome: AlbumOutcome, style: Style) -> [String] {
        guard let link = outcome.link else { return [] }
        let title = ErrorCatalog.quoted(link.titleAtCreation)
        let video = outcome.isFiled ? ["album \(title): video added"] : []
        guard outcome.isCreated || outcome.addedClips > 0 else { return video }
        let clips = Formats.count(outcome.addedClips, "clip")
        return outcome.isCreated
            ? ["\(style.green("created")) the album \(title) with \(clips)"] + video
            : ["album \(title): \(clips) linked"] + video
    }

    static func album(_ link: AlbumLink) -> [(String, String)] {
        [("album id", link.albumID), ("album title", link.titleAtCreation), ("library", link.libraryID)]
            + (link.hint.map { [("location", TerminalText.escaped($0))] } ?? [])
    }
}
