internal import CaptureSubmission
internal import Foundation
internal import HashCapture
internal import MediaCore
internal import MediaCrypto
internal import MediaStore

/// The members of the records of `hash-only`.
extension JSONRenderer {
    /// What a record keeps.
    static func capture(_ record: CaptureRecord?) -> JSONObject {
        [
            "capture_id": JSONValue(record?.id), "server": JSONValue(record?.server),
            "profile": JSONValue(record?.profile), "mode": JSONValue(record?.mode?.rawValue),
            "media_hash": JSONValue(record?.mediaHash), "media_type": JSONValue(record?.mediaType),
            "media_bytes": JSONValue(record?.mediaBytes), "observed": JSONValue(record?.isObserved),
            "has_depth": JSONValue(record?.hasDepth), "level": JSONValue(record?.keyLevel),
            "device_id": JSONValue(record?.deviceID), "counter": JSONValue(record?.counter.map { Int64($0) }),
            "submissions": JSONValue(record?.submissions), "signing_failures": JSONValue(record?.signingFailures),
            "payload_bytes": JSONValue((record?.body ?? record?.unsignedBody)?.count),
            "analysis_ms": JSONValue(record?.analysisMilliseconds),
            "created_at": time(record?.createdAt),
            "submitted_at": time(record?.submittedAt),
            "server_capture_id": JSONValue(record?.serverCaptureID),
            "verification_url": JSONValue(record?.verificationURL), "http_status": JSONValue(record?.httpStatus),
        ]
    }

    /// One capture of `send` or `retry`. Keys are the same with and without `--dry-run`.
    static func captureItem(_ item: CaptureItem) -> JSONObject {
        let members: JSONObject
        if let preview = item.preview {
            members = planned(preview)
        } else {
            members = capture(item.record)
        }
        return [
            "path": path(item.path ?? item.record?.path), "state": .string(item.state.rawValue),
        ] + members + [
            "known": .bool(item.isKnown), "earlier_id": JSONValue(item.preview?.earlierID),
            "body": item.preview.map { .verbatim(String(decoding: $0.body.bytes, as: UTF8.self)) } ?? .null,
            "notices": notices(item.notices), "exit_code": exitCode(item.exitCode),
            "error": error(item.error),
        ]
    }

    static func notices(_ notices: [CaptureNotice]) -> JSONValue {
        .array(notices.map { .object(["code": .string($0.code), "message": .string($0.words)]) })
    }

    private static func planned(_ preview: CapturePreview) -> JSONObject {
        var members = capture(nil)
        let known: [String: JSONValue] = [
            "media_hash": .string(preview.payload.mediaHash.hex),
            "media_type": .string(preview.payload.mediaType.rawValue), "media_bytes": JSONValue(preview.mediaBytes),
            "observed": .bool(preview.mediaBytes != nil), "payload_bytes": JSONValue(preview.body.bytes.count),
            "analysis_ms": .integer(preview.analysisMilliseconds),
        ]
        for index in members.members.indices {
            members.members[index].value = known[members.members[index].name] ?? members.members[index].value
        }
        return members
    }

    /// One capture of `list` and `show`.
    static func captureRow(_ record: CaptureRecord) -> JSONObject {
        [
            "path": path(record.path), "state": .string(record.state.rawValue),
        ] + capture(record) + [
            "updated_at": time(record.updatedAt),
            "error_code": JSONValue(record.errorCode), "error_detail": JSONValue(record.errorDetail),
        ]
    }

    /// JSON that the store keeps, as an object.
    static func kept(_ json: String?) -> JSONValue { json.map { .verbatim($0) } ?? .null }

    static func finding(_ check: CaptureVerification.Check, _ finding: CaptureVerification.Finding) -> JSONObject {
        let reason: String? =
            switch finding {
            case .passed: nil
            case .failed(let reason), .skipped(let reason): reason
            }
        return ["name": .string(check.rawValue), "status": .string(result(of: finding)), "detail": JSONValue(reason)]
    }

    static func result(of finding: CaptureVerification.Finding) -> String {
        switch finding {
        case .passed: "passed"
        case .failed: "failed"
        case .skipped: "skipped"
        }
    }

    static func privacy(_ settings: PrivacySettings, _ path: String, changed: Bool) -> JSONObject {
        [
            "path": .string(path), "privacy_mode": .bool(settings.isPrivacyModeEnabled),
            "location": .string(settings.location.rawValue), "timestamp": .string(settings.timestamp.rawValue),
            "device": .string(settings.deviceInfo.rawValue), "changed": .bool(changed), "exit_code": 0,
        ]
    }
}
