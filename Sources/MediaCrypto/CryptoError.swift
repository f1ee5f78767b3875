internal import COpenSSL

/// OpenSSL failed, a file could not be read, or a ciphertext is not authentic.
public struct CryptoError: Error, Sendable, Equatable {
    /// A description of the failure, with OpenSSL's reason if there is one.
    public var detail: String
    /// The `errno` of the system call that failed, if one did.
    public var systemError: Int32?
    /// The ciphertext was modified, truncated or extended, or the key or the associated data differ from those with
    /// which it was sealed. Which of these is the case cannot be determined.
    public var isDamaged: Bool

    public init(_ detail: String, systemError: Int32? = nil, isDamaged: Bool = false) {
        self.detail = detail
        self.systemError = systemError
        self.isDamaged = isDamaged
    }

    /// OpenSSL's last error on this thread; clears its error queue.
    static func fromOpenSSL(_ operation: String) -> CryptoError {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        guard code != 0, let reason = ERR_reason_error_string(code) else { return CryptoError(operation) }
        return CryptoError(operation + ": " + String(cString: reason))
    }

    /// Like `fromOpenSSL`, with the provider's message if it has one, for example a response from the TPM.
    ///
    /// The message is in the first error in the queue; OpenSSL derives later errors from it.
    static func fromProvider(_ operation: String) -> CryptoError {
        var words: UnsafePointer<CChar>?
        var flags: Int32 = 0
        guard ERR_peek_error_all(nil, nil, nil, &words, &flags) != 0, flags & ERR_TXT_STRING != 0, let words,
            words.pointee != 0
        else { return fromOpenSSL(operation) }
        // The text belongs to the error queue.
        defer { ERR_clear_error() }
        return CryptoError(operation + ": " + String(cString: words))
    }
}

/// Random bytes for keys.
package enum CryptoRandom {
    /// Bytes from OpenSSL's generator, which the system's generator seeds; suitable for secrets and nonces.
    package static func bytes(_ count: Int) throws(CryptoError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        guard RAND_priv_bytes(&bytes, Int32(clamping: count)) == 1 else { throw .fromOpenSSL("no random bytes") }
        return bytes
    }
}

/// The OpenSSL that this process uses. It may be newer than the version that mediactl was built with.
public enum OpenSSLVersion {
    /// The version number, such as `3.0.17`.
    public static var number: String {
        // A constant of OpenSSL, which stays loaded.
        OpenSSL_version(OPENSSL_FULL_VERSION_STRING).map { String(cString: $0) } ?? "unknown"
    }
}
