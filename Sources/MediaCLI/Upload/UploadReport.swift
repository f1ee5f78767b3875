internal import Foundation
internal import GigHive
internal import MediaCore
internal import MediaFiles
internal import MediaStore

/// The report of a run: every file with its end, also those that were never begun (`docs/json.md`).
struct UploadReport: Sendable {
    static let schema = "mediactl.upload-report/1"

    var server: String
    var workingDirectory: String
    var createdAt: Date
    var shard: ShardChoice?
    var summary: JSONObject
    /// The items, as `line` makes them.
    var lines: [String]

    /// One JSON document, an item a line.
    var text: String {
        let head: JSONObject = [
            "schema": .string(Self.schema), "created_at": JSONRenderer.time(createdAt),
            "server": .string(server), "working_directory": .string(workingDirectory),
            "shard": JSONRenderer.shard(shard), "summary": .object(summary),
        ]
        return JSONValue.object(head).text.dropLast() + ",\"items\":[\n" + lines.joined(separator: ",\n") + "\n]}\n"
    }

    /// The item of a file.
    ///
    /// - Parameters:
    ///   - entry: The file.
    ///   - result: Its end; nil when it was never begun.
    /// - Returns: A JSON object without line breaks.
    static func line(_ entry: UploadPlan.Entry, _ result: UploadResult?) -> String {
        JSONValue.object(item(entry, result)).text
    }

    /// The item with `verified`: whether the listing has the file, null if it was not read; `line` is an item as above.
    static func line(_ line: String, isVerified: Bool?) -> String {
        String(line.dropLast()) + ",\"verified\":\(JSONValue(isVerified).text)}"
    }

    private static func item(_ entry: UploadPlan.Entry, _ result: UploadResult?) -> JSONObject {
        let path = entry.input.path
        let details = result?.details ?? entry.details
        return [
            "path": JSONRenderer.path(path),
            "path_base64": JSONRenderer.pathBase64(path),
            "state": .string(result?.state.rawValue ?? "not_started"),
            "upload_id": JSONValue(result?.uploadID), "file_id": JSONValue(result?.fileID),
            "size_bytes": entry.sizeBytes > 0 ? .integer(entry.sizeBytes) : .null,
            "checksum_sha256": JSONValue(result?.checksumSHA256),
            "has_delete_token": JSONValue(result?.hasDeleteToken),
            "skipped": JSONValue(result?.isSkipped), "resumed": JSONValue(result?.isResumed),
            "transport": result.map { JSONRenderer.transport(of: $0) } ?? .null,
            "event_date": JSONValue(details?.eventDate), "org_name": JSONValue(details?.orgName),
            "event_type": JSONValue(details?.eventType), "label": JSONValue(details?.label),
            "participants": JSONValue(details?.participants), "keywords": JSONValue(details?.keywords),
            "location": JSONValue(details?.location), "rating": JSONValue(details?.rating),
            "notes": JSONValue(details?.notes),
            "exit_code": result.map { JSONRenderer.exitCode($0.exitCode) } ?? .null,
            "error": result.map { JSONRenderer.error(of: $0) } ?? .null,
        ]
    }
}

/// The report of an earlier run, as `--retry-failed` reads it.
struct PastReport: Sendable {
    /// States with nothing left to do: the event has the file. Uploading it again does not restore a lost token.
    private static let goodEnds: Set<String> = ["done", "linked", "duplicate", "token_lost"]

    private let document: ReportDocument

    /// Reads a report.
    ///
    /// - Throws: `Diagnosis` (usage) when it is none.
    init(reading bytes: [UInt8], name: String) throws(Diagnosis) {
        // What has no path or no end was not written by us.
        guard let document = ReportDocument(bytes), document.items.allSatisfy({ $0.path != nil && $0.state != nil })
        else {
            throw .usage(
                "--retry-failed: \(ErrorCatalogue.quoted(RawArguments.bytes(of: name))) is not an upload report",
                hint: "write a report with: mediactl upload --report FILE"
            )
        }
        self.document = document
    }

    /// Number of files of that run.
    var itemCount: Int { document.items.count }

    private var failed: [ReportedUpload] { document.items.filter { !Self.goodEnds.contains($0.state ?? "") } }

    /// Address of the server that the run uploaded to.
    var server: String { document.server ?? "" }

    /// The files that the run reported as stored, each with its path.
    var storedItems: [(path: [UInt8], upload: StoredUpload)] {
        document.items.compactMap { item in
            guard Self.goodEnds.contains(item.state ?? ""), let path = item.bytes, let fileID = item.fileId,
                let checksum = item.checksumSha256, let date = item.eventDate, let orgName = item.orgName
            else { return nil }
            let upload = StoredUpload(fileID: fileID, checksumSHA256: checksum, eventDate: date, orgName: orgName)
            return (path, upload)
        }
    }

    /// How many of those that failed were standard input.
    var unreadableCount: Int { failed.count { $0.path == "-" } }

    /// The files that did not end well. Relative paths of another directory than the present one are completed.
    func inputs(from directory: String) -> [UploadInput] {
        failed.compactMap { item in
            guard item.path != "-", let path = item.bytes else { return nil }
            return UploadInput(
                source: .file(
                    document.workingDirectory == directory ? path : path.absolute(from: document.workingDirectory)
                ),
                origin: .report,
                fields: item.fields
            )
        }
    }
}

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

extension JSONRenderer {
    static func shard(_ choice: ShardChoice?) -> JSONValue {
        guard let choice else { return .null }
        return .object([
            "index": JSONValue(choice.shard.index), "count": JSONValue(choice.shard.count),
            "variable": JSONValue(choice.variable),
        ])
    }
}
