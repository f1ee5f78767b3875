import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore

/// Captures read back (contract 6).
struct CaptureReadEndpoint {
    let catalog: CaptureCatalog
    let links: CaptureLinks

    /// `GET /api/v1/captures/{uuid}` (6.2).
    func capture(_ id: String, for device: CaptureDevice) throws -> JSONValue {
        let row = try row(id)
        guard row.deviceId == device.id else {
            throw CaptureRefusal(.forbidden, "FORBIDDEN", "Capture belongs to another device")
        }
        return json(row)
    }

    /// `GET /api/v1/captures/by-hash/{hex}` (3.4 no. 6). Another device's capture is reported as missing: queries
    /// must not reveal what others have photographed.
    func capture(hash: String, for device: CaptureDevice) throws -> JSONValue {
        guard hash.wholeMatch(of: /[0-9a-fA-F]{64}/) != nil else { throw CaptureRefusal.invalid("Invalid hash") }
        guard let row = try catalog.capture(hash: hash.lowercased()), row.deviceId == device.id else {
            throw CaptureRefusal(.notFound, "HASH_NOT_FOUND", "No capture of this hash")
        }
        return json(row)
    }

    private func row(_ id: String) throws -> CaptureRow {
        guard let id = CaptureID.read(id) else { throw CaptureRefusal.invalid("Invalid capture id") }
        guard let row = try catalog.capture(id) else { throw CaptureRefusal.captureNotFound }
        return row
    }

    private func json(_ row: CaptureRow) -> JSONValue {
        var object: JSONValue = [
            "capture_id": .string(row.id), "device_id": .string(row.deviceId),
            "confidence_level": .string(row.confidence), "status": "complete", "evidence": row.evidence,
            "captured_at": .string(row.capturedAt.captureText), "uploaded_at": .string(row.uploadedAt.captureText),
        ]
        object["location_coarse"] = row.location.map(JSONValue.string)
        object["verification_url"] = .string(links.verification(of: row.id))
        object["capture_mode"] = .string(row.mode.rawValue)
        object["media_stored"] = .bool(row.mode == .full)
        if row.mode == .hashOnly { object["media_hash"] = .string(row.hash) }
        object["metadata_flags"] = row.flags
        object["detection_available"] = false
        return object
    }

    /// `GET /api/v1/verify/{uuid}` (6.3): no mode, no hash, no flags.
    func publicPage(_ id: String) throws -> JSONValue {
        let row = try row(id)
        var object: JSONValue = [
            "capture_id": .string(row.id), "confidence_level": .string(row.confidence),
            "captured_at": .string(row.capturedAt.captureText), "uploaded_at": .string(row.uploadedAt.captureText),
        ]
        object["location_coarse"] = row.location.map(JSONValue.string)
        object["evidence"] = row.evidence
        return object
    }

    /// `POST /api/v1/verify-file` (6.1). It receives the media itself, so no client of hash-only captures may call
    /// it on its own (M17); the sandbox has it so that a test can detect such a call.
    func verifyFile(_ body: [UInt8], _ exchange: Exchange) throws -> JSONValue {
        guard let file = try FullCaptureEndpoint.form(body, exchange)["file"] else {
            throw CaptureRefusal.invalid("file is required")
        }
        let digest = Digest.sha256(Array(buffer: file.value))
        guard let row = try catalog.capture(hash: hexString(digest)) else {
            return [
                "status": "no_record", "file_hash": .string(base64(digest)),
                "note": "No capture of this file is known",
            ]
        }
        return [
            "status": "verified", "file_hash": .string(base64(digest)), "capture_id": .string(row.id),
            "confidence_level": .string(row.confidence), "verification_url": .string(links.verification(of: row.id)),
            "capture_mode": .string(row.mode.rawValue), "media_stored": .bool(row.mode == .full),
            "media_hash": .string(row.hash), "evidence": row.evidence, "metadata_flags": row.flags ?? .null,
            "captured_at": .string(row.capturedAt.captureText), "media_type": .string(row.mediaType),
        ]
    }
}

/// The sandbox's own routes about captures, below `/__sandbox/captures/`; see `FaultSyntax.help`.
struct CaptureControl {
    let site: CaptureSite

    func reply(_ method: HTTPRequest.Method, _ path: [String]) throws -> Reply {
        guard method == .get, path.count == 1 else { return .webServerError(.notFound) }
        return switch path[0] {
        case "records": .json(.ok, .array(try site.catalog.captures().map(Self.json)))
        case "devices": .json(.ok, .array(try site.catalog.devices().map(Self.json)))
        case "bodies":
            .json(.ok, .array(site.bodies.all.map { ["path": .string($0.path), "body": .string(base64($0.body))] }))
        default: .webServerError(.notFound)
        }
    }

    private static func json(_ row: CaptureRow) -> JSONValue {
        [
            "id": .string(row.id), "device": .string(row.deviceId), "mode": .string(row.mode.rawValue),
            "mediaHash": .string(row.hash), "confidence": .string(row.confidence), "evidence": row.evidence,
            "flags": row.flags ?? .null, "location": JSONValue(row.location),
            "capturedAt": .string(row.capturedAt.captureText), "body": .string(row.body.base64EncodedString()),
        ]
    }

    private static func json(_ device: CaptureDevice) -> JSONValue {
        [
            "id": .string(device.id), "platform": .string(device.platform), "model": .string(device.model),
            "level": .string(device.level), "publicKey": device.key.map { .string(base64($0.point)) } ?? .null,
            "counter": .int(device.counter),
        ]
    }
}
