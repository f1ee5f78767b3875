import CaptureSubmission
import MediaCrypto

/// A key in memory.
struct KeySigner: CaptureSigner {
    let key: SigningKey
    /// The claimed public key.
    let publicKey: VerifyingKey

    init() throws {
        key = try SigningKey.generate()
        publicKey = key.publicKey
    }

    /// A signer whose signatures do not match its public key.
    init(pretending other: VerifyingKey) throws {
        key = try SigningKey.generate()
        publicKey = other
    }

    func sign(_ message: [UInt8]) async throws(CaptureError) -> [UInt8] {
        do {
            return try key.sign(message)
        } catch {
            throw CaptureError(.signingFailed, detail: error.detail)
        }
    }
}

/// Returns a fixed value.
struct CannedSigner: CaptureSigner {
    let publicKey: VerifyingKey
    let signature: [UInt8]

    func sign(_ message: [UInt8]) async throws(CaptureError) -> [UInt8] { signature }
}
