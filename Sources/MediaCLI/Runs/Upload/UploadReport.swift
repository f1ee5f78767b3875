internal import Foundation
internal import GigHive
internal import MediaCore
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
