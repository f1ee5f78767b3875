internal import COpenSSL

/// OpenSSL refused, what was to be hashed could not be read, or what was to be opened is not what was sealed.
public struct CryptoError: Error, Sendable, Equatable {
    /// OpenSSL's words, or what could not be done.
    public var detail: String
    /// The `errno` of the system call that failed, if one did.
    public var systemError: Int32?
    /// A ciphertext is not the one that was sealed with this key and associated data: something was changed, cut off or
    /// added, or the key or the associated data are others. Which of them, nobody can tell.
    public var isDamaged: Bool

    /// Makes an error.
    public init(_ detail: String, systemError: Int32? = nil, isDamaged: Bool = false) {
        self.detail = detail
        self.systemError = systemError
        self.isDamaged = isDamaged
    }

    /// What OpenSSL has noted last on this thread; its list of errors is emptied.
    static func fromOpenSSL(_ operation: String) -> CryptoError {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        guard code != 0, let reason = ERR_reason_error_string(code) else { return CryptoError(operation) }
        return CryptoError(operation + ": " + String(cString: reason))
    }

    /// As above, in the words of a provider where it has some, an answer of the TPM for example.
    ///
    /// They come with the first error of the list: the later ones are what OpenSSL made of it.
    static func fromProvider(_ operation: String) -> CryptoError {
        var words: UnsafePointer<CChar>?
        var flags: Int32 = 0
        guard ERR_peek_error_all(nil, nil, nil, &words, &flags) != 0, flags & ERR_TXT_STRING != 0, let words,
            words.pointee != 0
        else { return fromOpenSSL(operation) }
        // The text belongs to the list.
        defer { ERR_clear_error() }
        return CryptoError(operation + ": " + String(cString: words))
    }
}

/// Random bytes fit for keys.
package enum CryptoRandom {
    /// Bytes of OpenSSL's generator, which the system's generator seeds.
    ///
    /// - Parameter count: How many.
    /// - Returns: So many bytes, for use as a secret or as what must never come twice.
    /// - Throws: `CryptoError` when there is no randomness.
    package static func bytes(_ count: Int) throws(CryptoError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        guard RAND_priv_bytes(&bytes, Int32(clamping: count)) == 1 else { throw .fromOpenSSL("no randomness") }
        return bytes
    }
}

/// Which OpenSSL this process runs with. It may be newer than the one it was built with.
public enum OpenSSLVersion {
    /// Its version, such as `3.0.17`.
    public static var number: String {
        // A constant of OpenSSL, which stays loaded.
        OpenSSL_version(OPENSSL_FULL_VERSION_STRING).map { String(cString: $0) } ?? "unknown"
    }
}
