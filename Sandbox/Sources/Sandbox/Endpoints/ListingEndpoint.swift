import GRDB
import HTTPTypes

/// `GET /db/database.php` (gighive contract 7).
struct ListingEndpoint {
    /// The number of rows per page, and the number of rows at which the listing becomes paginated.
    private static let pageSize = 750

    let catalog: Catalog

    private var isNew: Bool { catalog.dialect >= .d3 }

    func response(query: QueryParameters) throws -> Response {
        guard query["format"] == "json" else {
            return Response(.ok, .application, .html(Response.page("Media library")))
        }
        let (condition, arguments) = condition(query)
        // The librarian view, which exists from D3 on, has one row per asset, without event columns, and includes
        // assets without an event.
        let isLibrarian = query["view"] == "librarian" && isNew
        let grouping = isLibrarian || !isNew ? "GROUP BY \(isLibrarian ? "" : "event.id, ")asset.id" : ""
        let order = isLibrarian ? "asset.id DESC" : "event.event_date DESC, event.id, event_item.position"
        let source = "FROM \(tables(isLibrarian: isLibrarian)) WHERE \(condition) \(grouping)"
        return try catalog.queue.read { db in
            let total =
                try Int.fetchOne(db, sql: "SELECT count(*) FROM (SELECT 1 \(source))", arguments: arguments) ?? 0
            let pageCount = max(1, (total + Self.pageSize - 1) / Self.pageSize)
            let page = min(max(1, query["page"].flatMap { Int($0) } ?? 1), pageCount)
            let offset = (page - 1) * Self.pageSize
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT asset.*, event.event_date, event.org_name, event_item.label \(source)
                    ORDER BY \(order) LIMIT \(Self.pageSize) OFFSET \(offset)
                    """,
                arguments: arguments
            )
            let entries = try rows.enumerated().map { index, row in
                try entry(row, index: offset + index + 1, isLibrarian: isLibrarian)
            }
            let pagination: JSONValue = [
                "enabled": .bool(total >= Self.pageSize), "total": .int(total), "threshold": .int(Self.pageSize),
                "page": .int(page), "pageSize": .int(Self.pageSize), "pageCount": .int(pageCount),
                "start": .int(rows.isEmpty ? 0 : offset + 1), "end": .int(offset + rows.count),
            ]
            return .json(.ok, ["pagination": pagination, "entries": .array(entries)])
        }
    }

    private func tables(isLibrarian: Bool) -> String {
        if isLibrarian {
            return "asset LEFT JOIN event_item ON asset_id = asset.id LEFT JOIN event ON event.id = event_id"
        }
        if isNew { return "asset JOIN event_item ON asset_id = asset.id JOIN event ON event.id = event_id" }
        // The older releases have a table of labels: a file is listed in every event that contains its label.
        return """
            event_item AS placed JOIN event ON event.id = placed.event_id
            JOIN event_item ON event_item.label = placed.label COLLATE NOCASE
            JOIN asset ON asset.id = event_item.asset_id
            """
    }

    private func entry(_ row: Row, index: Int, isLibrarian: Bool) throws -> JSONValue {
        let asset = try Asset(row: row)
        func text(_ column: String) -> String { isLibrarian ? "" : row[column] }
        let label = catalog.dialect == .d2 ? OrganizationName.comparisonForm(text("label")) : text("label")
        let clock = asset.duration.map {
            [$0 / 3600, $0 / 60 % 60, $0 % 60].map { padded($0, 2) }.joined(separator: ":")
        }
        var json: JSONValue = [
            "id": .int(asset.id), "index": .int(index), "date": .string(text("event_date")),
            "org_name": .string(text("org_name")), "duration": .string(clock ?? ""),
            "duration_seconds": .int(asset.duration ?? 0), "song_title": .string(label),
            "file_type": .string(asset.kind.rawValue), "file_name": .string(asset.fileName),
            "url": .string("/\(asset.kind.rawValue)/\(asset.fileName)"), "media_summary": "",
        ]
        if catalog.dialect != .d1 { json["media_created_at"] = "" }
        return json
    }

    /// The filters in SQL.
    private func condition(_ query: QueryParameters) -> (String, StatementArguments) {
        let columns = [
            "date": "event.event_date", "org_name": "event.org_name", "rating": "event.rating",
            "keywords": "event.keywords", "location": "event.location", "summary": "event.notes",
            "crew": "event_item.participants", isNew ? "item_label" : "song_title": "event_item.label",
            "file_type": "asset.kind", "source_relpath": "asset.source_name",
            "duration_seconds": "coalesce(asset.duration, '')", "media_info": "''", "tag": "''",
        ]
        var conditions = ["1"]
        var arguments = StatementArguments()
        if let event = query["event_id"].flatMap({ Int($0) }) {
            conditions.append("event.id = ?")
            arguments += [event]
        }
        for (name, text) in query.all.sorted(by: { $0.key < $1.key }) {
            guard let column = columns[name], !text.isEmpty else { continue }
            // Substrings, combined with the operators `|`, `&` and `!`.
            let alternatives = text.split(separator: "|").map { alternative -> String in
                alternative.split(separator: "&").map { term -> String in
                    arguments += [term.drop { $0 == "!" }.lowercased()]
                    return "instr(lower(\(column)), ?) \(term.hasPrefix("!") ? "=" : ">") 0"
                }
                .joined(separator: " AND ")
            }
            if !alternatives.isEmpty { conditions.append("(\(alternatives.joined(separator: " OR ")))") }
        }
        return (conditions.joined(separator: " AND "), arguments)
    }
}
