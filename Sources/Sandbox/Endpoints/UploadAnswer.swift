import HTTPTypes

/// The JSON of a 201, key by key (gighive contract 2.2).
struct UploadAnswer {
    let record: IngestRecord

    init(_ record: IngestRecord) {
        self.record = record
    }

    func json(_ dialect: Dialect) -> JSONObject {
        var object = dialect >= .d3 ? assetAnswer : fileAnswer
        // Missing, not null, when the bytes were known.
        if let token = record.deleteToken { object["delete_token"] = .string(token) }
        return object
    }

    private var assetAnswer: JSONObject {
        let start: JSONObject = [
            "id": .int(record.asset.id),
            "asset_id": .int(record.asset.id),
            "event_id": .int(record.eventID),
            "event_item_id": .int(record.itemID),
            "position": .int(record.position),
        ]
        return JSONObject(
            members: start.members + stored(fileName: record.asset.fileName) + event + label
        )
    }

    private var fileAnswer: JSONObject {
        let start: JSONObject = ["id": .int(record.asset.id)]
        let session: JSONObject = ["session_id": .int(record.eventID)]
        let sequence: JSONObject = ["seq": .int(record.position)]
        return JSONObject(
            members: start.members + stored(fileName: readableName) + session.members + event + sequence.members
                + label
        )
    }

    private func stored(fileName: String) -> [JSONObject.Member] {
        let object: JSONObject = [
            "file_name": .string(fileName),
            "file_type": .string(record.asset.kind.rawValue),
            "mime_type": .string(record.asset.mimeType),
            "size_bytes": .int(record.asset.size),
            "checksum_sha256": .string(record.asset.checksum),
        ]
        return object.members
    }

    private var event: [JSONObject.Member] {
        let object: JSONObject = [
            "event_date": .string(record.fields.eventDate),
            "org_name": .string(record.fields.orgName),
            "event_type": JSONValue(record.eventType),
        ]
        return object.members
    }

    private var label: [JSONObject.Member] {
        let object: JSONObject = [
            "label": .string(record.fields.label),
            "participants": .string(record.fields.participants),
            "keywords": .string(record.keywords),
            "duration_seconds": JSONValue(record.asset.duration),
        ]
        return object.members
    }

    /// D1 and D2 show a name like `stormpigs20260215_00001_time-average.mp4`, which is not the served one (trap T16).
    private var readableName: String {
        let date = record.fields.eventDate.filter(\.isNumber)
        let name =
            "\(slug(record.fields.orgName))\(date)_\(padded(record.position, 5))_\(slug(record.fields.label))"
        return record.asset.fileExtension.isEmpty ? name : "\(name).\(record.asset.fileExtension)"
    }

    /// ASCII letters and digits; every run of other characters is one hyphen.
    private func slug(_ text: String) -> String {
        text.lowercased().split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }.joined(separator: "-")
    }
}

extension IngestOutcome {
    /// The answer that every way of uploading gives (gighive contract 2.2, 3).
    func reply(in dialect: Dialect) -> Reply {
        switch self {
        case .stored(let record):
            return .json(.created, .object(UploadAnswer(record).json(dialect)))
        case .storedThenFailed(let message), .refused(let message):
            return .serverError(.string(message))
        case .collision(let entry, _):
            return .serverError(.string(entry.message))
        case .duplicate(let id, let checksum):
            return .json(
                .conflict,
                .object([
                    "error": "Duplicate Upload",
                    "message": .string(
                        "A file with the same checksum_sha256 already exists on the server. "
                            + "Upload rejected to prevent duplicates."
                    ),
                    dialect.existingIDKey: .int(id),
                    "checksum_sha256": .string(checksum),
                ])
            )
        }
    }
}

extension Reply {
    /// The HTML page that stands for the JSON of an upload when the client takes HTML (gighive contract 2.3).
    func asPage(when wantsHTML: Bool) -> Reply {
        guard wantsHTML, origin == .application, case .json(let value) = body else { return self }
        var page = self
        page.body = .html(HTMLPages.uploadResult(value, succeeded: status.kind == .successful))
        return page
    }
}
