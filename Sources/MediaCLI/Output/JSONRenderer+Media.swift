internal import GigHive
internal import MediaCore
internal import MediaTransport

/// The members of the records of `media`.
extension JSONRenderer {
    static func media(_ file: ServerMedia, on server: ServerURL) -> JSONObject {
        [
            "file_id": .integer(file.fileID), "server": .string(server.description),
            "events": .array(file.events.map(event)), "file_name": JSONValue(file.fileName),
            "file_type": JSONValue(file.fileType), "mime_type": JSONValue(file.mimeType),
            "size_bytes": JSONValue(file.sizeBytes), "checksum_sha256": JSONValue(file.checksumSHA256),
            "duration_seconds": JSONValue(file.durationSeconds), "source_name": JSONValue(file.sourceName),
            "uploaded_at": JSONValue(file.createdAt), "media_created_at": JSONValue(file.mediaCreatedAt),
            "media_url": JSONValue(file.path.map { server.description + $0 }),
        ]
    }

    private static func event(_ event: ServerMedia.Event) -> JSONValue {
        .object([
            "event_date": JSONValue(event.date), "org_name": JSONValue(event.orgName),
            "event_type": JSONValue(event.eventType), "label": JSONValue(event.label),
        ])
    }

    static func mediaDeletion(_ deletion: MediaDeletionRun.Outcome, on server: ServerURL) -> JSONObject {
        let file = deletion.file
        return [
            "file_id": .integer(deletion.result.fileID), "host": .string(server.scope),
            "server": .string(server.description), "state": .string(deletion.result.state.rawValue),
            "events": .array((file?.events ?? []).map(event)), "file_name": JSONValue(file?.fileName),
            "file_type": JSONValue(file?.fileType), "size_bytes": JSONValue(file?.sizeBytes),
            "checksum_sha256": JSONValue(file?.checksumSHA256), "http_status": JSONValue(deletion.result.httpStatus),
            "exit_code": exitCode(deletion.exitCode), "error": error(deletion.error),
        ]
    }
}
