internal import ArgumentParser
internal import Foundation
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import Tapes

struct TapesShow: ContextCommand {
    static let schema = "mediactl.tapes-show/1"
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a tape, its album and its clips. Sends nothing.",
        discussion: """
            Missing originals are shown as offline; they stay in the tape. Links that were deleted from the \
            album, or renamed, are shown as missing. Notes list the problems that tapes verify would report, except changed \
            originals.

            Examples:
              mediactl tapes show Summer
              mediactl tapes show 5f0c --json | jq -r 'select(.offline) | .path'
            """
    )

    @Argument(help: TapeHelp.tape)
    var tape: String

    @OptionGroup(title: "Library options") var connection: TapeLibraryOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection, for: .reading)
        let tape = try session.tape(tape)
        let view = try await TapeView(tape, session: session, service: session.localService())
        for clip in view.clips {
            console.record(
                .item,
                JSONRenderer.clip(clip) + [
                    "offline": .bool(view.offline.contains(clip.id)),
                    "link_state": JSONValue(view.linkState(of: clip)?.rawValue),
                ]
            )
        }
        console.text(
            TextRenderer.tape(view, now: console.context.now(), width: console.outputWidth, style: console.outputStyle)
        )
        for note in view.notes { console.note(note) }
        return console.finish(
            JSONRenderer.tape(tape) + JSONRenderer.link(view.link) + [
                "album_found": JSONValue(view.isAlbumFound), "pending_clips": JSONValue(view.pendingClips),
                "items": JSONValue(view.clips.count), "duration_ms": JSONValue(view.milliseconds),
            ]
        )
    }
}

/// A tape as printed by `show`, without contacting a library.
struct TapeView: Sendable {
    var tape: TapeRecord
    var clips: [ClipRecord]
    /// The album in the configured library.
    var link: AlbumLink?
    /// IDs of the clips whose originals currently cannot be found (rule R14).
    var offline: Set<String>
    /// Whether albums are enabled.
    let hasAlbums: Bool
    /// Differences in the folder of the tape's album; nil if the library cannot be read or the album is on a server.
    var findings: [AlbumFinding]?

    /// The link of a clip in the folder of the album.
    enum LinkState: String {
        case present
        case missing
        /// A different file has the name of the link.
        case replaced
    }

    /// Reads a tape and checks for its originals and their links.
    init(_ tape: TapeRecord, session: TapesSession, service: AlbumService) async throws {
        self.tape = tape
        let clips = try session.store.clips(of: tape.id)
        self.clips = clips
        link = try service.knownLink(of: tape.id)
        hasAlbums = service.policy.isEnabled
        let missing = try await OriginalReading.missing(among: clips.compactMap(\.source))
        offline = Set(clips.filter { clip in clip.source.map(missing.contains) ?? true }.map(\.id))
        let isFolder = service.library.kind == "folder"
        findings = isFolder ? try await service.look(at: tape, clips) : nil
    }

    /// Why the album cannot be read although it exists; nil otherwise.
    private var damage: String? { findings?.first { $0.kind == .albumUnreadable }?.detail }

    /// Whether the album exists; nil if there is no album or it could not be read.
    var isAlbumFound: Bool? {
        guard damage == nil else { return nil }
        return findings.map { !$0.contains { $0.kind == .albumMissing } }
    }

    /// nil if the clip should not have a link, or if the state of its link is unknown.
    func linkState(of clip: ClipRecord) -> LinkState? {
        guard clip.association == .linked, isAlbumFound == true, let findings else { return nil }
        // An original that occurs several times has one link.
        switch findings.first(where: { $0.clip?.source == clip.source })?.kind {
        case .linkMissing: return .missing
        case .linkReplaced: return .replaced
        default: return .present
        }
    }

    /// Clips that are not in the album; nil if albums are disabled.
    var pendingClips: Int? {
        guard hasAlbums else { return nil }
        return link == nil ? clips.count : clips.count { $0.association != .linked }
    }

