internal import Foundation
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import Tapes

/// What `tapes` says on standard output. Failures are said on standard error.
extension TextRenderer {
    /// How a tape stands with its album.
    static func words(for tape: TapeRecord) -> String {
        switch tape.association {
        case .none: "none"
        case .associated: "in the library"
        case .pending: "waiting" + (tape.reason.map { " (\($0.words))" } ?? "")
        }
    }

    /// What a clip is called: its original, or its id without one.
    static func name(of clip: ClipRecord) -> String { clip.source.map { TerminalText.escaped($0) } ?? brief(clip.id) }

    // MARK: Tapes

    /// The table of `tapes list`.
    static func tapes(_ tapes: [TapeSummary], now: Date, width: Int?, style: Style) -> [String] {
        guard !tapes.isEmpty else { return [] }
        var table = Table(columns: [
            .init(title: "ID"), .init(title: "TITLE", isFlexible: true, minimumWidth: 12),
            .init(title: "CLIPS", alignment: .right), .init(title: "LENGTH", alignment: .right, dropOrder: 2),
            .init(title: "ALBUM", isFlexible: true, minimumWidth: 10, dropOrder: 3),
            .init(title: "CHANGED", dropOrder: 1),
        ])
        table.rows = tapes.map { summary in
            [
                brief(summary.tape.id), TerminalText.escaped(summary.tape.title), "\(summary.clipCount)",
                (summary.isDurationKnown ? "" : "> ") + Formats.clock(.milliseconds(summary.durationMilliseconds)),
                words(for: summary.tape)
                    + (summary.tape.association == .associated && summary.pendingClipCount > 0
                        ? ", \(summary.pendingClipCount) missing" : ""),
                Formats.age(of: summary.tape.updatedAt, now: now),
            ]
        }
        return table.lines(fitting: width, style: style)
    }

    /// Everything about a tape, and the table of its clips.
    static func tape(_ view: TapeView, now: Date, width: Int?, style: Style) -> [String] {
        let tape = view.tape
        let transition =
            tape.transition == .none
            ? "none" : "\(tape.transition.rawValue.replacing("_", with: " ")), \(tape.transitionMilliseconds) ms"
        var fields = [
            ("title", tape.title), ("id", tape.id),
            ("made", time(tape.createdAt, now: now)),
            ("picture", "\(tape.orientation.rawValue), \(tape.scaleMode.rawValue)"), ("transition", transition),
            ("album", words(for: tape)),
        ]
        if let link = view.link {
            fields += album(link)
        }
        let length = view.milliseconds.map { Formats.clock(.milliseconds($0)) } ?? "of unknown length"
        fields.append(("clips", "\(view.clips.count), \(length)"))
        return self.fields(fields, style) + clips(view, width: width, style: style)
    }

    /// A stored album, as fields.
    static func album(_ link: AlbumLink) -> [(String, String)] {
        [("album id", link.albumID), ("album title", link.titleAtCreation), ("library", link.libraryID)]
            + (link.hint.map { [("place", TerminalText.escaped($0))] } ?? [])
    }

    private static func clips(_ view: TapeView, width: Int?, style: Style) -> [String] {
        guard !view.clips.isEmpty else { return [] }
        var table = Table(columns: [
            .init(title: "#", alignment: .right), .init(title: "ID", dropOrder: 3), .init(title: "KIND", dropOrder: 1),
            .init(title: "LENGTH", alignment: .right), .init(title: "CUT", dropOrder: 2),
            .init(title: "ALBUM", isFlexible: true, minimumWidth: 8, dropOrder: 4),
            .init(title: "FILE", isFlexible: true, minimumWidth: 12, isPath: true),
        ])
        table.rows = view.clips.map { clip in
            [
                "\(clip.position + 1)", brief(clip.id), words(for: clip.kind),
                clip.shownMilliseconds.map { Formats.clock(.milliseconds($0)) } ?? "?", cut(of: clip), words(for: clip),
                (clip.source.map { TerminalText.escaped($0) } ?? "-")
                    + (view.offline.contains(clip.id) ? " (offline)" : ""),
            ]
        }
        return [""] + table.lines(fitting: width, style: style)
    }

    /// How a clip differs from its original.
    private static func cut(of clip: ClipRecord) -> String {
        func seconds(_ milliseconds: Int64) -> String { "\(Double(milliseconds) / 1000)s" }
        let parts: [String?] = [
            clip.trimStartMilliseconds > 0 ? "from \(seconds(clip.trimStartMilliseconds))" : nil,
            clip.trimEndMilliseconds > 0 ? "less \(seconds(clip.trimEndMilliseconds))" : nil,
            clip.rotateQuarterTurns > 0 ? "turned \(clip.rotateQuarterTurns * 90)" : nil, clip.scaleOverride?.rawValue,
            clip.volume.map { "volume \($0)" },
        ]
        let words = parts.compactMap { $0 }.joined(separator: ", ")
        return words.isEmpty ? "-" : words
    }

    /// A still is a picture to people, and an `image` to JSON.
    private static func words(for kind: ClipRecord.Kind) -> String {
        kind == .image ? "picture" : kind.rawValue.replacing("_", with: " ")
    }

    private static func words(for clip: ClipRecord) -> String {
        clip.association.rawValue + (clip.reason.map { " (\($0.words))" } ?? "")
    }

    // MARK: Adding

