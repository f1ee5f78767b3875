internal import CaptureSubmission
internal import MediaCrypto
internal import MediaFiles

/// Signs with a key that OpenSSL reaches.
struct KeySigner: CaptureSigner {
    private let key: SigningKey
    /// Hardware answers after a while: not on the few threads of Swift's pool.
    private let isSlow: Bool

    var publicKey: VerifyingKey { key.publicKey }

    init(_ key: SigningKey, isSlow: Bool) {
        self.key = key
        self.isSlow = isSlow
    }

    func sign(_ message: [UInt8]) async throws(CaptureError) -> [UInt8] {
        let key = key
        let work: @Sendable () throws(CryptoError) -> [UInt8] = { () throws(CryptoError) in try key.sign(message) }
        let signature: [UInt8]
        do throws(CryptoError) {
            signature = isSlow ? try await BlockingWork.run(work) : try work()
        } catch {
            throw CaptureError(.signingFailed, detail: error.detail, underlying: error)
        }
        guard publicKey.isValid(signature, of: message) else {
            throw CaptureError(.signingFailed, detail: "the key has made a signature that is not its own")
        }
        return signature
    }
}