    /// Describes the differences between the tape, its album and the originals.
    var notes: [String] {
        func are(_ count: Int, _ noun: String) -> String {
            "\(Formats.count(count, noun)) \(count == 1 ? "is" : "are")"
        }
        let id = TextRenderer.brief(tape.id)
        var notes: [String] = []
        if let damage {
            notes.append("\(ErrorCatalog.clean(damage)); to retry after that: mediactl tapes repair \(id)")
        } else if let findings, !findings.isEmpty {
            notes.append(
                isAlbumFound == true
                    ? "\(are(findings.count, "link")) missing from the album; to restore: mediactl tapes repair \(id)"
                    : "the album is not at its last known location; to search for it: mediactl tapes verify \(id)"
            )
        }
        if let count = pendingClips, count > 0 {
            let repair = link == nil ? "mediactl tapes reconcile --apply" : "mediactl tapes repair \(id)"
            // A damaged album must be restored or removed first.
            let next = damage == nil ? "; to add: \(repair)" : ""
            notes.append("\(are(count, "clip")) not in the album yet\(next)")
        }
        if !offline.isEmpty {
            let search = "mediactl tapes relink \(id) --in DIR"
            notes.append(
                "the \(offline.count == 1 ? "original" : "originals") of \(Formats.count(offline.count, "clip")) "
                    + "\(offline.count == 1 ? "is" : "are") missing; to search: \(search)"
            )
        }
        return notes
    }

    /// Total length; nil if the length of a clip is unknown.
    var milliseconds: Int64? {
        clips.reduce(0 as Int64?) { sum, clip in
            guard let sum, let length = clip.shownMilliseconds else { return nil }
            return sum + length
        }
    }
}

extension TextRenderer {
    /// All fields of a tape and the table of its clips.
    static func tape(_ view: TapeView, now: Date, width: Int?, style: Style) -> [String] {
        let tape = view.tape
        let transition =
            tape.transition == .none
            ? "none" : "\(tape.transition.rawValue.replacing("_", with: " ")), \(tape.transitionMilliseconds) ms"
        var fields = [
            ("title", tape.title), ("id", tape.id),
            ("created", time(tape.createdAt, now: now)),
            ("frame", "\(tape.orientation.rawValue), \(tape.scaleMode.rawValue)"), ("transition", transition),
            ("album", words(for: tape)),
        ]
        if let link = view.link {
            fields += album(link)
        }
        let length = view.milliseconds.map { Formats.clock(.milliseconds($0)) } ?? "of unknown length"
        fields.append(("clips", "\(view.clips.count), \(length)"))
        return self.fields(fields, style) + clips(view, width: width, style: style)
    }

    private static func clips(_ view: TapeView, width: Int?, style: Style) -> [String] {
        guard !view.clips.isEmpty else { return [] }
        let table = Table(columns: [
            .init(title: "#", alignment: .right), .init(title: "ID", dropOrder: 3), .init(title: "KIND", dropOrder: 1),
            .init(title: "LENGTH", alignment: .right), .init(title: "CUT", dropOrder: 2),
            .init(title: "ALBUM", isFlexible: true, minimumWidth: 8, dropOrder: 4),
            .init(title: "FILE", isFlexible: true, minimumWidth: 12, isPath: true),
        ])
        .rows(for: view.clips) { clip in
            [
                "\(clip.position + 1)", brief(clip.id), words(for: clip.kind),
                clip.shownMilliseconds.map { Formats.clock(.milliseconds($0)) } ?? "?", cut(of: clip),
                words(for: clip) + linkText(view.linkState(of: clip)),
                (clip.source.map { TerminalText.escaped($0) } ?? "-")
                    + (view.offline.contains(clip.id) ? " (offline)" : ""),
            ]
        }
        return [""] + table.lines(fitting: width, style: style)
    }

    private static func cut(of clip: ClipRecord) -> String {
        func seconds(_ milliseconds: Int64) -> String { "\(Double(milliseconds) / 1000)s" }
        let parts: [String?] = [
            clip.trimStartMilliseconds > 0 ? "trim start \(seconds(clip.trimStartMilliseconds))" : nil,
            clip.trimEndMilliseconds > 0 ? "trim end \(seconds(clip.trimEndMilliseconds))" : nil,
            clip.rotateQuarterTurns > 0 ? "rotated \(clip.rotateQuarterTurns * 90)" : nil, clip.scaleOverride?.rawValue,
            clip.volume.map { "volume \($0)" },
        ]
        let words = parts.compactMap { $0 }.joined(separator: ", ")
        return words.isEmpty ? "-" : words
    }

    private static func linkText(_ state: TapeView.LinkState?) -> String {
        switch state {
        case nil, .present: ""
        case .missing: " (link missing)"
        case .replaced: " (link replaced)"
        }
    }

    private static func words(for clip: ClipRecord) -> String {
        clip.association.rawValue + (clip.reason.map { " (\($0.words))" } ?? "")
    }
}
