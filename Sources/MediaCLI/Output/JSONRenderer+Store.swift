internal import MediaCore
internal import MediaStore

/// The records of the commands of `store`.
extension JSONRenderer {
    static func check(_ check: StoreCheck, responses: Int) -> JSONObject {
        [
            "path": .string(check.path), "size_bytes": .integer(check.byteCount), "tokens": JSONValue(check.tokens),
            "hosts": JSONValue(check.hosts), "uploads": JSONValue(check.uploads),
            "unfinished": JSONValue(check.unfinishedUploads), "responses": JSONValue(responses),
            "backups": .array(
                check.backups.map {
                    .object([
                        "path": .string($0.path), "created_at": time($0.createdAt),
                        "size_bytes": .integer($0.byteCount),
                    ])
                }
            ),
            "exit_code": 0,
        ]
    }

    static func lost(_ token: StoreRepair.LostToken) -> JSONObject {
        [
            "host": .string(token.host), "file_id": .integer(token.fileID),
            "checksum_sha256": text(token.checksumSHA256),
        ]
    }

    static func repair(_ report: StoreRepair.Report?, isDryRun: Bool, _ code: ExitCode) -> JSONObject {
        [
            "dry_run": .bool(isDryRun), "damage": JSONValue(report?.damage), "tokens": JSONValue(report?.tokens),
            "uploads": JSONValue(report?.uploads), "lost": JSONValue(report?.lostCount ?? 0),
            "unread": .array((report?.unread ?? []).map { .string($0.path) }),
            "kept": .array((report?.kept ?? []).map { .string($0) }), "exit_code": exitCode(code),
        ]
    }

    static func restore(_ report: StoreRestore.Report, file: String, isDryRun: Bool) -> JSONObject {
        [
            "path": .string(file), "dry_run": .bool(isDryRun), "tokens": JSONValue(report.tokens),
            "uploads": JSONValue(report.uploads), "removed_since": JSONValue(report.removedSince),
            "items": JSONValue(report.tokensInBackup), "exit_code": 0,
        ]
    }
}
