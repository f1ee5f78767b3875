internal import Foundation
internal import GigHive
internal import MediaFiles
internal import MediaStore

/// The members of every JSON record, in the order of `docs/json.md`. Absent values are null, so that keys are stable.
enum JSONRenderer {
    // MARK: Errors

    static func error(_ diagnosis: Diagnosis) -> JSONValue {
        .object([
            "code": .string(diagnosis.code),
            "message": .string(([diagnosis.message] + diagnosis.details).joined(separator: "; ")),
            "http_status": JSONValue(diagnosis.httpStatus), "retryable": .bool(diagnosis.isRetryable),
            "hint": JSONValue(diagnosis.hint),
        ])
    }

    static func fatal(_ diagnosis: Diagnosis) -> JSONObject {
        ["error": error(diagnosis), "exit_code": .integer(Int64(diagnosis.exitCode.rawValue))]
    }

    static func error(_ error: GigHiveError?) -> JSONValue {
        error.map { self.error(ErrorCatalogue.diagnosis(of: $0)) } ?? .null
    }

    static func exitCode(_ code: ExitCode) -> JSONValue { .integer(Int64(code.rawValue)) }

    static func path(_ path: [UInt8]) -> JSONValue { .string(String(decoding: path, as: UTF8.self)) }

    /// The bytes of a path that is no UTF-8, which a text cannot say; else null.
    static func pathBase64(_ path: [UInt8]?) -> JSONValue {
        guard let path, String(validating: path, as: UTF8.self) == nil else { return .null }
        return .string(Data(path).base64EncodedString())
    }

    // MARK: Uploads

    static func upload(_ result: UploadResult, contact: String) -> JSONObject {
        [
            "path": path(result.path), "upload_id": JSONValue(result.uploadID),
            "state": .string(result.state.rawValue), "server": .string(result.server),
            "file_id": JSONValue(result.fileID), "file_name": .string(result.fileName),
            "file_type": JSONValue(result.fileType), "size_bytes": size(result),
            "checksum_sha256": JSONValue(result.checksumSHA256), "verified": JSONValue(result.isVerified),
            "has_delete_token": .bool(result.hasDeleteToken), "deletable_duplicate": .bool(result.isDeletableDuplicate),
            "media_url": JSONValue(result.mediaURL), "event_date": JSONValue(result.details?.eventDate),
            "org_name": JSONValue(result.details?.orgName), "event_type": JSONValue(result.details?.eventType),
            "label": JSONValue(result.details?.label), "http_status": JSONValue(result.httpStatus),
            "bytes_sent": .integer(result.bytesSent), "duration_ms": .integer(Formats.milliseconds(result.duration)),
            "attempts": JSONValue(result.attempts), "resumed": .bool(result.isResumed),
            "skipped": .bool(result.isSkipped), "transport": transport(of: result),
            "guest_job_id": JSONValue(result.guest?.jobID),
            "warnings": .array(result.warnings.map { warning($0, in: result, contact: contact) }),
            "exit_code": exitCode(result.exitCode), "error": error(of: result),
        ]
    }

    static func error(of result: UploadResult) -> JSONValue {
        ErrorCatalogue.diagnosis(of: result).map { error($0) } ?? .null
    }

    /// Null for a file that was never sent, or of which nobody knows yet how it would be.
    static func transport(of result: UploadResult) -> JSONValue {
        result.attempts > 0 ? .string(result.transport.rawValue) : .null
    }

    static func shard(_ choice: ShardChoice?) -> JSONValue {
        guard let choice else { return .null }
        return .object([
            "index": JSONValue(choice.shard.index), "count": JSONValue(choice.shard.count),
            "variable": JSONValue(choice.variable),
        ])
    }

    static func counts(_ counts: UploadCounts, duration: Duration, signal: StopSignal?, _ code: ExitCode) -> JSONObject
    {
        func count(_ state: UploadState) -> JSONValue { JSONValue(counts.count(state)) }
        return [
            "items": JSONValue(counts.items), "planned": count(.planned), "done": count(.done),
            "duplicate": count(.duplicate), "failed": count(.failed), "cancelled": count(.cancelled),
            "unknown_outcome": count(.unknownOutcome), "token_lost": count(.tokenLost),
            "finalized": count(.finalized), "not_started": JSONValue(counts.notStarted),
            "skipped": JSONValue(counts.skipped),
            "resumed": JSONValue(counts.resumed), "bytes_sent": .integer(counts.bytesSent),
            "duration_ms": .integer(Formats.milliseconds(duration)), "signal": JSONValue(signal?.name),
            "exit_code": exitCode(code),
        ]
    }

    /// Null for a file that was refused before its length was known. An empty file is refused for its known length.
    private static func size(_ result: UploadResult) -> JSONValue {
        let isKnown = result.sizeBytes > 0 || result.error?.code == .emptyFile
        return isKnown ? .integer(result.sizeBytes) : .null
    }

    private static func warning(_ warning: UploadWarning, in result: UploadResult, contact: String) -> JSONValue {
        let message =
            warning == .noDeleteToken ? NoTokenMessage(contact: contact).sentence : TextRenderer.warning(warning)
        return .object(["code": .string(warning.code), "message": .string(message)])
    }

