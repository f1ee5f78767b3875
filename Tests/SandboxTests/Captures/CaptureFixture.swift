import Foundation
import TestSupport
import Testing

@testable import Sandbox

/// A sandbox with an enrolled device, and requests from the contract, built by hand.
struct CaptureFixture {
    static let device = "6f1c2a3e-0d4b-4c5d-8e7f-102938475665"
    static let json = "Content-Type: application/json"

    let sandbox: SandboxProcess
    let key: OpenSSLKey
    /// The device's ID.
    let device: String
    private let party: String

    /// The profile is `mediactl-1` or `reference`; the level is the device's.
    init(_ profile: String = "mediactl-1", level: String = "software", _ arguments: [String] = []) async throws {
        key = try await OpenSSLKey()
        device = Self.device
        party = profile == "reference" ? "XXXXXXXXXX.com.realitycam.app" : "mediactl-1"
        sandbox = try await SandboxProcess.start(
            arguments: ["--capture-profile", profile]
                + ["--capture-device", "\(Self.device.uppercased()):\(level):\(key.publicFile)"] + arguments
        )
    }

    // MARK: Signing

    /// An assertion in base64: a map with two entries, with CBOR built by hand.
    func assertion(_ counter: UInt8, over data: some Sequence<UInt8>, party: String? = nil) async throws -> String {
        let authenticator = Digest.sha256(Array((party ?? self.party).utf8)) + [0, 0, 0, 0, counter]
        let signature = try await key.sign(authenticator + Digest.sha256(Array(data)))
        let cbor =
            [0xA2, 0x71] + Array("authenticatorData".utf8) + [0x58, 37] + authenticator + [0x69]
            + Array("signature".utf8) + [0x58, UInt8(signature.count)] + signature
        return Data(cbor).base64EncodedString()
    }

    /// curl's options for the three headers.
    func headers(_ counter: UInt8, _ body: String = "", late: Int = 0) async throws -> [String] {
        let time = String(Int(Date().timeIntervalSince1970 * 1000) - late)
        let signed = "\(time)|\(Digest.hex(of: body))"
        let signature = try await assertion(counter, over: signed.utf8, party: "not looked at")
        return ["X-Device-Id: " + device, "X-Device-Timestamp: " + time, "X-Device-Signature: " + signature]
            .flatMap { ["-H", $0] }
    }

    // MARK: Calling

    func get(_ path: String, _ options: [String] = []) async throws -> CurlResponse {
        try await curl(options + [sandbox.baseURL + "/api/v1/" + path])
    }

    func post(_ path: String, _ body: String, _ options: [String] = ["-H", json]) async throws -> CurlResponse {
        try await curl(options + ["-H", "Expect:", "--data-binary", body, sandbox.baseURL + "/api/v1/" + path])
    }

    /// Sends a payload with these signed bytes and an assertion with the next counter.
    func submit(
        _ payload: String,
        counter: UInt8 = 1,
        sending sent: String? = nil,
        options: [String] = []
    ) async throws -> CurlResponse {
        let assertion = try await assertion(counter + 1, over: payload.utf8)
        let body = (sent ?? payload).dropLast() + #","assertion":"\#(assertion)"}"#
        return try await post(
            "captures/hash-only",
            String(body),
            try await headers(counter, String(body)) + ["-H", Self.json] + options
        )
    }

    func counter() async throws -> Int? {
        try await sandbox.captureDevices().first { $0.id == device }?.counter
    }
}

/// Payloads in their signed form, written by hand.
enum CapturePayload {
    static let hash = "efa1f375d76194fa51a3556a97e641e61685f914d446979da50a551a4333ffd7"

    /// RFC 8785: sorted at every level.
    static func canonical(status: String = "completed", isReal: Bool = true, metadata: String = "{}") -> String {
        """
        {"capture_mode":"hash_only","captured_at":"2025-12-01T10:00:00Z",\
        "depth_analysis":{"algorithm_version":"1.0","depth_layers":8,"depth_variance":1.5,"edge_coherence":0.8,\
        "is_likely_real_scene":\(isReal),"max_depth":5,"min_depth":0.5,"status":"\(status)"},\
        "media_hash":"\(hash)","media_type":"photo","metadata":\(metadata),\
        "metadata_flags":{"device_info_included":false,"device_info_level":"none",\
        "location_included":\(metadata.contains("location")),"location_level":"coarse",\
        "timestamp_included":false,"timestamp_level":"none"}}
        """
    }

    /// Contract 2.1: members in the order of the declarations, binary32 numbers written as binary64.
    static func reference(hash: String = hash, isReal: Bool = true) -> String {
        """
        {"capture_mode":"hash_only","captured_at":"2025-12-01T10:00:00Z",\
        "depth_analysis":{"depth_variance":1.5,"depth_layers":8,"edge_coherence":0.800000011920929,"min_depth":0.5,\
        "max_depth":5.0,"is_likely_real_scene":\(isReal),"algorithm_version":"1.0"},\
        "media_hash":"\(hash)","media_type":"photo","metadata":{},\
        "metadata_flags":{"location_included":false,"location_level":"none","timestamp_included":false,\
        "timestamp_level":"none","device_info_included":false,"device_info_level":"none"}}
        """
    }
}

extension CurlResponse {
    /// `error.code`; nil for anything but an error envelope.
    var errorCode: String? {
        guard let object = try? object(), object.keys.sorted() == ["error", "meta"] else { return nil }
        return (object["error"] as? [String: Any])?["code"] as? String
    }

    /// A member of `data`.
    func data(_ key: String) throws -> Any? { (try object()["data"] as? [String: Any])?[key] }
}
