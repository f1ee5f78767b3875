/// SHA-256 over bytes that come in pieces. Not thread-safe; one owner.
package struct SHA256Hasher: ~Copyable {
    private var context: DigestContext

    /// Starts a digest.
    ///
    /// - Throws: `CryptoError` when OpenSSL cannot provide the algorithm.
    package init() throws(CryptoError) {
        context = try DigestContext(.sha256)
    }

    /// Adds bytes.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        context.update(bytes)
    }

    /// Forgets everything added.
    package mutating func reset() {
        context.reset()
    }

    /// Takes over the state of another digest, which goes on by itself.
    package mutating func resume(from other: borrowing SHA256Hasher) {
        context.resume(from: other.context)
    }

    /// The digest of everything added so far; more may follow.
    ///
    /// - Throws: `CryptoError` when OpenSSL failed here or in an earlier step.
    package func snapshot() throws(CryptoError) -> SHA256Digest {
        SHA256Digest(bytes: try context.snapshot())
    }
}
