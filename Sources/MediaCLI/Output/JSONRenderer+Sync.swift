internal import MediaCore
internal import MediaStore
internal import PhotoSync

/// The members of the records of `login`, `sync` and `claim-legacy`.
extension JSONRenderer {
    static func photo(_ photo: PhotoRecord, device: String?, isGone: Bool) -> JSONObject {
        [
            "photo_id": .string(photo.id), "file_name": .string(photo.originalFilename),
            "size_bytes": .integer(photo.fileSize), "checksum_sha256": .string(photo.sha256),
            "taken_at": .string(photo.takenAt.text), "uploaded_at": .string(photo.uploadedAt.text),
            "origin": .string(PhotoOrigin(photo, device: device).name),
            "device_id": JSONValue(photo.originDevice?.id), "device_name": JSONValue(photo.originDevice?.name),
            "device_platform": JSONValue(photo.originDevice?.platform), "width": JSONValue(photo.width),
            "height": JSONValue(photo.height), "gone": .bool(isGone),
        ]
    }

    static func indexCounts(_ counts: PhotoCounts) -> JSONValue {
        .object([
            "total": .integer(counts.total), "this_device": .integer(counts.thisDevice),
            "other_devices": .integer(counts.otherDevices), "legacy": .integer(counts.legacy),
            "gone": .integer(counts.gone),
        ])
    }

    static func serverCounts(_ status: SyncStatus?) -> JSONValue {
        guard let status else { return .null }
        return .object([
            "total": .integer(status.totalPhotos), "this_device": .integer(status.devicePhotos),
            "other_devices": .integer(status.otherDevicePhotos), "legacy": .integer(status.legacyPhotos),
            "last_page_at": JSONValue(status.lastSyncAt?.text),
        ])
    }

    static func push(_ item: PushItem) -> JSONObject {
        [
            "path": path(item.path), "state": .string(item.state.rawValue), "size_bytes": JSONValue(item.sizeBytes),
            "checksum_sha256": JSONValue(item.sha256), "photo_id": JSONValue(item.photoID),
            "taken_at": JSONValue(item.takenAt?.text), "bytes_sent": .integer(item.bytesSent),
            "attempts": JSONValue(item.attempts), "exit_code": exitCode(item.exitCode),
            "error": error(item.diagnosis),
        ]
    }

    static func download(_ item: DownloadItem) -> JSONObject {
        [
            "photo_id": .string(item.id), "file_name": JSONValue(item.originalFilename),
            "state": .string(item.state.rawValue), "path": path(item.path),
            "size_bytes": JSONValue(item.sizeBytes), "checksum_sha256": JSONValue(item.sha256),
            "server_checksum_sha256": JSONValue(item.serverSHA256), "bytes_received": .integer(item.bytesReceived),
            "resumed": .bool(item.isResumed), "attempts": JSONValue(item.attempts),
            "exit_code": exitCode(item.exitCode),
            "error": error(item.error),
        ]
    }

    static func difference(_ difference: SyncDifference) -> JSONObject {
        [
            "kind": .string(difference.kind.rawValue), "photo_id": .string(difference.photoID),
            "path": path(difference.path), "expected": JSONValue(difference.expected),
            "found": JSONValue(difference.found),
        ]
    }

    static func report(_ report: SyncReport, _ account: SyncAccount, name: String?, _ code: ExitCode) -> JSONObject {
        [
            "server": .string(account.server), "device_id": JSONValue(account.deviceID),
            "device_name": JSONValue(name), "health": JSONValue(report.health?.status),
            "set_up": JSONValue(report.health?.isSetUp), "ownership": .string(report.ownership.rawValue),
            "server_counts": serverCounts(report.status), "index": indexCounts(report.counts),
            "last_complete_at": time(report.state?.lastCompleteAt),
            "last_full_at": time(report.state?.lastFullAt),
            "unfinished": .bool(report.state?.hasUnfinishedRun ?? false),
            "error": error(report.failure),
            "exit_code": exitCode(code),
        ]
    }
}
