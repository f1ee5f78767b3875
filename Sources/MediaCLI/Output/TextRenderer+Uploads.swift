internal import Foundation
internal import GigHive
internal import MediaCore
internal import MediaFiles
internal import MediaStore

/// What `upload` and `uploads` say on standard output. Failures are said on standard error.
extension TextRenderer {
    /// An upload of the journal on one line, for questions.
    static func brief(_ record: UploadRecord) -> String {
        "  \(TerminalText.escaped(record.uploadID))  \(ErrorCatalogue.quoted(record.path))  "
            + "(\(Formats.bytes(record.sizeBytes)), to \(TerminalText.escaped(record.host)))"
    }

    static func discarded(_ row: DiscardedUpload, style: Style) -> [String] {
        let name = "\(TerminalText.escaped(row.record.uploadID)) \(ErrorCatalogue.quoted(row.record.path))"
        return switch row.end {
        case .discarded where row.warning != nil: ["removed the local entry of \(name)"]
        case .discarded: ["\(style.green("discarded")) \(name)"]
        case .planned: ["\(name) would be discarded"]
        case .declined: ["\(name) was not discarded"]
        case .failed: []
        }
    }

    // MARK: Tokens

    /// The table of `uploads list`, or a part of it.
    static func table(of uploads: [KeptUpload], now: Date, isTokenShown: Bool, hasGuests: Bool) -> Table {
        var table = Table(columns: [
            .init(title: "ID", alignment: .right), .init(title: "EVENT DATE", dropOrder: 6),
            .init(title: "ORG", isFlexible: true, dropOrder: 4), .init(title: "TYPE", dropOrder: 2),
            .init(title: "LABEL OR FILE", isFlexible: true, minimumWidth: 12),
            .init(title: "SIZE", alignment: .right, dropOrder: 1), .init(title: "UPLOADED", dropOrder: 5),
            .init(title: "SERVER", isFlexible: true, minimumWidth: 12, dropOrder: 3),
        ])
        if hasGuests {
            table.columns.append(.init(title: "STATE"))
        }
        if isTokenShown {
            table.columns.append(.init(title: "DELETE TOKEN"))
        }
        for upload in uploads {
            let tail =
                [
                    Formats.bytes(upload.sizeBytes), Formats.age(of: upload.createdAt, now: now),
                    TerminalText.escaped(upload.host),
                ] + (hasGuests ? [upload.isGuest ? guestState(of: upload, now: now) : "-"] : [])
                + (isTokenShown ? [TerminalText.escaped(upload.token?.secret ?? "-")] : [])
            table.rows.append(
                [
                    "\(upload.fileID)", TerminalText.escaped(upload.eventDate), TerminalText.escaped(upload.orgName),
                    TerminalText.escaped(upload.eventType),
                    TerminalText.escaped(upload.title) + (upload.isGuest ? " (guest)" : ""),
                ] + tail
            )
            for event in upload.otherEvents {
                table.rows.append(
                    [
                        "\(upload.fileID)", TerminalText.escaped(event.eventDate ?? "-"),
                        TerminalText.escaped(event.orgName ?? "-"), TerminalText.escaped(event.eventType ?? "-"),
                        TerminalText.escaped(event.label ?? upload.title) + " (linked)",
                    ] + tail
                )
            }
        }
        return table
    }

    /// The last known state of a guest upload with its time.
    static func guestState(of upload: KeptUpload, now: Date) -> String {
        guard let state = upload.guestState, let time = upload.guestStateAt else { return "not checked" }
        return "\(state.rawValue), \(Formats.age(of: time, now: now))"
    }

    /// Everything about one upload.
    static func kept(_ upload: KeptUpload, now: Date, isTokenShown: Bool, style: Style) -> [String] {
        let token = upload.token.map { isTokenShown ? $0.secret : "stored (--show-token shows it)" } ?? "none"
        let sent = [upload.transport?.rawValue, upload.isGuest ? "with an event link" : nil].compactMap { $0 }
        let fields: [(String, String)] = [
            ("id", "\(upload.fileID)"), ("server", upload.server), ("host", upload.host),
            ("event date", upload.eventDate), ("org name", upload.orgName), ("event type", upload.eventType),
            ("label", upload.label ?? "-"), ("file name", upload.fileName), ("file type", upload.fileType ?? "-"),
            ("size", "\(Formats.bytes(upload.sizeBytes)) (\(upload.sizeBytes) bytes)"),
            ("sha-256", upload.checksumSHA256 ?? "-"),
            ("uploaded", time(upload.createdAt, now: now)),
            ("sent by", sent.isEmpty ? "-" : sent.joined(separator: ", ")),
        ]
        // A guest has no login to use a delete token with: the state says what can be done.
        let state = upload.isGuest ? [("state", guestAdvice(for: upload, now: now))] : []
        let deletion = upload.isGuest && !isTokenShown ? [] : [("delete token", token)]
        let more = state + deletion + storedFields(of: upload)
        let superseded = upload.isSuperseded ? ["  replaced by a newer upload of the same file"] : []
        return self.fields(fields + more, style) + superseded
    }

