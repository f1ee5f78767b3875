internal import GigHive
internal import MediaCore
internal import MediaFiles
internal import MediaStore

/// The members of the records of `upload` and `uploads`.
extension JSONRenderer {
    static func discarded(_ row: DiscardedUpload) -> JSONObject {
        let record = row.record
        return [
            "upload_id": .string(record.uploadID), "path": path(record.path), "result": .string(row.end.rawValue),
            "previous_state": .string(record.state.rawValue), "state": .string((row.state ?? record.state).rawValue),
            "host": .string(record.host), "server": .string(record.baseURL),
            "size_bytes": .integer(record.sizeBytes), "exit_code": exitCode(row.exitCode),
            "kept_until": keptUntil(row.warning), "error": error(row.error),
        ]
    }

    /// How long the server keeps what it has of a discarded upload; null if it keeps nothing, or the time is unknown.
    private static func keptUntil(_ warning: UploadWarning?) -> JSONValue {
        guard case .keptByServer(let date?) = warning else { return .null }
        return time(date)
    }

    // MARK: Tokens

    static func kept(_ upload: KeptUpload, isTokenShown: Bool) -> JSONObject {
        [
            "host": .string(upload.host), "file_id": .integer(upload.fileID),
            "created_at": time(upload.createdAt), "event_date": .string(upload.eventDate),
            "org_name": .string(upload.orgName), "event_type": .string(upload.eventType),
            "label": JSONValue(upload.label), "file_name": .string(upload.fileName),
            "file_type": JSONValue(upload.fileType), "size_bytes": .integer(upload.sizeBytes),
            "checksum_sha256": JSONValue(upload.checksumSHA256), "server": .string(upload.server),
            "event_id": JSONValue(upload.stored?.eventID), "position": JSONValue(upload.stored?.position),
            "mime_type": JSONValue(upload.stored?.mimeType),
            "duration_seconds": JSONValue(upload.stored?.durationSeconds),
            "participants": JSONValue(upload.stored?.participants), "keywords": JSONValue(upload.stored?.keywords),
            "linked_events": .array(upload.otherEvents.map { .object(event($0)) }),
            "transport": JSONValue(upload.transport?.rawValue), "guest": .bool(upload.isGuest),
            "guest_state": JSONValue(upload.guestState?.rawValue),
            "guest_state_at": time(upload.guestStateAt),
            "superseded": .bool(upload.isSuperseded),
            "delete_token": isTokenShown ? JSONValue(upload.token?.secret) : .null,
        ]
    }

    private static func event(_ facts: StoredFacts) -> JSONObject {
        [
            "event_id": JSONValue(facts.eventID), "event_date": JSONValue(facts.eventDate),
            "org_name": JSONValue(facts.orgName), "event_type": JSONValue(facts.eventType),
            "label": JSONValue(facts.label), "position": JSONValue(facts.position),
        ]
    }

    static func deletion(
        _ result: DeleteResult,
        file: ServerMedia? = nil,
        refusal: Diagnosis? = nil
    ) -> JSONObject {
        let members = deletion(
            of: result.fileID,
            from: result.host,
            result.state.rawValue,
            result.entry.map { KeptUpload($0) },
            httpStatus: result.httpStatus,
            refusal?.exitCode ?? result.exitCode,
            refusal ?? result.error
        )
        // Without a local entry, the server's details are used.
        guard result.entry == nil, let file else { return members }
        let event = file.events.first
        return members.replacing([
            "event_date": JSONValue(event?.date), "org_name": JSONValue(event?.orgName),
            "event_type": JSONValue(event?.eventType), "label": JSONValue(event?.label),
            "file_name": JSONValue(file.fileName), "checksum_sha256": JSONValue(file.checksumSHA256),
        ])
    }

    static func hiding(_ hiding: GuestHiding) -> JSONObject {
        deletion(
            of: hiding.upload.fileID,
            from: hiding.upload.host,
            hiding.state.rawValue,
            hiding.upload,
            httpStatus: nil,
            hiding.exitCode,
            hiding.error
        )
    }

    private static func deletion(
        of fileID: Int64,
        from host: String,
        _ state: String,
        _ upload: KeptUpload?,
        httpStatus: Int?,
        _ code: ExitCode,
        _ failure: (any Error)?
    ) -> JSONObject {
        [
            "file_id": .integer(fileID), "host": text(host), "state": .string(state),
            "event_date": JSONValue(upload?.eventDate), "org_name": JSONValue(upload?.orgName),
            "event_type": JSONValue(upload?.eventType), "label": JSONValue(upload?.label),
            "file_name": JSONValue(upload?.fileName), "checksum_sha256": JSONValue(upload?.checksumSHA256),
            "server": JSONValue(upload?.server), "http_status": JSONValue(httpStatus),
            "exit_code": exitCode(code), "error": error(failure),
        ]
    }

    // MARK: The journal

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
            "resumable": .bool(row.isResumable), "sent_bytes": JSONValue(row.sentBytes),
            "guest_status": JSONValue(row.guestState?.rawValue),
            "guest_state": JSONValue(row.lastKnown?.state),
            "guest_state_at": time(row.lastKnown?.notedAt), "next": JSONValue(row.next),
            "attempts": JSONValue(record.attempts), "created_at": time(record.createdAt),
            "updated_at": time(record.updatedAt), "exit_code": exitCode(row.exitCode),
            "error": error(row.diagnosis),
        ]
    }
}
