public import CaptureSubmission
internal import Foundation
public import MediaCrypto
internal import MediaFiles
public import MediaStore
internal import MediaSystem
public import MediaTransport

/// Registers this machine with a capture server (hash-only contract 3.2–3.4).
public struct DeviceEnrollment: Sendable {
    let session: CaptureSession

    public init(_ session: CaptureSession) {
        self.session = session
    }

    /// The source of the key.
    public enum Key: Sendable, Equatable {
        /// A new key in a file in the data directory (PKCS#8, 0600).
        case new
        case existing(CaptureDeviceRecord.KeySource)
    }

    /// A planned enrollment.
    public struct Plan: Sendable {
        public var key: Key
        /// The device model, shown by the server.
        public var model: String
        /// The server's relying party ID.
        public var rpID: String
        /// Existing evidence: a certification. Without a fresh proof, the level is `software`.
        public var evidence: TPM2Evidence?
        /// For a proof with tpm2-tools that the key is in this machine's TPM: certificates of its endorsement key that
        /// the TPM does not store itself, starting with the key's own. nil for no proof.
        public var endorsementCertificates: [EndorsementCertificate]?
        /// The public key; required for an external program, which cannot output it. See `VerifyingKey.reading`.
        public var publicKey: VerifyingKey?
        /// Whether to replace an earlier registration with this server.
        public var replacesEarlier: Bool

        public init(
            key: Key,
            model: String,
            rpID: String,
            evidence: TPM2Evidence? = nil,
            endorsementCertificates: [EndorsementCertificate]? = nil,
            publicKey: VerifyingKey? = nil,
            replacesEarlier: Bool = false
        ) {
            self.key = key
            self.model = model
            self.rpID = rpID
            self.evidence = evidence
            self.endorsementCertificates = endorsementCertificates
            self.publicKey = publicKey
            self.replacesEarlier = replacesEarlier
        }
    }

    /// Registers with the server, and stores the device and its key. The key is stored on disk or in the TPM before it
    /// is registered. Stopping `control` stops a signing program or a TPM tool, but not the registration itself. If
    /// several processes register with a server, they do so one at a time, so later processes find the device.
    ///
    /// - Throws: `CaptureError`: `.enrolmentImpossible` on `reference`; `.alreadyRegistered`; `.busy` if another
    ///   process is still registering after a minute; `.keyUnusable`; `.tpmUnusable`; `.cancelled`;
    ///   `.unexpectedResponse` for a level that was not proven.
    public func register(
        _ plan: Plan,
        control: TransferControl = TransferControl()
    ) async throws(CaptureError) -> CaptureDeviceRecord {
        guard session.profile == .mediactl1 else {
            throw CaptureError(
                .enrolmentImpossible,
                detail: "this server enrolls only iOS and Android devices, by hardware attestation",
                value: session.server
            )
        }
        try Self.checkEvidence(plan)
        let lock = try await control.canceling { () throws(CaptureError) in try await self.lock() }
        defer { lock.unlock() }
        if let certificates = plan.endorsementCertificates {
            return try await registerTPM(plan, certificates, control: control)
        }
        let earlier = try checkPlace(plan)
        let (source, key) = try await control.canceling { () throws(CaptureError) in try await self.key(plan) }
        CaptureFailpoint.keyWritten.reach()
        let device: CaptureDeviceRecord
        do throws(CaptureError) {
            let challenge = try await session.client.challenge()
            device = try await register(plan, source, key, challenge, plan.evidence, control: control)
        } catch {
            // After an unknown outcome, the key may be registered.
            if plan.key == .new, error.code != .unknownOutcome { keys.remove(source) }
            throw error
        }
        await removeReplacedKey(of: earlier, control: control)
        return device
    }

    /// Stores a device that was enrolled elsewhere with this key, without sending anything. `deviceID` is the UUID
    /// issued by the server.
    ///
    /// - Throws: `CaptureError` `.keyUnusable`, `.alreadyRegistered`, `.busy`.
    public func keep(deviceID: String, _ plan: Plan) async throws(CaptureError) -> CaptureDeviceRecord {
        guard let id = UUID(uuidString: deviceID)?.uuidString.lowercased() else {
            throw CaptureError(.badRequest, detail: "the device ID must be a UUID", value: deviceID)
        }
        guard case .existing = plan.key else {
            throw CaptureError(.keyUnusable, detail: "an enrolled device requires its existing key")
        }
        let lock = try await lock()
        defer { lock.unlock() }
        let earlier = try checkPlace(plan)
        let (source, signer) = try await key(plan)
        let device = try keep(id, plan, .enrolledElsewhere, source, signer)
        await removeReplacedKey(of: earlier, control: TransferControl())
        return device
    }