    /// Facts that only the server's response has.
    private static func storedFields(of upload: KeptUpload) -> [(String, String)] {
        let stored = upload.stored
        let own: [(String, String?)] = [
            ("event id", stored?.eventID.map { "\($0)" }), ("position", stored?.position.map { "\($0)" }),
            ("mime type", stored?.mimeType), ("duration", stored?.durationSeconds.map { Formats.clock(.seconds($0)) }),
            ("participants", stored?.participants), ("keywords", stored?.keywords),
        ]
        let linked = upload.otherEvents.map { event in
            ("linked to", "\(event.eventDate ?? "-"), \(event.orgName ?? "-")" + (event.label.map { ", \($0)" } ?? ""))
        }
        return own.compactMap { name, value in value.map { (name, $0) } } + linked
    }

    /// The state of a guest upload and the operation it allows.
    private static func guestAdvice(for upload: KeptUpload, now: Date) -> String {
        let state = guestState(of: upload, now: now)
        return switch upload.guestState {
        case .approved?, .expired?: "\(state); to hide it: mediactl uploads delete \(upload.fileID)"
        case .pending?: "\(state); it can be hidden once the organizer has approved it"
        case .hidden?: "\(state); the server keeps the file"
        case .rejected?: state
        case nil: "\(state); to check it: mediactl uploads status"
        }
    }

    /// An upload on one line, for questions.
    static func brief(_ upload: KeptUpload, now: Date) -> String {
        "  \(upload.fileID)  \(TerminalText.escaped(upload.eventDate))  \(TerminalText.escaped(upload.orgName))  \(TerminalText.escaped(upload.eventType))  "
            + "\(ErrorCatalogue.quoted(upload.title))  "
            + "(\(Formats.bytes(upload.sizeBytes)), uploaded \(Formats.age(of: upload.createdAt, now: now)))"
    }

    static func deletion(_ result: DeleteResult, file media: ServerMedia? = nil, style: Style) -> [String] {
        let title = result.entry.map { KeptUpload($0).title } ?? media?.events.lazy.compactMap(\.label).first
        let file = title.map { "\(result.fileID) \(ErrorCatalogue.quoted($0))" } ?? "\(result.fileID)"
        let host = TerminalText.escaped(result.host)
        return switch result.state {
        case .deleted: ["\(style.green("deleted")) \(file) from \(host)"]
        case .gone where result.entry == nil: ["\(file) was already deleted from \(host)"]
        case .gone: ["\(file) was already deleted from \(host); removed the local entry"]
        case .entryRemoved: ["removed the local entry of \(file); the file is still on \(host)"]
        case .planned: ["\(file) would be deleted from \(host)"]
        case .declined: ["\(file) was not deleted"]
        case .failed: []
        }
    }

    static func hiding(_ hiding: GuestHiding, style: Style) -> [String] {
        let file = "\(hiding.upload.fileID) \(ErrorCatalogue.quoted(hiding.upload.title))"
        let host = TerminalText.escaped(hiding.upload.host)
        return switch hiding.state {
        case .hidden: ["\(style.green("hidden")) \(file); \(host) keeps the file"]
        case .planned: ["\(file) would be hidden; \(host) keeps the file"]
        case .declined: ["\(file) was not hidden"]
        case .failed: []
        }
    }

    // MARK: The journal

    /// The table of `uploads status`.
    static func journal(_ rows: [JournalRow], now: Date, width: Int?, style: Style) -> [String] {
        guard !rows.isEmpty else { return [] }
        var table = Table(columns: [
            .init(title: "UPLOAD", dropOrder: 5),
            .init(title: "FILE", isFlexible: true, minimumWidth: 12, isPath: true),
            .init(title: "STATE"), .init(title: "ID", alignment: .right, dropOrder: 4),
            .init(title: "SIZE", alignment: .right, dropOrder: 1), .init(title: "STARTED", dropOrder: 3),
            .init(title: "SERVER", isFlexible: true, minimumWidth: 12, dropOrder: 2),
        ])
        table.rows = rows.map { row in
            [
                TerminalText.escaped(row.record.uploadID), TerminalText.escaped(row.record.path), words(for: row),
                (row.result?.fileID ?? row.record.fileID).map { "\($0)" } ?? "-",
                Formats.bytes(row.record.sizeBytes), Formats.age(of: row.record.createdAt, now: now),
                TerminalText.escaped(row.record.host),
            ]
        }
        return table.lines(fitting: width, style: style)
    }

    /// The state, and what can be done about it.
    static func words(for row: JournalRow) -> String {
        switch row.standing {
        // Counted as resumable, also when the server could not be queried.
        case .settled where row.isResumable:
            return row.state == .sending ? "resumable" : "\(words(for: row.state)), resumable"
        case .settled: return words(for: row.state)
        case .running: return "being sent"
        case .resumable(let sent):
            let percent = row.record.sizeBytes > 0 ? sent * 100 / row.record.sizeBytes : 0
            return "resumable, \(percent) % (\(Formats.bytes(sent)))"
        case .guest(let state?): return "guest, \(state.rawValue)"
        case .guest(nil):
            let known = row.lastKnown.flatMap { GuestState(rawValue: $0.state) }
            return known.map { "guest, last known: \($0.rawValue)" } ?? "guest, not checked"
        }
    }

    static func words(for state: UploadState) -> String {
        state.rawValue.replacing("_", with: " ")
    }
}
