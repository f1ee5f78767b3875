import HTTPTypes
import HummingbirdCore

/// `/video/<sha256>.<ext>` and `/audio/<sha256>.<ext>`, with single ranges (gighive contract 7).
struct MediaEndpoint {
    let catalog: Catalog

    func response(_ kind: MediaKind, _ fileName: String, _ request: Request) throws -> Response {
        guard request.method == .get || request.method == .head else { return .webServerError(.methodNotAllowed) }
        let asset = try catalog.asset(kind: kind, fileName: fileName)
        // Also serves files without a row, as after a lost race on D1 and D2.
        guard asset != nil || fileName.wholeMatch(of: /[0-9a-f]{64}(\.[a-z0-9]+)?/) != nil,
            let file = StoredRange(path: catalog.folder.mediaPath(kind, fileName))
        else { return .webServerError(.notFound) }
        return Self.response(serving: file, type: asset?.mimeType ?? "\(kind.rawValue)/mpeg", request)
    }

    /// Any stored file, with or without a row, also below `/media/`, as PHP serves it in D4 (gighive-d4 contract 2, 7).
    func stream(_ kinds: [MediaKind], _ fileName: String, _ request: Request) -> Response {
        guard fileName.wholeMatch(of: /[0-9a-f]{64}\.[A-Za-z0-9]{2,5}/) != nil else { return .emptyPHP(.badRequest) }
        guard let file = kinds.lazy.compactMap({ StoredRange(path: catalog.folder.mediaPath($0, fileName)) }).first
        else {
            return .emptyPHP(.notFound)
        }
        // The type depends on the extension, not on the row.
        let type = Self.types[fileExtension(fileName)] ?? "application/octet-stream"
        let response = Self.response(serving: file, type: type, request)
        guard response.status.kind == .successful else { return response }
        return response.with {
            $0.headers += [
                ("ETag", "\"\(Digest.hex(of: "\(fileName) \(file.modifiedAt)"))\""),
                ("Cache-Control", "private, max-age=3600"),
            ]
        }
    }

    static func response(serving file: StoredRange, type: String, _ request: Request) -> Response {
        Response(.ok, .application, .empty, [("Accept-Ranges", "bytes"), ("Content-Type", type)])
            .serving(file, request.headers[.range], refusal: .webServerError(.rangeNotSatisfiable))
    }

    private static let types = [
        "mp4": "video/mp4", "mov": "video/quicktime", "webm": "video/webm", "mkv": "video/x-matroska",
        "avi": "video/x-msvideo", "mp3": "audio/mpeg", "wav": "audio/wav", "aac": "audio/aac", "ogg": "audio/ogg",
        "m4a": "audio/mp4", "flac": "audio/flac",
    ]
}

/// `GET /api/uploads/<id>` (gighive contract 2.5).
struct AssetEndpoint {
    let catalog: Catalog

    func response(id: Int) throws -> Response {
        guard let (asset, eventID, position) = try catalog.asset(id) else {
            return .json(.notFound, ["error": "Not Found"])
        }
        let isNew = catalog.dialect >= .d3
        var json: JSONValue = ["id": .int(asset.id)]
        if isNew { json["asset_id"] = .int(asset.id) }
        json["file_name"] = .string(asset.fileName)
        if isNew { json["file_ext"] = .string(asset.fileExtension) }
        json["file_type"] = .string(asset.kind.rawValue)
        json["mime_type"] = .string(asset.mimeType)
        json["size_bytes"] = .int(asset.size)
        json["checksum_sha256"] = .string(asset.checksum)
        if isNew {
            json["duration_seconds"] = JSONValue(asset.duration)
            json["source_relpath"] = .string(asset.sourceName)
        } else {
            json["session_id"] = JSONValue(eventID)
            json["seq"] = JSONValue(position)
            json["created_at"] = .string(asset.createdAt)
        }
        return .json(.ok, json)
    }
}
