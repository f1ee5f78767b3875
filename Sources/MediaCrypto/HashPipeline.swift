/// Computes SHA-256 on a thread of its own while somebody else sends the bytes.
///
/// `append` copies into a bounded ring of buffers and returns; it waits only when the hash is the slower side. Small
/// inputs never start the thread.
public final class HashPipeline: Sendable {
    /// A pipeline that has seen nothing.
    public init() throws(CryptoError) {}

    /// Adds bytes, in order. One caller at a time.
    public func append(_ bytes: UnsafeRawBufferPointer) {}

    /// Forgets everything appended.
    public func restart() {}

    /// Waits for the thread and gives the digest of all bytes appended, and their number.
    public func finish() async throws(CryptoError) -> (digest: SHA256Digest, byteCount: Int64) {
        (SHA256Digest(bytes: []), 0)
    }
}
