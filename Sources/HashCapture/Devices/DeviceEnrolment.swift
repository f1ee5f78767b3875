public import CaptureSubmission
public import MediaCrypto
public import MediaStore

/// Makes this machine known to a capture server (hash-only contract 3.2–3.4).
public struct DeviceEnrolment: Sendable {
    let session: CaptureSession

    /// Enrols for a session's server.
    public init(_ session: CaptureSession) {
        self.session = session
    }

    /// Where the key comes from.
    public enum Key: Sendable, Equatable {
        /// A new key in a file of the data directory (PKCS#8, 0600).
        case new
        /// A key that is there.
        case existing(CaptureDeviceRecord.KeySource)
    }

    /// What enrolment would do, and then does.
    public struct Plan: Sendable {
        public var key: Key
        /// Shown by the server.
        public var model: String
        /// The relying party id of the server.
        public var rpID: String
        /// Evidence for the level `tpm2`; nil for `software`.
        public var evidence: TPM2Evidence?
        /// Its public half: needed for an external program, which cannot be asked for it. See `VerifyingKey.reading`.
        public var publicKey: VerifyingKey?
        /// Takes the place of an earlier registration at this server.
        public var replacesEarlier: Bool

        /// Makes a plan.
        public init(
            key: Key,
            model: String,
            rpID: String,
            evidence: TPM2Evidence? = nil,
            publicKey: VerifyingKey? = nil,
            replacesEarlier: Bool = false
        ) {
            self.key = key
            self.model = model
            self.rpID = rpID
            self.evidence = evidence
            self.publicKey = publicKey
            self.replacesEarlier = replacesEarlier
        }
    }

    /// Registers at the server, and keeps device and key. The key is on the disk before the server hears of it.
    ///
    /// - Throws: `CaptureError`: `.enrolmentImpossible` on `reference`; `.alreadyRegistered`.
    public func register(_ plan: Plan) async throws(CaptureError) -> CaptureDeviceRecord {
        throw CaptureError(.internalError)
    }

    /// Keeps a device that was enrolled elsewhere with this key. Nothing is sent.
    ///
    /// - Throws: `CaptureError` `.keyUnusable`, `.alreadyRegistered`.
    public func keep(deviceID: String, _ plan: Plan) async throws(CaptureError) -> CaptureDeviceRecord {
        throw CaptureError(.internalError)
    }
}
