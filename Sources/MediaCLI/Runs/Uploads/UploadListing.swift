internal import Foundation
internal import MediaStore

/// Prints the stored uploads, a page at a time: memory does not grow with their number.
struct UploadListing {
    let console: Console
    let store: TokenStore
    let host: String?
    let filter: KeptUploadOptions
    let isTokenShown: Bool

    /// A table of more rows is measured first, and read again to print it.
    private static let rowsInMemory = 10_000

    /// Prints the uploads.
    ///
    /// - Returns: How many there are.
    /// - Throws: `StoreError`, `Diagnosis`.
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
        guard let tables = survey.tables else { return try printPages(now, survey) }
        var hasHeader = true
        for table in tables {
            printPart(table, survey.widths, hasHeader: hasHeader)
            hasHeader = false
        }
        return survey.count
    }

    private func survey(_ now: Date, hasGuests: Bool) throws -> Survey {
        var survey = Survey()
        // A filter may leave nothing of a page.
        try forEachPage { page in
            guard !page.isEmpty else { return }
            survey.count += page.count
            survey.hasGuests = survey.hasGuests || page.contains(where: \.isGuest)
            let table = table(of: page, now, hasGuests: hasGuests)
            survey.widths = table.naturalWidths(atLeast: survey.widths)
            if survey.count <= Self.rowsInMemory { survey.tables?.append(table) } else { survey.tables = nil }
        }
        return survey
    }

    private func printPages(_ now: Date, _ survey: Survey) throws -> Int {
        var count = 0
        try forEachPage { page in
            guard !page.isEmpty else { return }
            printPart(table(of: page, now, hasGuests: survey.hasGuests), survey.widths, hasHeader: count == 0)
            count += page.count
        }
        return count
    }

    private func printPart(_ table: Table, _ widths: [Int]?, hasHeader: Bool) {
        console.text(
            table.lines(
                fitting: console.outputWidth,
                style: console.outputStyle,
                naturalWidths: widths,
                hasHeader: hasHeader
            )
        )
    }

    private func table(of page: [KeptUpload], _ now: Date, hasGuests: Bool) -> Table {
        TextRenderer.table(of: page, now: now, isTokenShown: isTokenShown, hasGuests: hasGuests)
    }

    /// Calls `body` with the matching uploads of each page, until nobody reads them any more.
    private func forEachPage(_ body: ([KeptUpload]) throws -> Void) throws {
        var selection = try filter.selection()
        var pages = try KeptUploadPages(of: store, host: host)
        while !selection.isComplete, console.mayGoOn, let page = try pages.next() {
            try body(selection.take(page))
        }
    }
}
