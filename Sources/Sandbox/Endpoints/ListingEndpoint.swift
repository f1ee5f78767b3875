import HTTPTypes

/// `GET /db/database.php` (gighive contract 7).
struct ListingEndpoint {
    let catalog: Catalog

    func reply(query: QueryParameters) throws -> Reply {
        var listing = ListingQuery()
        listing.isLibrarian = query["view"] == "librarian"
        listing.eventID = query["event_id"].flatMap { Int($0) }
        listing.page = query["page"].flatMap { Int($0) } ?? 1
        listing.filters = query.all
        let page = try catalog.listing(listing)
        guard query["format"] == "json" else { return htmlReply(page) }
        return Reply(status: .ok, origin: .application, body: .prettyJSON(json(page)))
    }

    private func json(_ page: ListingPage) -> JSONValue {
        let size = Catalog.pageThreshold
        return [
            "pagination": [
                "enabled": .bool(page.total >= size),
                "total": .int(page.total),
                "threshold": .int(size),
                "page": .int(page.page),
                "pageSize": .int(size),
                "pageCount": .int(max(1, (page.total + size - 1) / size)),
                "start": .int(page.entries.isEmpty ? 0 : page.offset + 1),
                "end": .int(page.offset + page.entries.count),
            ],
            "entries": .array(
                page.entries.enumerated().map { index, entry in json(entry, index: page.offset + index + 1) }
            ),
        ]
    }

    private func json(_ entry: ListingEntry, index: Int) -> JSONValue {
        let asset = entry.asset
        var object: JSONObject = [
            "id": .int(asset.id),
            "index": .int(index),
            "date": .string(entry.date),
            "org_name": .string(entry.orgName),
            "duration": .string(asset.duration.map(Self.clock) ?? ""),
            "duration_seconds": .int(asset.duration ?? 0),
            "song_title": .string(entry.label),
            "file_type": .string(asset.kind.rawValue),
            "file_name": .string(asset.fileName),
            "url": .string("/\(asset.kind.rawValue)/\(asset.fileName)"),
            "media_summary": "",
        ]
        if catalog.dialect != .d1 { object["media_created_at"] = "" }
        return .object(object)
    }

    /// `HH:MM:SS`.
    private static func clock(_ seconds: Int) -> String {
        [seconds / 3600, seconds / 60 % 60, seconds % 60].map(twoDigits).joined(separator: ":")
    }

    private func htmlReply(_ page: ListingPage) -> Reply {
        let rows = page.entries.map { entry in
            let cells = [entry.date, entry.orgName, entry.label, entry.asset.fileName].map(HTMLPages.escaped)
            return "<tr id=\"media-\(entry.asset.id)\"><td>\(cells.joined(separator: "</td><td>"))</td></tr>"
        }
        let page = """
            <!doctype html>
            <title>Media library</title>
            <table>
            \(rows.joined(separator: "\n"))
            </table>

            """
        return Reply(status: .ok, origin: .application, body: .html(page))
    }
}
