internal import COpenSSL

/// OpenSSL refused, or what was to be hashed could not be read.
public struct CryptoError: Error, Sendable, Equatable {
    /// OpenSSL's words, or what could not be done.
    public var detail: String
    /// The `errno` of the system call that failed, if one did.
    public var systemError: Int32?

    /// Makes an error.
    public init(_ detail: String, systemError: Int32? = nil) {
        self.detail = detail
        self.systemError = systemError
    }

    /// What OpenSSL has noted last on this thread; its list of errors is emptied.
    static func fromOpenSSL(_ operation: String) -> CryptoError {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        guard code != 0, let reason = ERR_reason_error_string(code) else { return CryptoError(operation) }
        return CryptoError(operation + ": " + String(cString: reason))
    }
}
