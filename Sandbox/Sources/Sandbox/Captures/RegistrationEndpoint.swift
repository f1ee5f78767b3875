import HTTPTypes
import Synchronization

/// `POST /api/v1/devices/register` (contract 3.2, 3.4).
struct RegistrationEndpoint {
    let catalog: CaptureCatalog
    let challenges: ChallengeBook

    private var settings: CaptureSettings { catalog.settings }

    func register(_ received: JSONValue) throws -> JSONValue {
        let request = try TypedFields(received, "the body")
        let platform = try request.string("platform").lowercased()
        let model = try request.string("model")
        let hasLidar = try request.bool("has_lidar")
        guard !model.allSatisfy(\.isWhitespace) else { throw CaptureRefusal.invalid("model must not be empty") }
        // The reference server accepts only phones, whose attestations do not exist on Linux.
        guard settings.profile == .mediactl1, platform == "linux" else {
            throw CaptureRefusal.invalid("platform \(platform) is not supported")
        }
        guard !hasLidar else { throw CaptureRefusal.invalid("has_lidar must be false on linux") }
        let device = try linuxDevice(try request.fields("key_attestation"), model)
        var id = device.id
        if try !catalog.add(device) {
            guard let upgraded = try catalog.upgrade(device) else {
                throw CaptureRefusal(.conflict, "DEVICE_ALREADY_REGISTERED", "Device is registered already")
            }
            id = upgraded
        }
        return ["device_id": .string(id), "attestation_level": .string(device.level), "has_lidar": .bool(hasLidar)]
    }

    /// Verifies possession of the key, and for `tpm2` the evidence. Without evidence the level is lower; invalid
    /// evidence is refused.
    private func linuxDevice(_ attestation: TypedFields, _ model: String) throws -> CaptureDevice {
        let format = try attestation.string("format")
        guard ["self", "tpm2"].contains(format) else { throw CaptureRefusal.invalid("format must be self or tpm2") }
        guard let key = P256PublicKey(point: try attestation.bytes("public_key")) else {
            throw CaptureRefusal.invalid("public_key must be an uncompressed point of P-256")
        }
        let challenge = try attestation.bytes("challenge")
        let signature = try attestation.bytes("signature")
        let activation = try challenges.redeem(challenge, at: settings.now)
        guard key.verifies(signature, of: challenge) else { throw CaptureRefusal.attestationFailed }
        var level = "software"
        if format == "tpm2" {
            let evidence = try TPM2Evidence(attestation)
            guard evidence.certifies(key) else { throw CaptureRefusal.attestationFailed }
            if evidence.proof != nil {
                guard evidence.proves(activation, challenge: challenge) else { throw CaptureRefusal.attestationFailed }
                level = "tpm2"
            }
        }
        return CaptureDevice(
            platform: "linux",
            model: model,
            level: level,
            key: key,
            keyId: hexString(Digest.sha256(key.point))
        )
    }
}

/// Challenges: valid for five minutes and for one registration, kept in memory (contract 3.2).
final class ChallengeBook: Sendable {
    private struct Entry {
        let expiry: Timestamp
        var activation: TPMActivation?
    }

    private struct State {
        var challenges: [[UInt8]: Entry] = [:]
        /// By address.
        var calls: [String: [Timestamp]] = [:]
    }

    private static let callsAMinute = 10

    private let state = Mutex(State())

    /// Nil if the address is rate limited.
    func issue(to address: String, at now: Timestamp) -> (challenge: [UInt8], expiresAt: Timestamp)? {
        state.withLock { state in
            var calls = state.calls[address, default: []].filter { $0 > now.advanced(bySeconds: -60) }
            guard calls.count < Self.callsAMinute else { return nil }
            calls.append(now)
            state.calls[address] = calls
            let challenge = randomBytes(32)
            let expiry = now.advanced(bySeconds: 300)
            state.challenges[challenge] = Entry(expiry: expiry)
            return (challenge, expiry)
        }
    }

    /// Replaces an earlier activation.
    func bind(_ activation: TPMActivation, to challenge: [UInt8], at now: Timestamp) throws(CaptureRefusal) {
        let entry = state.withLock { state in
            state.challenges[challenge]?.activation = activation
            return state.challenges[challenge]
        }
        try Self.check(challenge, entry, at: now)
    }

    /// Invalidates a challenge, and returns its activation.
    @discardableResult
    func redeem(_ challenge: [UInt8], at now: Timestamp) throws(CaptureRefusal) -> TPMActivation? {
        let entry = state.withLock { $0.challenges.removeValue(forKey: challenge) }
        try Self.check(challenge, entry, at: now)
        return entry?.activation
    }

    private static func check(_ challenge: [UInt8], _ entry: Entry?, at now: Timestamp) throws(CaptureRefusal) {
        guard challenge.count == 32 else {
            throw CaptureRefusal.unauthorized("CHALLENGE_INVALID", "Challenge must be 32 bytes")
        }
        guard let entry else {
            throw CaptureRefusal(.badRequest, "CHALLENGE_NOT_FOUND", "Challenge is not known or was used")
        }
        guard now <= entry.expiry else {
            throw CaptureRefusal(.badRequest, "CHALLENGE_EXPIRED", "Challenge has expired")
        }
    }
}
