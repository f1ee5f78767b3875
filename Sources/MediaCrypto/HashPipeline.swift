/// Computes SHA-256 on a thread of its own while somebody else sends the bytes.
///
/// `append` copies into a bounded ring of buffers (2 MiB) and returns; it waits only when the hash is the slower side.
/// Inputs of up to 1 MiB never start the thread.
public final class HashPipeline: Sendable {
    let ring: HashRing

    /// A pipeline that has seen nothing.
    ///
    /// - Throws: `CryptoError` when OpenSSL cannot provide the algorithm.
    public init() throws(CryptoError) {
        ring = try HashRing()
    }

    deinit {
        ring.abandon()
    }

    /// Adds bytes, in order. One caller at a time; never together with `restart` or `finish`.
    public func append(_ bytes: UnsafeRawBufferPointer) {
        ring.append(bytes)
    }

    /// Forgets everything appended.
    public func restart() {
        ring.restart()
    }

    /// Waits for the thread and gives the digest of all bytes appended, and their number. More bytes may follow.
    ///
    /// Cancelling changes nothing: what is left to hash is at most the ring, which takes milliseconds.
    ///
    /// - Throws: `CryptoError` when OpenSSL failed on the way.
    public func finish() async throws(CryptoError) -> (digest: SHA256Digest, byteCount: Int64) {
        let result = await withCheckedContinuation { continuation in
            ring.finish { continuation.resume(returning: $0) }
        }
        return try result.get()
    }
}