    static func progress(_ progress: UploadProgress) -> JSONObject {
        [
            "path": path(progress.path), "phase": .string(progress.phase.rawValue),
            "bytes_acknowledged": .integer(progress.bytesAcknowledged), "size_bytes": .integer(progress.byteCount),
            "attempt": JSONValue(progress.attempt), "elapsed_ms": .integer(Formats.milliseconds(progress.elapsed)),
        ]
    }

    static func discarded(_ row: DiscardedUpload) -> JSONObject {
        let record = row.record
        return [
            "upload_id": .string(record.uploadID), "path": path(record.path), "result": .string(row.end.rawValue),
            "previous_state": .string(record.state.rawValue), "state": .string((row.state ?? record.state).rawValue),
            "host": .string(record.host), "server": .string(record.baseURL),
            "size_bytes": .integer(record.sizeBytes), "exit_code": exitCode(row.exitCode),
            "error": row.error.map { error(ErrorCatalogue.diagnosis(of: $0)) } ?? .null,
        ]
    }

    // MARK: Tokens

    static func kept(_ upload: KeptUpload, isTokenShown: Bool) -> JSONObject {
        [
            "host": .string(upload.host), "file_id": .integer(upload.fileID),
            "created_at": .string(Formats.timestamp(upload.createdAt)), "event_date": .string(upload.eventDate),
            "org_name": .string(upload.orgName), "event_type": .string(upload.eventType),
            "label": JSONValue(upload.label), "file_name": .string(upload.fileName),
            "file_type": JSONValue(upload.fileType), "size_bytes": .integer(upload.sizeBytes),
            "checksum_sha256": JSONValue(upload.checksumSHA256), "server": .string(upload.server),
            "transport": JSONValue(upload.transport?.rawValue), "guest": .bool(upload.isGuest),
            "superseded": .bool(upload.isSuperseded),
            "delete_token": isTokenShown ? JSONValue(upload.token?.secret) : .null,
        ]
    }

    private static func checksum(_ entry: TokenEntry?) -> JSONValue {
        entry.map { $0.checksumSHA256.isEmpty ? .null : .string($0.checksumSHA256) } ?? .null
    }

    static func deletion(_ result: DeleteResult) -> JSONObject {
        [
            "file_id": .integer(result.fileID), "host": result.host.isEmpty ? .null : .string(result.host),
            "state": .string(result.state.rawValue), "event_date": JSONValue(result.entry?.eventDate),
            "org_name": JSONValue(result.entry?.orgName), "event_type": JSONValue(result.entry?.eventType),
            "label": JSONValue(result.entry?.label), "file_name": JSONValue(result.entry?.fileName),
            "checksum_sha256": checksum(result.entry), "server": JSONValue(result.entry?.baseURL),
            "http_status": JSONValue(result.httpStatus), "exit_code": exitCode(result.exitCode),
            "error": error(result.error),
        ]
    }

    static func hiding(_ hiding: GuestHiding) -> JSONObject {
        let upload = hiding.upload
        return [
            "file_id": .integer(upload.fileID), "host": .string(upload.host), "state": .string(hiding.state.rawValue),
            "event_date": .string(upload.eventDate), "org_name": .string(upload.orgName),
            "event_type": .string(upload.eventType), "label": JSONValue(upload.label),
            "file_name": .string(upload.fileName), "checksum_sha256": JSONValue(upload.checksumSHA256),
            "server": .string(upload.server), "http_status": .null, "exit_code": exitCode(hiding.exitCode),
            "error": hiding.error.map { error(ErrorCatalogue.diagnosis(of: $0)) } ?? .null,
        ]
    }

    // MARK: Journal and settings

    static func journal(_ row: JournalRow) -> JSONObject {
        let record = row.record
        return [
            "upload_id": .string(record.uploadID), "path": path(record.path),
            "previous_state": .string(record.state.rawValue), "state": .string(row.state.rawValue),
            "host": .string(record.host), "server": .string(record.baseURL),
            "file_id": JSONValue(row.result?.fileID ?? record.fileID),
            "size_bytes": .integer(record.sizeBytes),
            "checksum_sha256": JSONValue(row.result?.checksumSHA256 ?? record.checksumSHA256),
            "has_delete_token": JSONValue(row.result?.hasDeleteToken),
            "transport": .string(record.transport.rawValue), "guest": .bool(record.isGuest),
            "resumable": .bool(row.sentBytes != nil), "sent_bytes": JSONValue(row.sentBytes),
            "guest_status": JSONValue(row.guestState?.rawValue), "next": JSONValue(row.next),
            "attempts": JSONValue(record.attempts), "created_at": .string(Formats.timestamp(record.createdAt)),
            "updated_at": .string(Formats.timestamp(record.updatedAt)), "exit_code": exitCode(row.exitCode),
            "error": row.diagnosis.map { error($0) } ?? .null,
        ]
    }

    static func setting(_ row: SettingsSession.Row) -> JSONObject {
        ["name": .string(row.name), "value": .string(row.value), "source": .string(row.source)]
    }
}
