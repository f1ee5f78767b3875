internal import Foundation
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import Tapes

/// Shared by `tapes verify` and `tapes repair`: which albums are checked, and how a finding is reported.
struct TapeFindings: Sendable {
    enum State: String, Sendable {
        /// `verify`
        case found
        /// `repair --dry-run`
        case planned
        /// Confirmed by a second check.
        case repaired
        case failed
    }

    /// The number of checked albums and the remaining work, for the notes and the summary.
    struct Totals: Sendable {
        /// Number of checked albums.
        var albums = 0
        /// Tapes with clips but without an album in the library.
        var tapesWithoutAlbum: Set<String> = []
        /// Clips that are not in the album of their tape.
        var pendingClips: Set<String> = []
        var missingOriginals: Set<[UInt8]> = []
        var changedOriginals: Set<[UInt8]> = []

        mutating func count(_ tape: TapeRecord, hasAlbum: Bool, _ findings: [AlbumFinding]) {
            if hasAlbum { albums += 1 } else if !findings.isEmpty { tapesWithoutAlbum.insert(tape.id) }
            for finding in findings {
                if finding.isOfAbsentClip, let clip = finding.clip { pendingClips.insert(clip.id) }
                if finding.kind == .originalMissing, finding.clip != nil, let path = finding.path {
                    missingOriginals.insert(path)
                }
                if finding.kind == .originalChanged, let path = finding.path { changedOriginals.insert(path) }
            }
        }

        /// Prints the problems that `tapes repair` cannot fix.
        func note(on console: Console) {
            let (albumless, originals) = (tapesWithoutAlbum.count, missingOriginals.count)
            if albumless > 0 {
                let verb = albumless == 1 ? "has" : "have"
                console.note(
                    "\(Formats.count(albumless, "tape")) \(verb) no album yet; to create: mediactl tapes reconcile --apply"
                )
            }
            if originals > 0 {
                let verb = originals == 1 ? "is" : "are"
                console.note(
                    "\(Formats.count(originals, "original")) \(verb) missing; to search: mediactl tapes relink --in DIR"
                )
            }
            if !changedOriginals.isEmpty {
                let verb = changedOriginals.count == 1 ? "has" : "have"
                console.note(
                    "\(Formats.count(changedOriginals.count, "original")) \(verb) changed; "
                        + "to find the former content: mediactl tapes relink --changed --in DIR; to keep the new content, "
                        + "remove the clip and add the file again: mediactl tapes remove, mediactl tapes insert"
                )
            }
        }
    }

    struct Item: Sendable {
        /// nil for a leftover file outside albums.
        var tape: TapeRecord?
        var finding: AlbumFinding
        var state: State
        var reason: AssociationReason?
        var detail = ""

        /// Why the library refused a repair, or why the clip is not in the album.
        var shownReason: AssociationReason? { reason ?? (finding.isOfAbsentClip ? finding.clip?.reason : nil) }
    }

    let session: TapesSession
    let service: AlbumService
    /// The tapes specified by the user; empty means all tapes and any leftover files.
    let tapes: [TapeRecord]

    private var console: Console { session.console }

    /// The tapes that have clips, or an album in the configured library.
    func checked() throws -> [TapeRecord] {
        guard service.policy.isEnabled else { throw TapesError(.albumsOff) }
        let all = tapes.isEmpty ? try session.store.tapeSummaries().map(\.tape) : tapes
        return try all.filter { tape in
            if try service.knownLink(of: tape.id) != nil { return true }
            return try !session.store.clips(of: tape.id).isEmpty
        }
    }

    var renderings: RenderLeftovers {
        RenderLeftovers(
            directory: session.directory,
            workingDirectory: Array(console.context.workingDirectory.utf8)
        )
    }

    /// Files outside albums that killed processes left behind; empty if only certain tapes are checked.
    func leftovers() async throws -> [AlbumFinding] {
        guard tapes.isEmpty else { return [] }
        let (service, renderings) = (service, renderings)
        let folders = try await console.context.interruption.canceling { try await service.leftovers() }
        return folders + (try await BlockingWork.run { () throws(TapesError) in try renderings.find() })
    }
}

extension AlbumFinding {
    fileprivate var words: String {
        let path = self.path.map { TerminalText.escaped($0) } ?? ""
        let name = self.path.map { TerminalText.escaped($0.nameOfPath) } ?? ""
        let other = self.other.map { TerminalText.escaped($0.nameOfPath) } ?? ""
        let clip = self.clip.map { "clip \($0.number) (\(TextRenderer.name(of: $0)))" } ?? "clip"
        return switch kind {
        case .albumMissing: "album missing" + (path.isEmpty ? "" : ": \(path)")
        case .albumUnreadable: "album unreadable: \(ErrorCatalog.clean(detail))"
        case .assetsMissing: "assets missing from the album, or in the trash: \(ErrorCatalog.clean(detail))"
        case .albumUnknown: "album not checked: reading albums is not permitted"
        case .clipFailed: "\(clip) was refused by the library"
        case .clipPending: "\(clip) is not in the album yet"
        case .originalMissing:
            if self.clip != nil {
                "original of clip \(self.clip?.number ?? 0) is missing: \(path)"
            } else {
                "link without original: \(name) (\(self.other.map { TerminalText.escaped($0) } ?? ""))"
            }
        case .originalChanged: "original of clip \(self.clip?.number ?? 0) has changed since it was added: \(path)"
        case .linkMissing: "link missing for \(clip)" + (name.isEmpty ? "" : ": \(name)")
        case .linkRenamed: "link renamed: \(name) is now \(other)"
        case .linkReplaced: "link replaced: \(name) is a different file"
        case .linkMisnumbered: "wrong link name: \(name) should be \(other)"
        case .renamingInterrupted: "renaming of links was interrupted"
        case .playlistMissing: "playlist missing: \(name)"
        case .playlistOutdated: "playlist outdated: \(name)"
        case .playlistForeign: "playlist replaced: \(name) is a different file"
        case .temporaryFile: "temporary file left by an interrupted command: \(name)"
        case .emptyFolder: "empty album folder left by an interrupted command: \(path)"
        case .renderLeftover: "files left by an interrupted rendering: \(path)"
        }
    }
}

extension TapeFindings.Item: RunItem {
    var json: JSONObject {
        [
            "finding": .string(finding.kind.rawValue), "state": .string(state.rawValue),
            "tape_id": JSONValue(tape?.id), "title": JSONValue(tape?.title),
            "clip_id": JSONValue(finding.clip?.id), "number": JSONValue(finding.clip?.number),
            "path": .path(finding.path), "path_base64": .pathBase64(finding.path), "other_path": .path(finding.other),
            "other_path_base64": .pathBase64(finding.other), "reason": JSONValue(shownReason?.rawValue),
            "detail": .nonEmpty(detail.isEmpty ? finding.detail : detail),
        ]
    }

    func text(_ style: Style) -> [String] {
        let tape = tape.map { ErrorCatalog.quoted($0.title) + ": " } ?? ""
        var words = tape + finding.words
        if state != .failed, let reason = shownReason { words += " (\(reason.words))" }
        return switch state {
        case .found: [words]
        case .planned: ["would repair \(words)"]
        case .repaired: ["\(style.green("repaired")) \(words)"]
        case .failed:
            [
                "\(style.yellow("not repaired")) \(words)"
                    + (shownReason
                        .map { " (\(detail.isEmpty ? $0.words : ErrorCatalog.clean(detail)))" } ?? "")
            ]
        }
    }
}
