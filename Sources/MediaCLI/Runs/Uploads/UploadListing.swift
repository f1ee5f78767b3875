internal import Foundation
internal import MediaStore

/// Prints the stored uploads, a page at a time: memory does not grow with their number.
struct UploadListing {
    let console: Console
    let store: TokenStore
    let host: String?
    let filter: KeptUploadOptions
    let isTokenShown: Bool

    /// A table of more rows is measured first and then read once more.
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

    private func printTable() throws -> Int {
        let now = console.context.now()
        var count = 0
        var first: [KeptUpload] = []
        var hasGuests = false
        var widths: [Int]?
        try forEachPage { page in
            count += page.count
            let isShort = count <= Self.rowsInMemory
            if isShort { first += page }
            hasGuests = hasGuests || page.contains(where: \.isGuest)
            // A column for guests may come with a later page, so all columns are measured as if there was one.
            widths = isShort ? widths : table(of: page, now, hasGuests: true).naturalWidths(atLeast: widths)
        }
        guard count > Self.rowsInMemory else {
            console.text(
                TextRenderer.kept(
                    first,
                    now: now,
                    width: console.outputWidth,
                    isTokenShown: isTokenShown,
                    style: console.outputStyle
                )
            )
            return count
        }
        widths = table(of: first, now, hasGuests: true).naturalWidths(atLeast: widths)
        first = []
        return try printParts(now, hasGuests: hasGuests, widths: Self.widths(widths ?? [], hasGuests: hasGuests))
    }

    private func printParts(_ now: Date, hasGuests: Bool, widths: [Int]) throws -> Int {
        var count = 0
        try forEachPage { page in
            let table = table(of: page, now, hasGuests: hasGuests)
            console.text(
                table.lines(
                    fitting: console.outputWidth,
                    style: console.outputStyle,
                    naturalWidths: widths,
                    hasHeader: count == 0
                )
            )
            count += page.count
        }
        return count
    }

    /// Without the column of guests, which is the ninth, if there are none.
    private static func widths(_ widths: [Int], hasGuests: Bool) -> [Int] {
        hasGuests ? widths : widths.enumerated().filter { $0.offset != 8 }.map(\.element)
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
