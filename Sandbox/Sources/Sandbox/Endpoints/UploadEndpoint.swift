import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore

/// `POST /api/uploads.php`, `/api/uploads` and `/api/media-files` (gighive contract 2).
struct UploadEndpoint {
    /// The application's own limit: 6 GiB (gighive contract 2.6).
    static let applicationLimit = 6_442_450_944

    /// Apache's limit for a request body; tus is not subject to it.
    static let maxBody = 1 << 30

    let catalog: Catalog

    func response(to exchange: Exchange) async throws -> Response {
        try await jsonResponse(to: exchange).asPage(when: exchange.wantsHTML)
    }

    private func jsonResponse(to exchange: Exchange) async throws -> Response {
        guard exchange.contentType.value.lowercased() == "multipart/form-data" else {
            try await exchange.readBody()
            guard exchange.hasBody else { return .badRequest("Missing file field") }
            return exchange.path == "/api/uploads" ? Self.tooLarge : .webServerError(.unsupportedMediaType)
        }
        // Parts are handled as in PHP's `$_POST` and `$_FILES`. Files with other field names are ignored.
        let form = FormReader(exchange.contentType, folder: catalog.folder) { header, _ in
            guard header.fileName != nil else { return .kept }
            return ["file", "file[]"].contains(header.name) ? .stored : .dropped
        }
        var bodySize = 0
        try await exchange.readBody { piece in
            bodySize += piece.readableBytes
            // Errors are reported only after the whole body; bytes beyond the limit are not stored.
            if bodySize <= Self.maxBody { form.consume(piece) }
        }
        if bodySize > Self.maxBody { return .webServerError(.requestEntityTooLarge) }
        if let limit = exchange.plan[.postLimit]?.number, bodySize > limit { return Self.tooLarge }
        return try await judge(form, exchange.plan)
    }

    /// The error for a missing file, whatever the reason (trap T4).
    private static let tooLarge = Response.failure(
        .requestEntityTooLarge,
        "Payload Too Large",
        "Upload exceeded server limits (post_max_size / upload_max_filesize or web server request size)."
    )

    private func judge(_ form: FormReader, _ plan: FaultPlan) async throws -> Response {
        let files = form.parts.filter { $0.header.fileName != nil && ["file", "file[]"].contains($0.name) }
        guard files.count <= 1, files.first?.name != "file[]" else {
            return .badRequest("Multiple files not supported yet")
        }
        // PHP's codes: 7 for a write error, 3 for an incomplete form, 4 for an empty name.
        if form.couldNotWrite { return .serverError("Upload failed with code 7") }
        guard let part = files.first, let file = part.file else { return Self.tooLarge }
        guard form.isComplete else { return .serverError("Upload failed with code 3") }
        guard part.header.fileName != "" else { return .serverError("Upload failed with code 4") }
        if let limit = plan[.fileLimit]?.number, file.size > limit { return .serverError("Upload failed with code 1") }
        let suffix = fileExtension(part.header.fileName ?? "").filter { $0.isASCII && ($0.isLetter || $0.isNumber) }
        let kind = MediaKind.judged(declaredType: part.header.contentType, fileExtension: suffix, prefix: file.prefix)
        let refusal: Response? =
            if file.size == 0 {
                .badRequest("Empty upload")
            } else if file.size > Self.applicationLimit {
                .badRequest("File too large (exceeds application limit)")
            } else {
                kind == nil ? .badRequest("Unsupported media type") : nil
            }
        let fields: UploadFields
        do {
            let texts = form.parts.filter { $0.header.fileName == nil }.map { ($0.name, $0.text) }
            fields = try UploadFields(Dictionary(texts) { $1 }, dialect: catalog.dialect)
        } catch {
            if case .database = error, let refusal { return refusal }
            return error.response
        }
        if let refusal { return refusal }
        guard let kind, let digest = file.finishDigest() else { return .badRequest("Unsupported media type") }
        let submission = Submission(
            fields: fields,
            file: file,
            checksum: hexString(digest),
            kind: kind,
            fileExtension: suffix,
            mimeType: part.header.contentType,
            sourceName: part.header.fileName ?? ""
        )
        return try await catalog.ingest(submission).response(in: catalog.dialect)
    }
}

extension IngestRecord {
    /// The JSON of a 201, key by key (gighive contract 2.2).
    func json(_ dialect: Dialect) -> JSONValue {
        let isNew = dialect >= .d3
        var json: JSONValue = ["id": .int(asset.id)]
        if isNew {
            json["asset_id"] = .int(asset.id)
            json["event_id"] = .int(eventID)
            json["event_item_id"] = .int(itemID)
            json["position"] = .int(position)
        }
        json["file_name"] = .string(isNew ? asset.fileName : readableName)
        json["file_type"] = .string(asset.kind.rawValue)
        json["mime_type"] = .string(asset.mimeType)
        json["size_bytes"] = .int(asset.size)
        json["checksum_sha256"] = .string(asset.checksum)
        if !isNew { json["session_id"] = .int(eventID) }
        json["event_date"] = .string(fields.eventDate)
        json["org_name"] = .string(fields.orgName)
        json["event_type"] = JSONValue(eventType)
        if !isNew { json["seq"] = .int(position) }
        json["label"] = .string(fields.label)
        json["participants"] = .string(fields.participants)
        json["keywords"] = .string(keywords)
        json["duration_seconds"] = JSONValue(asset.duration)
        // The token is absent, not null, if the bytes were already on the server.
        json["delete_token"] = deleteToken.map(JSONValue.string)
        return json
    }

    /// The name in D1 and D2, such as `stormpigs20260215_00001_time-average.mp4`; the file is not served under it (trap T16).
    private var readableName: String {
        let date = fields.eventDate.filter(\.isNumber)
        let name = "\(slug(fields.orgName))\(date)_\(padded(position, 5))_\(slug(fields.label))"
        return Asset.fileName(name, asset.fileExtension)
    }

    /// ASCII letters and digits, joined by hyphens.
    private func slug(_ text: String) -> String {
        text.lowercased().split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }.joined(separator: "-")
    }
}

extension IngestOutcome {
    /// The response to every kind of upload (gighive contract 2.2, 3).
    func response(in dialect: Dialect) -> Response {
        switch self {
        case .stored(let record): return .json(.created, record.json(dialect))
        case .storedThenFailed(let message), .refused(let message): return .serverError(message)
        case .collision(let entry): return .serverError(entry.message)
        case .duplicate(let id, let checksum):
            var json: JSONValue = [
                "error": "Duplicate Upload",
                "message": """
                A file with the same checksum_sha256 already exists on the server. Upload rejected to prevent duplicates.
                """,
            ]
            json[dialect.existingIDKey] = .int(id)
            json["checksum_sha256"] = .string(checksum)
            return .json(.conflict, json)
        }
    }
}
