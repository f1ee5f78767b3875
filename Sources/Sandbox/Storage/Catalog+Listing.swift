import Foundation
import GRDB

/// Which rows a listing shows.
struct ListingQuery: Sendable {
    /// `view=librarian`: one row an asset, without event columns.
    var isLibrarian = false
    var eventID: Int?
    /// Counts from 1.
    var page = 1
    /// Column filter texts by query name, in the little language of gighive contract 7.
    var filters: [String: String] = [:]
}

/// One row of the listing.
struct ListingEntry: Sendable {
    var asset: Asset
    var date: String
    var orgName: String
    var label: String
}

/// One page of the listing.
struct ListingPage: Sendable {
    var entries: [ListingEntry]
    var total: Int
    var page: Int
    /// Rows before this page.
    var offset: Int
}

extension Catalog {
    /// From this many rows on, the listing comes in pages of as many (gighive contract 7).
    static let pageThreshold = 750

    func listing(_ query: ListingQuery) throws -> ListingPage {
        let (condition, arguments) = condition(of: query)
        // Only the newest era has the view by asset, which shows assets of no event too.
        let isLibrarian = query.isLibrarian && dialect >= .d3
        let grouping = isLibrarian || dialect < .d3 ? "GROUP BY \(isLibrarian ? "" : "event.id, ")asset.id" : ""
        let order = isLibrarian ? "asset.id DESC" : "event.event_date DESC, event.id, event_item.position"
        let source = "FROM \(tables(isLibrarian: isLibrarian)) WHERE \(condition) \(grouping)"
        return try queue.read { db in
            let total =
                try Int.fetchOne(db, sql: "SELECT count(*) FROM (SELECT 1 \(source))", arguments: arguments) ?? 0
            let pageCount = max(1, (total + Self.pageThreshold - 1) / Self.pageThreshold)
            let page = min(max(1, query.page), pageCount)
            let offset = (page - 1) * Self.pageThreshold
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT asset.*, event.event_date, event.org_name, event_item.label \(source)
                    ORDER BY \(order)
                    LIMIT \(Self.pageThreshold) OFFSET \(offset)
                    """,
                arguments: arguments
            )
            let entries = rows.map { row in entry(row, isLibrarian: isLibrarian) }
            return ListingPage(entries: entries, total: total, page: page, offset: offset)
        }
    }

    private func tables(isLibrarian: Bool) -> String {
        if isLibrarian {
            return "asset LEFT JOIN event_item ON asset_id = asset.id LEFT JOIN event ON event.id = event_id"
        }
        guard dialect < .d3 else {
            return "asset JOIN event_item ON asset_id = asset.id JOIN event ON event.id = event_id"
        }
        // The older releases keep labels in a table of their own: a file is listed in every event that uses its label.
        return """
            event_item AS placed JOIN event ON event.id = placed.event_id
            JOIN event_item ON event_item.label = placed.label COLLATE NOCASE
            JOIN asset ON asset.id = event_item.asset_id
            """
    }

    private func entry(_ row: Row, isLibrarian: Bool) -> ListingEntry {
        guard !isLibrarian else { return ListingEntry(asset: Asset(row), date: "", orgName: "", label: "") }
        return ListingEntry(
            asset: Asset(row),
            date: row["event_date"],
            orgName: row["org_name"],
            label: dialect == .d2 ? OrganizationName.comparisonForm(row["label"]) : row["label"]
        )
    }

    /// The SQL of the filters; columns that the sandbox does not fill are empty texts.
    private func condition(of query: ListingQuery) -> (String, StatementArguments) {
        let columns = [
            "date": "event.event_date", "org_name": "event.org_name", "rating": "event.rating",
            "keywords": "event.keywords", "location": "event.location", "summary": "event.notes",
            "crew": "event_item.participants",
            dialect >= .d3 ? "item_label" : "song_title": "event_item.label", "file_type": "asset.file_type",
            "source_relpath": "asset.source_relpath", "duration_seconds": "coalesce(asset.duration_seconds, '')",
            "media_info": "''", "tag": "''",
        ]
        var conditions = ["1"]
        var arguments = StatementArguments()
        if let event = query.eventID {
            conditions.append("event.id = ?")
            arguments += [event]
        }
        for (name, text) in query.filters.sorted(by: { $0.key < $1.key }) {
            guard let column = columns[name] else { continue }
            let filter = ListingFilter(text)
            conditions.append(filter.condition(on: column))
            arguments += StatementArguments(filter.needles)
        }
        return (conditions.joined(separator: " AND "), arguments)
    }
}

/// A filter text: substrings joined by `|` (or) and `&` (and), each negated by a leading `!`.
struct ListingFilter: Equatable {
    private struct Term: Equatable {
        var needle: String
        var isNegated: Bool
    }

    private var alternatives: [[Term]]

    init(_ text: String) {
        alternatives = text.split(separator: "|").map { alternative in
            alternative.split(separator: "&").map { term in
                let isNegated = term.hasPrefix("!")
                return Term(needle: (isNegated ? term.dropFirst() : term).lowercased(), isNegated: isNegated)
            }
        }
    }

    /// What to bind to the condition's placeholders, in order.
    var needles: [String] { alternatives.joined().map(\.needle) }

    /// An SQL condition with one placeholder a term.
    func condition(on column: String) -> String {
        guard !alternatives.isEmpty else { return "1" }
        let any = alternatives.map { terms in
            terms.map { "instr(lower(\(column)), ?) \($0.isNegated ? "=" : ">") 0" }.joined(separator: " AND ")
        }
        return "(\(any.joined(separator: " OR ")))"
    }
}
