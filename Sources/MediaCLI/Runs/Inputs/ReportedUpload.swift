internal import Foundation

/// An upload as a report tells it, or a record of `upload --json` (`docs/json.md`).
struct ReportedUpload: Decodable {
    var schema: String?
    var type: String?
    var path: String?
    var pathBase64: String?
    var uploadId: String?
    var state: String?
    var fileId: Int64?
    var checksumSha256: String?
    var eventDate: String?
    var orgName: String?
    var eventType: String?
    var label: String?
    var participants: String?
    var keywords: String?
    var location: String?
    var rating: String?
    var notes: String?

    /// Reads one JSON object; nil when it is none.
    init?(_ json: some DataProtocol) {
        guard let upload = try? Self.decoder.decode(Self.self, from: Data(json)) else { return nil }
        self = upload
    }

    /// The path with every byte it has; nil without one.
    var bytes: [UInt8]? { exactBytes ?? path.map { Array($0.utf8) } }

    /// The bytes of a path that is no text.
    var exactBytes: [UInt8]? { pathBase64.flatMap { Data(base64Encoded: $0) }.map(Array.init) }

    /// What was told about it, by the upload's field names.
    var fields: [String: String] {
        let all: [String: String?] = [
            "event_date": eventDate, "org_name": orgName, "event_type": eventType, "label": label,
            "participants": participants, "keywords": keywords, "location": location, "rating": rating,
            "notes": notes,
        ]
        return all.compactMapValues { $0 }
    }

    fileprivate static var decoder: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return decoder
    }
}

/// A report of `upload --report`, as `UploadReport` has written it.
struct ReportDocument: Decodable {
    var schema: String
    var server: String?
    var workingDirectory: String
    var items: [ReportedUpload]

    /// Reads a report; nil when it is none.
    init?(_ json: [UInt8]) {
        guard let document = try? ReportedUpload.decoder.decode(Self.self, from: Data(json)),
            document.schema == UploadReport.schema
        else { return nil }
        self = document
    }
}
