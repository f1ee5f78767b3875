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

    /// As above, with what a provider has added in its own words: an answer of the TPM, for example.
    static func fromProvider(_ operation: String) -> CryptoError {
        var words: UnsafePointer<CChar>?
        var flags: Int32 = 0
        _ = ERR_peek_last_error_all(nil, nil, nil, &words, &flags)
        // The text belongs to OpenSSL's list, which `fromOpenSSL` empties.
        let addition = flags & ERR_TXT_STRING != 0 ? words.map { String(cString: $0) } ?? "" : ""
        var error = fromOpenSSL(operation)
        if !addition.isEmpty { error.detail += ": " + addition }
        return error
    }
}