    // MARK: Helpers

    private var keys: DeviceKey { DeviceKey(directory: session.dependencies.directory) }

    private func lock() async throws(CaptureError) -> LockedFile {
        do {
            return try await LockedFile.ofRegistration(with: session.server, in: session.dependencies.directory)
        } catch {
            throw CaptureError(locking: error)
        }
    }

    /// Returns the earlier registration that the plan replaces.
    private func checkPlace(_ plan: Plan) throws(CaptureError) -> CaptureDeviceRecord? {
        let earlier = try CaptureError.stored(session.dependencies.library.captureDevice(for: session.server))
        guard let earlier, !plan.replacesEarlier else { return earlier }
        throw Self.registered(earlier, session.server)
    }

    /// Removes the key of a replaced registration: a file in the data directory, or a key that was created in the TPM.
    /// A key specified by the user is kept, as is a key that is registered with a different server. If removal fails,
    /// the key is kept.
    func removeReplacedKey(
        of earlier: CaptureDeviceRecord?,
        in opened: TPMSession? = nil,
        control: TransferControl
    ) async {
        guard let earlier,
            (try? session.dependencies.library.isRegistered(publicKey: earlier.publicKey)) == false
        else { return }
        keys.remove(earlier.keySource)
        guard case .provider(_, "tpm2", isOurs: true) = earlier.keySource,
            let handle = try? Self.handle(of: earlier.keySource)
        else { return }
        if let opened {
            await opened.removeKey(handle, of: earlier.publicKey)
        } else if let tpm = try? TPMSession.open(in: session.dependencies.directory, control: control) {
            defer { tpm.close() }
            await tpm.removeKey(handle, of: earlier.publicKey)
        }
    }

    static func registered(_ earlier: CaptureDeviceRecord, _ server: String) -> CaptureError {
        CaptureError(
            .alreadyRegistered,
            detail: "as device \(earlier.deviceID)",
            value: server
        )
    }

    /// A key in a file is not in a TPM, regardless of any certification.
    private static func checkEvidence(_ plan: Plan) throws(CaptureError) {
        guard plan.evidence != nil || plan.endorsementCertificates != nil else { return }
        switch plan.key {
        case .new where plan.evidence == nil: break
        case .existing(.provider), .existing(.command): break
        case .new, .existing(.file):
            throw CaptureError(.keyUnusable, detail: "a key in a file is not in a TPM")
        }
    }

    private func key(
        _ plan: Plan
    ) async throws(CaptureError) -> (source: CaptureDeviceRecord.KeySource, signer: any CaptureSigner) {
        switch plan.key {
        case .new:
            let (name, signer) = try keys.make(for: session.server)
            return (.file(name), signer)
        case .existing(let source):
            let signer = try await keys.signer(at: source, publicKey: plan.publicKey)
            guard plan.publicKey == nil || plan.publicKey == signer.publicKey else {
                throw CaptureError(.keyUnusable, detail: "it does not match the specified public key")
            }
            return (source, signer)
        }
    }

    /// The level in the response, but never above the level proven to the server.
    func level(_ response: RegistrationResponse, _ evidence: TPM2Evidence?) throws(CaptureError) -> KeyLevel {
        switch KeyLevel(rawValue: response.attestationLevel) {
        case .software: return .software
        case .tpm2 where evidence?.activation != nil: return .tpm2
        default:
            throw CaptureError(
                .unexpectedResponse,
                detail: "the server returned the level \"\(response.attestationLevel)\", which was not proven",
                value: response.deviceID
            )
        }
    }

    func keep(
        _ id: String,
        _ plan: Plan,
        _ level: KeyLevel,
        _ source: CaptureDeviceRecord.KeySource,
        _ signer: any CaptureSigner
    ) throws(CaptureError) -> CaptureDeviceRecord {
        let device = CaptureDeviceRecord(
            server: session.server,
            deviceID: id,
            profile: session.profile.rawValue,
            rpID: plan.rpID,
            level: level.rawValue,
            publicKey: signer.publicKey.sec1,
            keySource: source,
            createdAt: session.dependencies.now()
        )
        try CaptureError.stored(session.dependencies.library.keep(device))
        return device
    }
}

extension CaptureDevice {
    init(_ record: CaptureDeviceRecord, _ profile: CaptureProfile, _ signer: any CaptureSigner) {
        self.init(
            id: record.deviceID,
            profile: profile,
            rpID: record.rpID,
            level: KeyLevel(rawValue: record.level) ?? .software,
            signer: signer
        )
    }
}
