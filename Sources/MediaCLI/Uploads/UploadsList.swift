internal import ArgumentParser
internal import Foundation
internal import MediaCore
internal import MediaStore

struct UploadsList: ServerFilterCommand {
    static let schema = "mediactl.uploads-list/1"
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List uploads that can be deleted, newest first. Sends nothing.",
        discussion: """
            A guest upload is listed with its last known state and the time of the last check; mediactl uploads status \
            updates it. A file that is linked to several events has one line per event.

            Examples:
              mediactl uploads list
              mediactl uploads list --org-name "The Band" --since 2026-05-01
              mediactl uploads list --server https://media.example.org --json
            """
    )

    @OptionGroup var filter: KeptUploadOptions

    @Flag(help: "Show the delete tokens. Anyone who has a token can delete the file.")
    var showToken = false

    @OptionGroup(title: "Server") var connection: ServersOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let scope = try connection.scope(settings)
        let session = try await StoreSession.open(settings, for: .reading)
        let listing = UploadListing(
            console: console,
            store: session.store,
            host: scope,
            filter: filter,
            isTokenShown: showToken
        )
        let count = try listing.run()
        if count == 0 {
            let whose = scope.map { " for \(ErrorCatalog.clean($0))" } ?? ""
            console.note(filter.isNarrowed ? "no stored upload matches\(whose)" : "no stored delete tokens\(whose)")
            if try session.store.isEmpty() { console.hintAtBackup(in: session.directory) }
        }
        return console.finish(["items": JSONValue(count)])
    }
}

/// Filters for the stored uploads.
struct KeptUploadOptions: ParsableArguments {
    @Option("Only uploads to events on this date.", value: "yyyy-mm-dd")
    var eventDate: String?

    @Option("Only uploads to events whose organization contains this text.", value: "text")
    var orgName: String?

    @Option("Only uploads to events of this type.", value: "type")
    var eventType: String?

    @Option("Only uploads whose label or file name contains this text.", value: "text")
    var label: String?

    @Option("Only uploads since this day (local midnight) or time: 2026-05-01, 2026-05-01T18:30:00Z.", value: "time")
    var since: String?

    @Option("Maximum number of uploads to list, newest first.", value: "n")
    var limit: Int?

    func validate() throws {
        try require(limit.map({ $0 > 0 }) ?? true, "--limit must be a whole number, 1 or more.")
        try require(
            eventDate.map({ CivilTime(day: $0) != nil }) ?? true,
            "--event-date: not a valid date (YYYY-MM-DD)."
        )
    }

    var isNarrowed: Bool { [eventDate, orgName, eventType, label, since].contains { $0 != nil } }

    func selection() throws(UserFacingError) -> Selection {
        let since = try since.map { text throws(UserFacingError) in
            Date(timeIntervalSince1970: Double(try PointInTime.parse(text, flag: "--since").microseconds) / 1_000_000)
        }
        return Selection(options: self, since: since, rest: limit)
    }

    /// Filters uploads page by page.
    struct Selection {
        fileprivate let options: KeptUploadOptions
        fileprivate let since: Date?
        /// Remaining number of uploads allowed by `--limit`.
        fileprivate var rest: Int?

        var isComplete: Bool { rest == 0 }

        /// A file matches if one of its events matches.
        mutating func take(_ uploads: [KeptUpload]) -> [KeptUpload] {
            guard options.isNarrowed || rest != nil else { return uploads }
            let matching = uploads.filter { upload in
                since.map { upload.createdAt >= $0 } ?? true
                    && (upload.isIn(options) || upload.otherEvents.contains(where: options.isWanted))
            }
            let taken = rest.map { Array(matching.prefix($0)) } ?? matching
            rest = rest.map { $0 - taken.count }
            return taken
        }
    }

    fileprivate func isWanted(_ event: StoredFacts) -> Bool {
        matches(
            date: event.eventDate ?? "",
            organization: event.orgName ?? "",
            type: event.eventType ?? "",
            titles: [event.label ?? ""]
        )
    }

    /// Whether an event and its titles match, case-insensitively.
    fileprivate func matches(date: String, organization: String, type: String, titles: [String]) -> Bool {
        eventDate.map { date == $0 } ?? true && orgName.map { Self.contains($0, in: organization) } ?? true
            && eventType.map { $0.lowercased() == type.lowercased() } ?? true
            && label.map { text in titles.contains { Self.contains(text, in: $0) } } ?? true
    }

