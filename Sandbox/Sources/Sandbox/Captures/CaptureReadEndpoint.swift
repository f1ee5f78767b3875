import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore

/// Queries for captures (contract 6).
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

    /// `GET /api/v1/captures/by-hash/{hex}` (3.4 no. 6). Captures from other devices are not disclosed.
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

    /// `GET /api/v1/verify/{uuid}` (6.3): without mode, hash and flags.
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
}

/// The sandbox's own routes about captures, below `/__sandbox/captures/`; see `FaultSyntax.help`.
struct CaptureControl {
    let site: CaptureSite

    func response(_ method: HTTPRequest.Method, _ path: [String]) throws -> Response {
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
