internal import Foundation
internal import GigHive
internal import MediaCore
internal import MediaFiles
internal import MediaStore

/// The report of a run: every file with its result, including files that were not started (`docs/json.md`).
struct UploadReport: Sendable {
    static let schema = "mediactl.upload-report/1"

    var server: String
    var workingDirectory: String
    var createdAt: Date
    var shard: ShardChoice?
    var summary: JSONObject
    /// The items, created by `line`.
    var lines: [String]

    /// One JSON document, with one item per line.
    var text: String {
        let head: JSONObject = [
            "schema": .string(Self.schema), "created_at": .time(createdAt),
            "server": .string(server), "working_directory": .string(workingDirectory),
            "shard": JSONRenderer.shard(shard), "summary": .object(summary),
        ]
        return head.json(isForTerminals: true).dropLast() + ",\"items\":[\n" + lines.joined(separator: ",\n") + "\n]}\n"
    }

    /// The item of a file, a JSON object without line breaks. `result` is nil if the upload was not started.
    static func line(_ upload: UploadBatch.Item, _ result: UploadResult?) -> String {
        item(upload, result).json(isForTerminals: true)
    }

    /// Adds `verified` to an item: whether the listing has the file; `null` if the file was not compared with the
    /// listing.
    static func line(_ line: String, isVerified: Bool?) -> String {
        String(line.dropLast()) + ",\"verified\":\(JSONValue(isVerified).json())}"
    }

    private static func item(_ upload: UploadBatch.Item, _ result: UploadResult?) -> JSONObject {
        let details = (result?.details ?? upload.details)?.fields
        return [
            "path": .path(upload.path),
            "path_base64": .pathBase64(upload.path),
            "state": .string(result?.state.rawValue ?? "not_started"),
            "upload_id": JSONValue(result?.uploadID), "file_id": JSONValue(result?.fileID),
            "size_bytes": upload.sizeBytes > 0 ? .integer(upload.sizeBytes) : .null,
            "checksum_sha256": JSONValue(result?.checksumSHA256),
            "has_delete_token": JSONValue(result?.hasDeleteToken),
            "skipped": JSONValue(result?.isSkipped), "resumed": JSONValue(result?.isResumed),
            "transport": result.map { JSONRenderer.transport(of: $0) } ?? .null,
        ] + JSONObject(DetailOptions.names.map { ($0, JSONValue(details?[$0])) }) + [
            "exit_code": result.map { .exitCode($0.exitCode) } ?? .null,
            "error": .error(result.flatMap { ErrorCatalog.userFacingError(of: $0) }),
        ]
    }
}

/// An upload in a report, or in a record of `upload --json` (`docs/json.md`).
struct ReportedUpload: Sendable {
    private static let texts = [
        "schema", "type", "path", "path_base64", "upload_id", "state", "checksum_sha256",
    ]

    private let members: JSONObject

    /// nil unless `value` is an object whose members have the types of an upload.
    init?(_ value: JSONValue?) {
        guard let members = value?.members,
            (Self.texts + DetailOptions.names).allSatisfy({ members[$0] ?? .null == .null || members[$0]?.text != nil })
        else { return nil }
        switch members["file_id"] {
        case nil, .null?, .integer?: self.members = members
        default: return nil
        }
    }

    var schema: String? { members["schema"]?.text }
    var type: String? { members["type"]?.text }
    var path: String? { members["path"]?.text }
    var uploadID: String? { members["upload_id"]?.text }
    var state: String? { members["state"]?.text }
    var fileID: Int64? { members["file_id"]?.wholeNumber }
    var sizeBytes: Int64? { members["size_bytes"]?.wholeNumber }
    var checksumSHA256: String? { members["checksum_sha256"]?.text }

    /// The exact path; nil if there is none.
    var bytes: [UInt8]? { exactBytes ?? path.map { Array($0.utf8) } }

    /// The bytes of a path that is not valid UTF-8.
    var exactBytes: [UInt8]? {
        members["path_base64"]?.text.flatMap { Data(base64Encoded: $0) }.map(Array.init)
    }

    /// Keyed by field name.
    var fields: [String: String] {
        let values = DetailOptions.names.map { ($0, members[$0]?.text) }
        return Dictionary(uniqueKeysWithValues: values).compactMapValues { $0 }
    }
}

/// A parsed report from `upload --report`.
struct ReportDocument: Sendable {
    /// Address of the server used in that run; empty if unknown.
    var server: String
    var workingDirectory: String
    var items: [ReportedUpload]

    /// nil for other input.
    init?(_ json: [UInt8]) {
        guard let members = JSONValue.object(in: json[...]), members["schema"]?.text == UploadReport.schema,
            let workingDirectory = members["working_directory"]?.text, case .array(let elements)? = members["items"]
        else { return nil }
        items = elements.compactMap(ReportedUpload.init)
        guard items.count == elements.count else { return nil }
        server = members["server"]?.text ?? ""
        self.workingDirectory = workingDirectory
    }
}

/// The report of an earlier run, for `--retry-failed`.
extension ReportDocument {
    /// States that do not require further action: the file is in the event. Uploading it again would not restore a lost
    /// token.
    private static let successStates: Set<String> = ["done", "linked", "duplicate", "token_lost"]

    /// - Throws: `UserFacingError` (usage) if `bytes` is not a report.
    init(reading bytes: [UInt8], name: String) throws(UserFacingError) {
        // A mediactl report has a path and a state for each item.
        guard let document = ReportDocument(bytes), document.items.allSatisfy({ $0.path != nil && $0.state != nil })
        else {
            throw .usage(
                "\(ErrorCatalog.quoted(RawArguments.bytes(of: name))) is not an upload report",
                hint: "write a report with: mediactl upload --report FILE"
            )
        }
        self = document
    }

    /// The files that were not uploaded, or whose outcome is unknown.
    var failed: [ReportedUpload] { items.filter { !Self.successStates.contains($0.state ?? "") } }

    /// The files that the run reported as stored.
    var stored: [UploadResults.StoredFile] {
        items.enumerated().compactMap { index, item in
            guard Self.successStates.contains(item.state ?? ""), let path = item.bytes, let fileID = item.fileID,
                let checksum = item.checksumSHA256, let date = item.fields["event_date"],
                let orgName = item.fields["org_name"]
            else { return nil }
            let upload = StoredUpload(fileID: fileID, checksumSHA256: checksum, eventDate: date, orgName: orgName)
            return UploadResults.StoredFile(index: index, path: path, upload: upload)
        }
    }

    /// Number of failed uploads of standard input.
    var unreadableCount: Int { failed.count { $0.path == "-" } }

    /// The files that failed. Relative paths are made absolute if `directory` differs from the directory in which that
    /// run took place.
    func inputs(from directory: String) -> [UploadInput] {
        failed.compactMap { item in
            guard item.path != "-", let path = item.bytes else { return nil }
            return UploadInput(
                path: workingDirectory == directory ? path : path.prefixed(with: workingDirectory),
                origin: .report,
                fields: item.fields
            )
        }
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
