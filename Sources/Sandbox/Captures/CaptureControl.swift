import Foundation
import HTTPTypes

/// The sandbox's own routes about captures, below `/__sandbox/captures/`; see `FaultSyntax.help`.
struct CaptureControl {
    static let prefix = "captures/"

    let site: CaptureSite

    func reply(_ method: HTTPRequest.Method, _ path: [String]) throws -> Reply {
        guard method == .get, path.count == 1 else { return .webServerError(.notFound) }
        return switch path[0] {
        case "records": .json(.ok, .array(try site.catalog.captures().map(Self.json)))
        case "devices": .json(.ok, .array(try site.catalog.devices().map(Self.json)))
        case "bodies":
            .json(
                .ok,
                .array(site.bodies.all.map { ["path": .string($0.path), "body": .string(base64($0.body))] })
            )
        default: .webServerError(.notFound)
        }
    }

    private static func json(_ row: CaptureRow) -> JSONValue {
        [
            "id": .string(row.id),
            "device": .string(row.deviceID),
            "mode": .string(row.mode.rawValue),
            "mediaHash": .string(row.hash),
            "confidence": .string(row.confidence),
            "evidence": row.evidence,
            "flags": row.flags ?? .null,
            "location": JSONValue(row.location),
            "capturedAt": .string(row.capturedAt.text),
            "body": .string(base64(row.body)),
        ]
    }

    private static func json(_ device: CaptureDevice) -> JSONValue {
        [
            "id": .string(device.id),
            "platform": .string(device.platform),
            "model": .string(device.model),
            "level": .string(device.level),
            "publicKey": device.key.map { .string(base64($0.point)) } ?? .null,
            "counter": .int(device.counter),
        ]
    }
}
