internal import GigHive
internal import MediaCore
internal import MediaTransport

extension Console {
    /// Writes a list of files and its summary. Returns `emptyCode` if the list is empty.
    func list(_ files: [ServerMedia], on server: ServerURL, withDetails: Bool, emptyCode: ExitCode) -> ExitCode {
        records(.item, files.map { JSONRenderer.media($0, on: server) })
        table(TextRenderer.media(files, withDetails: withDetails))
        return ending(files.isEmpty ? emptyCode : .success).summary([
            "server": .string(server.description), "items": JSONValue(files.count),
        ])
    }
}

extension JSONRenderer {
    static func media(_ file: ServerMedia, on server: ServerURL) -> JSONObject {
        [
            "file_id": .integer(file.fileID), "server": .string(server.description),
            "events": .array(file.events.map(event)), "file_name": JSONValue(file.fileName),
            "file_type": JSONValue(file.fileType), "mime_type": JSONValue(file.mimeType),
            "size_bytes": JSONValue(file.sizeBytes), "checksum_sha256": JSONValue(file.checksumSHA256),
            "duration_seconds": JSONValue(file.durationSeconds), "source_name": JSONValue(file.sourceName),
            "uploaded_at": JSONValue(file.createdAt), "media_created_at": JSONValue(file.mediaCreatedAt),
            "media_url": JSONValue(file.path.map { server.description + $0 }),
        ]
    }

    static func event(_ event: ServerMedia.Event) -> JSONValue {
        .object([
            "event_date": JSONValue(event.date), "org_name": JSONValue(event.orgName),
            "event_type": JSONValue(event.eventType), "label": JSONValue(event.label),
        ])
    }
}

extension TextRenderer {
    /// The table of `media list` and `media find`: one row for each event of a file.
    static func media(_ files: [ServerMedia], withDetails: Bool) -> Table {
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
            // A file without an event also gets a row.
            for event in file.events.isEmpty ? [nil] : file.events.map(Optional.some) {
                table.append(cells(of: file, event, withDetails: withDetails))
            }
        }
        return table
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

    /// A file in a prompt: one line for the first event, one for each further event.
    static func brief(_ file: ServerMedia) -> [String] {
        let size = file.sizeBytes.map { Formats.bytes($0) + ", " } ?? ""
        let facts = "(\(size)sha-256 \(optional(file.checksumSHA256)))"
        let events = file.events.map { event in
            [optional(event.date), optional(event.orgName), event.label.map { ErrorCatalog.quoted($0) } ?? "-"]
                .joined(separator: "  ")
        }
        let first = "  \(file.fileID)  \(events.first ?? "no event")  \(facts)"
        return [first] + events.dropFirst().map { "      also  \($0)" }
    }

    static func optional(_ text: String?) -> String { text.map { TerminalText.escaped($0) } ?? "-" }
}
