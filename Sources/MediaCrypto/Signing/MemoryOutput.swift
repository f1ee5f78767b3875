internal import COpenSSL

/// Takes what OpenSSL writes.
enum MemoryOutput {
    /// Collects it; OpenSSL's own copy is overwritten.
    ///
    /// - Parameters:
    ///   - operation: What is done, for the error.
    ///   - write: Writes to a `BIO` and returns 1 when that worked.
    /// - Returns: What was written.
    /// - Throws: `CryptoError`.
    static func bytes(_ operation: String, _ write: (OpaquePointer) -> Int32) throws(CryptoError) -> [UInt8] {
        guard let output = BIO_new(BIO_s_mem()) else { throw .fromOpenSSL("no memory") }
        // Memory of `BIO_s_mem` is cleared before it is freed.
        defer { BIO_free(output) }
        guard write(output) == 1 else { throw .fromOpenSSL(operation) }
        var bytes = [UInt8](repeating: 0, count: BIO_ctrl_pending(output))
        var count = 0
        guard BIO_read_ex(output, &bytes, bytes.count, &count) == 1, count == bytes.count else {
            throw .fromOpenSSL(operation)
        }
        return bytes
    }
}