    static func added(_ item: AddedClip, style: Style) -> [String] {
        let name = TerminalText.escaped(item.path)
        guard let clip = item.clip else { return [] }
        let length = clip.shownMilliseconds.map { ", \(Formats.clock(.milliseconds($0)))" } ?? ""
        return switch item.state {
        case .added:
            ["\(style.green("added")) \(name) as clip \(clip.position + 1) (\(words(for: clip.kind))\(length))"]
        case .planned: ["\(name): would be added (\(words(for: clip.kind))\(length))"]
        case .failed: []
        }
    }

    /// What became of the album, when there is good news.
    static func album(_ outcome: AlbumOutcome, style: Style) -> [String] {
        guard let link = outcome.link else { return [] }
        let title = ErrorCatalogue.quoted(link.titleAtCreation)
        let video = outcome.isFiled ? ["album \(title): the video is in it"] : []
        guard outcome.isCreated || outcome.addedClips > 0 else { return video }
        let clips = Formats.count(outcome.addedClips, "clip")
        return outcome.isCreated
            ? ["\(style.green("made")) the album \(title) with \(clips)"] + video
            : ["album \(title): \(clips) linked"] + video
    }

    // MARK: Deletions

    static func tapeDeletion(_ item: TapeDeletionRun.Item, style: Style) -> [String] {
        let name = ErrorCatalogue.quoted(item.tape.title)
        return switch item.state {
        case .deleted: ["\(style.green("deleted")) the tape \(name)"] + item.albums.compactMap { words(for: $0) }
        case .planned: ["the tape \(name) would be deleted"] + item.albums.compactMap { plannedWords(for: $0) }
        case .declined: ["the tape \(name) was not deleted"]
        case .failed: []
        }
    }

    private static func plannedWords(for album: TapeDeletion.Album) -> String? {
        guard case .deleted(let link) = album else { return words(for: album) }
        return "  and its album \(ErrorCatalogue.quoted(link.titleAtCreation)), but for things of others in it"
    }

    private static func words(for album: TapeDeletion.Album) -> String? {
        switch album {
        case .none, .owed: nil
        case .kept(let link):
            "  its album stays: \(ErrorCatalogue.quoted(link.titleAtCreation)) (\(brief(link.albumID)))"
        case .deleted(let link):
            "  deleted its album \(ErrorCatalogue.quoted(link.titleAtCreation)); every original stays"
        case .keptForeign(let link, let count):
            "  took its album \(ErrorCatalogue.quoted(link.titleAtCreation)) apart; "
                + "\(Formats.count(count, "thing")) of yours in it \(count == 1 ? "stays" : "stay")"
        }
    }

    // MARK: Libraries

    static func library(_ status: LibraryStatus, style: Style) -> [String] {
        fields(
            [
                ("library", status.kind), (status.kind == "folder" ? "place" : "server", status.address),
                ("id", status.identity?.libraryID ?? "-"), ("name", status.identity?.name ?? "-"),
                ("adding", words(for: status.addOnly)), ("changing", words(for: status.readWrite)),
            ]
                + (status.reason.map { [("trouble", $0.words + (status.detail.isEmpty ? "" : ": \(status.detail)"))] }
                    ?? []),
            style
        )
    }

    private static func words(for access: AlbumAccess?) -> String {
        guard let access else { return "not known" }
        let detail = access.detail.isEmpty ? "" : ": \(access.detail)"
        return switch access.state {
        case .notDetermined: "not set up\(detail)"
        case .restricted: "forbidden here\(detail)"
        case .denied: "refused\(detail)"
        case .limited(let missing):
            "limited" + (missing.isEmpty ? detail : ": \(missing.joined(separator: ", ")) missing")
        case .authorized: "allowed"
        }
    }

    // MARK: Reconciling and relinking

    static func reconciled(_ item: ReconcileRun.Item, style: Style) -> [String] {
        let name = ErrorCatalogue.quoted(item.title ?? "")
        let reason = item.reason.map { " (\($0.words))" } ?? ""
        guard !item.isDamaged else {
            return ["the album of \(name) cannot be read: \(ErrorCatalogue.clean(item.detail ?? ""))"]
        }
        return switch (item.work, item.state) {
        case (.tape, "planned"): ["\(name) would be brought up to date\(reason)"]
        case (.tape, "associated"):
            ["\(style.green("brought up to date")) \(name)" + (item.isCreated == true ? ", album made" : "")]
        case (.tape, "partly"): ["\(name): \(Formats.count(item.pendingClips ?? 0, "clip")) not in the album\(reason)"]
        case (.tape, _): ["\(name): no album\(reason)"]
        case (.deletion, _): ["the album of the deleted tape \(name) would be deleted"]
        case (.verification, "found"): ["\(style.green("found")) the album of \(name)"]
        case (.verification, "missing"): ["\(style.yellow("missing")) the album of \(name); the next add makes it anew"]
        case (.verification, _): ["the album of \(name) may not be looked at"]
        }
    }

    static func relinked(_ result: RelinkResult, isDryRun: Bool, style: Style) -> [String] {
        let name = result.clip.source.map { TerminalText.escaped($0) } ?? "-"
        return switch result.state {
        case .present: []
        case .found(let path):
            [
                isDryRun ? "\(name): would be relinked" : "\(style.green("relinked")) \(name)",
                "  to \(TerminalText.escaped(path))",
            ]
        case .notFound: ["\(style.yellow("not found")) \(name)"]
        case .noChecksum: ["\(style.yellow("no checksum")) \(name): nothing is known that would identify it"]
        }
    }
}
