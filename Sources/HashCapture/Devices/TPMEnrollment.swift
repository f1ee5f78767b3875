internal import CaptureSubmission
internal import MediaCrypto
public import MediaStore
internal import MediaSystem
internal import MediaTransport

extension DeviceEnrollment {
    /// Registers a key in this machine's TPM, with the proof that it is in the TPM (hash-only contract 3.4; ADR 0045):
    ///
    /// 1. Credential activation: the server encrypts a secret to the endorsement key of a certificate that it trusts,
    ///    bound to an attestation key. The TPM decrypts it only if it has both.
    /// 2. Quote: the attestation key signs the server's challenge, so an old proof cannot be reused.
    /// 3. Certification: the attestation key signs a statement that the signing key is in the same TPM and cannot leave
    ///    it.
    ///
    /// A TPM key that this machine has registered at the level `software` is upgraded: its device and counter are kept.
    func registerTPM(
        _ plan: Plan,
        _ certificates: [EndorsementCertificate],
        control: TransferControl
    ) async throws(CaptureError) -> CaptureDeviceRecord {
        let library = session.dependencies.library
        let earlier = try CaptureError.stored(library.captureDevice(for: session.server))
        let known = try keyOfTPM(plan, earlier)
        let tpm = try TPMSession.open(in: session.dependencies.directory, control: control)
        defer { tpm.close() }
        let chain = try await tpm.openEndorsementKey(certificates).map(\.der)
        let attestationKey = try await tpm.makeAttestationKey()
        let challenge = try await session.client.challenge()
        let credential = try await session.client.credential(
            for: attestationKey,
            endorsementCertificates: chain,
            challenge: challenge
        )
        let secret = try await tpm.activate(credential)
        let handle: String
        if let known { handle = known.handle } else { handle = try await tpm.makeKey() }
        do throws(CaptureError) {
            let (publicKey, area) = try await tpm.publicKey(handle)
            let certification = try await tpm.certify(handle)
            let quote = try await tpm.quote(challenge.bytes)
            let evidence = TPM2Evidence(
                keyPublicArea: area,
                attestationKeyPublicArea: attestationKey,
                certification: certification.statement,
                certificationSignature: certification.signature,
                endorsementCertificates: chain,
                activation: TPM2Activation(
                    secret: secret,
                    quote: quote.statement,
                    quoteSignature: quote.signature
                )
            )
            // Sign only after the tools have exited: some connections to a TPM allow only one program at a time.
            let source = known?.source ?? .provider(uri: "handle:" + handle, provider: "tpm2", isOurs: true)
            let key = try await DeviceKey(directory: session.dependencies.directory).signer(at: source, publicKey: nil)
            guard key.publicKey == publicKey else {
                throw CaptureError(
                    .tpmUnusable,
                    detail: "tpm2-openssl and tpm2-tools use different TPMs; set TPM2OPENSSL_TCTI and TPM2TOOLS_TCTI "
                        + "to the same TPM"
                )
            }
            CaptureFailpoint.keyWritten.reach()
            let device = try await register(plan, source, key, challenge, evidence, control: control)
            await removeReplacedKey(of: earlier, in: tpm, control: control)
            return device
        } catch {
            // After an unknown outcome, the key may be registered.
            if known == nil, error.code != .unknownOutcome { await tpm.removeKey(handle) }
            throw error
        }
    }

    /// Registers a key that is stored, and stores the device.
    func register(
        _ plan: Plan,
        _ source: CaptureDeviceRecord.KeySource,
        _ key: any CaptureSigner,
        _ challenge: RegistrationChallenge,
        _ evidence: TPM2Evidence?,
        control: TransferControl
    ) async throws(CaptureError) -> CaptureDeviceRecord {
        let signer = StoppableSigner(signer: key, control: control)
        let response = try await session.client.register(
            model: plan.model,
            challenge: challenge,
            signer: signer,
            evidence: evidence
        )
        CaptureFailpoint.deviceRegistered.reach()
        return try keep(response.deviceID, plan, try level(response, evidence), source, signer)
    }

    /// The key to attest; nil to create a new one.
    ///
    /// - Throws: `.alreadyRegistered` unless the earlier registration can be upgraded or is replaced; `.keyUnusable`
    ///   for a key that is not in the TPM.
    private func keyOfTPM(
        _ plan: Plan,
        _ earlier: CaptureDeviceRecord?
    ) throws(CaptureError) -> (source: CaptureDeviceRecord.KeySource, handle: String)? {
        var known: CaptureDeviceRecord.KeySource?
        if let earlier, !plan.replacesEarlier {
            guard plan.upgrades(earlier) else {
                var error = Self.registered(earlier, session.server)
                if earlier.level == KeyLevel.software.rawValue, earlier.keySource.provider != "tpm2" {
                    error.detail += ", with a key outside the TPM, which cannot be attested"
                }
                throw error
            }
            known = earlier.keySource
        } else if case .existing(let source) = plan.key {
            known = source
        }
        return try known.map { source throws(CaptureError) in (source, try Self.handle(of: source)) }
    }

    static func handle(of source: CaptureDeviceRecord.KeySource) throws(CaptureError) -> String {
        guard case .provider(let uri, "tpm2", _) = source, uri.hasPrefix("handle:0x") else {
            throw CaptureError(
                .keyUnusable,
                detail: "only a key at a persistent handle of the TPM can be attested: handle:0x81000001"
            )
        }
        return String(uri.dropFirst("handle:".count))
    }
}

extension DeviceEnrollment.Plan {
    /// Whether this plan attests the TPM key of an earlier registration at the level `software`, and thus keeps the
    /// device.
    public func upgrades(_ earlier: CaptureDeviceRecord) -> Bool {
        guard endorsementCertificates != nil, !replacesEarlier, earlier.level == KeyLevel.software.rawValue,
            case .provider(let uri, "tpm2", _) = earlier.keySource
        else { return false }
        switch key {
        case .new: return true
        case .existing(.provider(uri, "tpm2", _)): return true
        case .existing: return false
        }
    }
}
