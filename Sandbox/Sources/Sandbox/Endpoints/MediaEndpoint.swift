import Foundation
import HTTPTypes
import HummingbirdCore

/// `/video/<sha256>.<ext>` and `/audio/<sha256>.<ext>`, with single ranges (gighive contract 7).
struct MediaEndpoint {
    let catalog: Catalog

    func reply(_ kind: MediaKind, _ fileName: String, _ request: Request) throws -> Reply {
        guard request.method == .get || request.method == .head else { return .webServerError(.methodNotAllowed) }
        if let asset = try catalog.asset(kind: kind, fileName: fileName) { return reply(serving: asset, request) }
        guard let file = orphan(kind, fileName) else { return .webServerError(.notFound) }
        return Reply(
            status: .ok,
            origin: .application,
            body: .file(StoredRange(file: file, offset: 0, count: file.size)),
            headers: [("Accept-Ranges", "bytes"), ("Content-Type", "\(kind.rawValue)/mpeg")]
        )
    }

    /// Bytes without a row, which a lost race on D1 and D2 leaves behind: they are served like any others.
    private func orphan(_ kind: MediaKind, _ fileName: String) -> OpenFile? {
        guard fileName.wholeMatch(of: /[0-9a-f]{64}(\.[a-z0-9]+)?/) != nil else { return nil }
        return OpenFile(path: catalog.folder.mediaPath(kind, fileName))
    }

    /// The bytes of an asset, or the range of them that was asked for.
    func reply(serving asset: Asset, _ request: Request) -> Reply {
        let path = catalog.folder.mediaPath(asset.kind, asset.fileName)
        let file = StoredRange(path: path, offset: 0, count: asset.size)
        return Self.reply(serving: file, type: asset.mimeType, request)
    }

    /// The bytes of a whole file, or the range of them that was requested.
    static func reply(serving file: StoredRange, type: String, _ request: Request) -> Reply {
        let size = file.count
        var reply = Reply(
            status: .ok,
            origin: .application,
            body: .file(file),
            headers: [("Accept-Ranges", "bytes"), ("Content-Type", type)]
        )
        guard let header = request.headers[.range], let range = ByteRange(header, size: size) else { return reply }
        guard let bytes = range.bytes else {
            reply = .webServerError(.rangeNotSatisfiable)
            reply.headers.append(("Content-Range", "bytes */\(size)"))
            return reply
        }
        var part = file
        part.offset = bytes.lowerBound
        part.count = bytes.count
        reply.status = .partialContent
        reply.body = .file(part)
        reply.headers.append(("Content-Range", "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(size)"))
        return reply
    }
}

/// `GET /api/uploads/<id>`: the cheap question whether an asset exists (gighive contract 2.5).
struct AssetEndpoint {
    let catalog: Catalog

    func reply(id: Int) throws -> Reply {
        guard let place = try catalog.asset(id) else { return .json(.notFound, ["error": "Not Found"]) }
        let asset = place.asset
        guard catalog.dialect >= .d3 else { return .json(.ok, fileJSON(place)) }
        return .json(
            .ok,
            [
                "id": .int(asset.id),
                "asset_id": .int(asset.id),
                "file_name": .string(asset.fileName),
                "file_ext": .string(asset.fileExtension),
                "file_type": .string(asset.kind.rawValue),
                "mime_type": .string(asset.mimeType),
                "size_bytes": .int(asset.size),
                "checksum_sha256": .string(asset.checksum),
                "duration_seconds": JSONValue(asset.duration),
                "source_relpath": .string(asset.sourceName),
            ]
        )
    }

    private func fileJSON(_ place: AssetPlace) -> JSONValue {
        let asset = place.asset
        return [
            "id": .int(asset.id),
            "file_name": .string(asset.fileName),
            "file_type": .string(asset.kind.rawValue),
            "mime_type": .string(asset.mimeType),
            "size_bytes": .int(asset.size),
            "checksum_sha256": .string(asset.checksum),
            "session_id": JSONValue(place.eventID),
            "seq": JSONValue(place.position),
            "created_at": .string(asset.createdAt),
        ]
    }
}

/// `/video/`, `/audio/` and `/media/` as PHP serves them in D4: any stored file, with or without a row (gighive-d4
/// contract 2, 7).
struct StreamEndpoint {
    let folder: DataFolder

    /// Searches the directories of these kinds.
    func reply(_ kinds: [MediaKind], _ fileName: String, _ request: Request) -> Reply {
        guard fileName.wholeMatch(of: /[0-9a-f]{64}\.[A-Za-z0-9]{2,5}/) != nil else { return .emptyPHP(.badRequest) }
        let files = kinds.lazy.compactMap { OpenFile(path: folder.mediaPath($0, fileName)) }
        guard let file = files.first else { return .emptyPHP(.notFound) }
        var reply = MediaEndpoint.reply(
            serving: StoredRange(file: file, offset: 0, count: file.size),
            type: Self.type(of: fileName),
            request
        )
        if reply.status.kind == .successful {
            reply.headers += [
                ("ETag", "\"\(Digest.hex(of: "\(fileName) \(file.modifiedAt)"))\""),
                ("Cache-Control", "private, max-age=3600"),
            ]
        }
        return reply
    }

    /// The type follows the extension, not the row: a `.bin` is `application/octet-stream` whatever it contains.
    private static func type(of fileName: String) -> String {
        switch fileName.split(separator: ".").last {
        case "mp4": "video/mp4"
        case "mov": "video/quicktime"
        case "webm": "video/webm"
        case "mkv": "video/x-matroska"
        case "avi": "video/x-msvideo"
        case "mp3": "audio/mpeg"
        case "wav": "audio/wav"
        case "aac": "audio/aac"
        case "ogg": "audio/ogg"
        case "m4a": "audio/mp4"
        case "flac": "audio/flac"
        default: "application/octet-stream"
        }
    }
}

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
