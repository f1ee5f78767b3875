import Foundation
import HTTPTypes

enum CaptureRoute: Sendable, Equatable {
    case challenge, credential, register
    case hashOnly, full
    case capture(String), captureByHash(String)
    case publicPage(String)
    case notFound, methodNotAllowed

    private static let prefix = "/api/v1/"

    init?(method: HTTPRequest.Method, path: String, profile: CaptureSettings.Profile) {
        guard path.hasPrefix(Self.prefix) else { return nil }
        let segments = path.dropFirst(Self.prefix.count).split(separator: "/", omittingEmptySubsequences: false)
            .map(String.init)
        guard let (wanted, route) = Self.route(segments, profile) else {
            self = .notFound
            return
        }
        self = method == wanted ? route : .methodNotAllowed
    }

    private static func route(
        _ segments: [String],
        _ profile: CaptureSettings.Profile
    ) -> (HTTPRequest.Method, CaptureRoute)? {
        let last = segments.last ?? ""
        guard !last.isEmpty else { return nil }
        switch (segments[0], segments.count) {
        case ("devices", 2) where last == "challenge": return (.get, .challenge)
        case ("devices", 2) where last == "credential" && profile == .mediactl1: return (.post, .credential)
        case ("devices", 2) where last == "register": return (.post, .register)
        case ("captures", 1): return (.post, .full)
        case ("captures", 2): return last == "hash-only" ? (.post, .hashOnly) : (.get, .capture(last))
        case ("captures", 3) where segments[1] == "by-hash" && profile == .mediactl1:
            return (.get, .captureByHash(last))
        case ("verify", 2): return (.get, .publicPage(last))
        default: return nil
        }
    }

    var isOpen: Bool {
        switch self {
        case .hashOnly, .full, .capture, .captureByHash: false
        default: true
        }
    }

    var place: Fault.Place? {
        switch self {
        case .challenge: .challenge
        case .register, .credential: .register
        case .hashOnly: .capture
        case .full: .captureFull
        case .capture, .captureByHash, .publicPage: .captureRead
        case .notFound, .methodNotAllowed: nil
        }
    }
}

enum CaptureID {
    /// The ID in lowercase; nil if it is not a UUID.
    static func read(_ text: String) -> String? { UUID(uuidString: text)?.uuidString.lowercased() }
}

/// An admitted request from a device.
struct DeviceCall {
    var device: CaptureDevice
    let timestamp: String
    let assertion: [UInt8]
    var isVerified = false
    /// The request's counter on `mediactl-1`. It is stored only after the payload's assertion, which has a higher
    /// counter, was verified (contract 3.4 no. 2).
    var pendingCounter: Int?
}

/// The checks that precede those of the body (contract 1.1).
struct CaptureGate {
    let catalog: CaptureCatalog

    private var settings: CaptureSettings { catalog.settings }

    /// Checks the headers, the time window, the device and its level.
    func admit(_ exchange: Exchange) throws -> DeviceCall {
        guard let device = exchange.header("X-Device-Id"), let timestamp = exchange.header("X-Device-Timestamp"),
            let signature = exchange.header("X-Device-Signature")
        else { throw CaptureRefusal.unauthorized("DEVICE_AUTH_REQUIRED", "Device authentication required") }
        guard let id = CaptureID.read(device) else { throw CaptureRefusal.invalid("X-Device-Id must be a UUID") }
        guard let milliseconds = Int(timestamp) else {
            throw CaptureRefusal.invalid("X-Device-Timestamp must be milliseconds since 1970")
        }
        guard let assertion = base64Bytes(signature), !assertion.isEmpty else {
            throw CaptureRefusal.invalid("X-Device-Signature must be base64")
        }
        // The limits are inclusive. `Double` is used because the difference of integers could overflow.
        let age = Double(settings.now.milliseconds) - Double(milliseconds)
        if age > 300_000 { throw CaptureRefusal.unauthorized("TIMESTAMP_EXPIRED", "Timestamp is too old") }
        if age < -60_000 { throw CaptureRefusal.unauthorized("TIMESTAMP_INVALID", "Timestamp is in the future") }
        guard let row = try catalog.device(id) else {
            throw CaptureRefusal(.notFound, "DEVICE_NOT_FOUND", "Device not found")
        }
        let required = settings.profile == .reference ? "secure_enclave" : "tpm2"
        guard !settings.isStrict || row.level == required else {
            throw CaptureRefusal(.forbidden, "DEVICE_UNVERIFIED", "Device is not verified")
        }
        return DeviceCall(device: row, timestamp: timestamp, assertion: assertion)
    }

    /// Verifies the signature over time and body. The reference server does so for one level only, and ignores the
    /// result unless `isStrict` is set.
    func verify(_ call: DeviceCall, body: [UInt8]) throws -> DeviceCall {
        guard settings.profile == .mediactl1 || call.device.level == "secure_enclave" else { return call }
        do {
            return try verified(call, body: body)
        } catch let refusal as CaptureRefusal {
            if settings.profile == .mediactl1 || settings.isStrict { throw refusal }
            return call
        }
    }

    private func verified(_ call: DeviceCall, body: [UInt8]) throws -> DeviceCall {
        guard let assertion = CaptureAssertion(cbor: call.assertion) else {
            throw CaptureRefusal.invalid("X-Device-Signature must be a CBOR assertion")
        }
        let clientData = "\(call.timestamp)|\(hexString(Digest.sha256(body)))"
        guard let key = call.device.key, assertion.isSigned(by: key, over: clientData.utf8) else {
            throw CaptureRefusal.unauthorized("SIGNATURE_INVALID", "Request signature is invalid")
        }
        let isNew =
            settings.profile == .mediactl1
            ? assertion.counter > call.device.counter : try catalog.advance(call.device, to: assertion.counter)
        guard isNew else { throw CaptureRefusal.unauthorized("REPLAY_DETECTED", "Counter was used before") }
        var call = call
        call.isVerified = true
        if settings.profile == .mediactl1 {
            call.pendingCounter = assertion.counter
        } else {
            call.device.counter = assertion.counter
        }
        return call
    }

    /// Verifies the assertion of a payload and stores its counter.
    func accept(_ text: String, over signedBytes: [UInt8], of call: DeviceCall) throws -> Bool {
        guard let assertion = base64Bytes(text).flatMap(CaptureAssertion.init(cbor:)),
            assertion.relyingPartyHash == Digest.sha256(Array(settings.relyingParty.utf8)),
            assertion.counter > max(call.device.counter, call.pendingCounter ?? 0), let key = call.device.key,
            assertion.isSigned(by: key, over: signedBytes)
        else { return false }
        return try catalog.advance(call.device, to: assertion.counter)
    }
}

/// Addresses in responses; the public page is JSON here.
struct CaptureLinks {
    let host: String
    let basePath: String

    func verification(of id: String) -> String { "http://\(host)\(basePath)/api/v1/verify/\(id)" }
}
