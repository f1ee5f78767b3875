internal import GigHive
internal import MediaCore
internal import MediaFiles
internal import MediaTransport

/// What `media` prints on standard output.
extension TextRenderer {
    /// The table of `media list` and `media find`: a row for each event of a file.
    static func media(_ files: [ServerMedia], withDetails: Bool, width: Int?, style: Style) -> [String] {
        guard !files.isEmpty else { return [] }
        var table = Table(columns: [
            .init(title: "ID", alignment: .right), .init(title: "EVENT DATE", dropOrder: 6),
            .init(title: "ORG", isFlexible: true, dropOrder: 5),
            .init(title: "LABEL", isFlexible: true, minimumWidth: 12),
            .init(title: "KIND", dropOrder: 3), .init(title: "LENGTH", alignment: .right, dropOrder: 4),
        ])
        if withDetails {
            table.columns += [
                .init(title: "SIZE", alignment: .right, dropOrder: 2), .init(title: "UPLOADED", dropOrder: 1),
            ]
        }
        table.columns.append(.init(title: "SHA-256", isFlexible: !withDetails, minimumWidth: 9, dropOrder: 0))
        for file in files {
            // A file without an event has a row too.
            for event in file.events.isEmpty ? [nil] : file.events.map(Optional.some) {
                table.rows.append(cells(of: file, event, withDetails: withDetails))
            }
        }
        return table.lines(fitting: width, style: style)
    }

    private static func cells(of file: ServerMedia, _ event: ServerMedia.Event?, withDetails: Bool) -> [String] {
        var cells = [
            "\(file.fileID)", optional(event?.date), optional(event?.orgName), optional(event?.label),
            optional(file.fileType), file.durationSeconds.map { Formats.clock(.seconds($0)) } ?? "-",
        ]
        if withDetails {
            cells += [file.sizeBytes.map { Formats.bytes($0) } ?? "-", optional(file.createdAt)]
        }
        return cells + [optional(file.checksumSHA256)]
    }

    private static func optional(_ text: String?) -> String { text.map { TerminalText.escaped($0) } ?? "-" }

    /// Everything that the server reports about a file.
    static func media(_ file: ServerMedia, on server: ServerURL, style: Style) -> [String] {
        let events = file.events.map { event in
            let names = [event.date, event.orgName, event.eventType].compactMap { $0 }
            return ("event", names.joined(separator: "  ") + (event.label.map { "  \"\($0)\"" } ?? ""))
        }
        let size = file.sizeBytes.map { "\(Formats.bytes($0)) (\($0) bytes)" }
        let fields: [(String, String?)] =
            [("id", "\(file.fileID)"), ("server", server.description)]
            + (events.isEmpty ? [("event", "none")] : events)
            + [
                ("file name", file.fileName), ("file type", file.fileType), ("mime type", file.mimeType),
                ("size", size), ("sha-256", file.checksumSHA256),
                ("length", file.durationSeconds.map { Formats.clock(.seconds($0)) }),
                ("source name", file.sourceName), ("uploaded", file.createdAt), ("recorded", file.mediaCreatedAt),
                ("address", file.path.map { server.description + $0 }),
            ]
        return self.fields(fields.compactMap { name, value in value.map { (name, $0) } }, style)
    }

    /// A file of a server for questions: a line for it, and one for each further event.
    static func brief(_ file: ServerMedia) -> [String] {
        let size = file.sizeBytes.map { Formats.bytes($0) + ", " } ?? ""
        let facts = "(\(size)sha-256 \(optional(file.checksumSHA256)))"
        let events = file.events.map { event in
            [optional(event.date), optional(event.orgName), event.label.map { ErrorCatalogue.quoted($0) } ?? "-"]
                .joined(separator: "  ")
        }
        let first = "  \(file.fileID)  \(events.first ?? "no event")  \(facts)"
        return [first] + events.dropFirst().map { "      also  \($0)" }
    }

    static func mediaDeletion(_ deletion: MediaDeletionRun.Outcome, on server: ServerURL, style: Style) -> [String] {
        let label = deletion.file?.events.lazy.compactMap(\.label).first
        let file = "\(deletion.result.fileID)" + (label.map { " " + ErrorCatalogue.quoted($0) } ?? "")
        let host = TerminalText.escaped(server.scope)
        return switch deletion.result.state {
        case .deleted: ["\(style.green("deleted")) \(file) from \(host)"]
        case .gone, .entryRemoved: ["\(file) was already deleted from \(host)"]
        case .planned: ["\(file) would be deleted from \(host)"]
        case .declined: ["\(file) was not deleted"]
        case .failed: []
        }
    }
}