    private static func contains(_ part: String, in text: String) -> Bool {
        part.isEmpty || text.range(of: part, options: .caseInsensitive) != nil
    }
}

extension KeptUpload {
    fileprivate func isIn(_ options: KeptUploadOptions) -> Bool {
        options.matches(date: eventDate, organization: orgName, type: eventType, titles: [label ?? "", fileName])
    }
}

/// Prints the stored uploads one page at a time, so memory use does not grow with their number.
struct UploadListing {
    let console: Console
    let store: TokenStore
    let host: String?
    let filter: KeptUploadOptions
    let isTokenShown: Bool

    /// A table with more rows is read twice: once to measure it and once to print it.
    private static let rowsInMemory = 10_000

    /// Prints the uploads and returns their number.
    func run() throws -> Int {
        console.isJSON ? try printRecords() : try printTable()
    }

    private func printRecords() throws -> Int {
        var count = 0
        try forEachPage { page in
            count += page.count
            console.records(.item, page.map { JSONRenderer.kept($0, isTokenShown: isTokenShown) })
        }
        return count
    }

    /// The widths of the columns, and the rows of a short table.
    private struct Survey {
        var count = 0
        var hasGuests = false
        var widths: [Int]?
        /// The pages; nil if there are too many rows.
        var tables: [Table]? = []
    }

    private func printTable() throws -> Int {
        let now = console.context.now()
        var survey = try survey(now, hasGuests: false)
        if survey.hasGuests { survey = try self.survey(now, hasGuests: true) }
        var hasHeader = true
        let printPart = { (table: Table) in
            console.table(table, naturalWidths: survey.widths, hasHeader: hasHeader)
            hasHeader = false
        }
        if let tables = survey.tables {
            tables.forEach(printPart)
        } else {
            try forEachPage { printPart(table(of: $0, now, hasGuests: survey.hasGuests)) }
        }
        return survey.count
    }

    private func survey(_ now: Date, hasGuests: Bool) throws -> Survey {
        var survey = Survey()
        try forEachPage { page in
            survey.count += page.count
            survey.hasGuests = survey.hasGuests || page.contains(where: \.isGuest)
            let table = table(of: page, now, hasGuests: hasGuests)
            survey.widths = table.naturalWidths(atLeast: survey.widths)
            if survey.count <= Self.rowsInMemory { survey.tables?.append(table) } else { survey.tables = nil }
        }
        return survey
    }

    private func table(of page: [KeptUpload], _ now: Date, hasGuests: Bool) -> Table {
        TextRenderer.table(of: page, now: now, isTokenShown: isTokenShown, hasGuests: hasGuests)
    }

    /// Calls `body` with the matching uploads of each page until standard output is closed.
    private func forEachPage(_ body: ([KeptUpload]) throws -> Void) throws {
        var selection = try filter.selection()
        // The table has columns only for the details that were sent, and separate rows for other events.
        var pages = try KeptUploadPages(of: store, host: host, isTable: !console.isJSON)
        while !selection.isComplete, console.mayContinue, let page = try pages.next() {
            let matching = selection.take(page)
            // A filter may match nothing on a page.
            if !matching.isEmpty { try body(matching) }
        }
    }
}

extension TextRenderer {
    /// The table printed by `uploads list`, or part of it.
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
            let id = String(upload.fileID)
            var tail = [
                Formats.bytes(upload.sizeBytes), Formats.age(of: upload.createdAt, now: now),
                TerminalText.escaped(upload.host),
            ]
            if hasGuests { tail.append(upload.isGuest ? guestState(of: upload, now: now) : "-") }
            if isTokenShown { tail.append(TerminalText.escaped(upload.token?.secret ?? "-")) }
            table.append(
                [
                    id, TerminalText.escaped(upload.eventDate), TerminalText.escaped(upload.orgName),
                    TerminalText.escaped(upload.eventType),
                    TerminalText.escaped(upload.title) + (upload.isGuest ? " (guest)" : ""),
                ] + tail
            )
            for event in upload.otherEvents {
                table.append(
                    [
                        id, TerminalText.escaped(event.eventDate ?? "-"), TerminalText.escaped(event.orgName ?? "-"),
                        TerminalText.escaped(event.eventType ?? "-"),
                        TerminalText.escaped(event.label ?? upload.title) + " (linked)",
                    ] + tail
                )
            }
        }
        return table
    }
}
