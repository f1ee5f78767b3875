/// Computes SHA-256 on a thread of its own while somebody else sends the bytes.
///
/// `append` copies into a bounded ring of buffers (1.5 MiB) and returns; it waits only when the hash is the slower side.
/// Inputs of up to 1 MiB never start the thread.
package final class HashPipeline: Sendable {
    let ring: HashRing

    /// A pipeline that has seen nothing.
    ///
    /// - Throws: `CryptoError` when OpenSSL cannot provide the algorithm.
    package init() throws(CryptoError) {
        ring = try HashRing()
    }

    deinit {
        ring.abandon()
    }

    /// Adds bytes, in order. One caller at a time; never together with `mark`, `restart` or `finish`.
    package func append(_ bytes: UnsafeRawBufferPointer) {
        ring.append(bytes)
    }

    /// Adds bytes of an open file, read with `pread` on a thread of its own; the file offset stays.
    ///
    /// Cancelling ends the reading after at most one block of 1 MiB and throws `CancellationError`.
    ///
    /// - Parameters:
    ///   - descriptor: Open for reading; it must stay open until this returns.
    ///   - offset: Of the first byte.
    ///   - byteCount: How many.
    ///   - onBlock: Called on the reading thread after each block of at most 1 MiB with the number of bytes read so far; an
    ///     error that it throws ends the reading.
    /// - Throws: `CryptoError`, with `systemError` when reading failed; also when the file ends early.
    package func append(
        file descriptor: Int32,
        from offset: Int64,
        byteCount: Int64,
        onBlock: @escaping @Sendable (Int64) throws -> Void = { _ in }
    ) async throws {
        try await FileReading.onOwnThread { [ring] isCancelled in
            var done: Int64 = 0
            try FileReading.read(descriptor, from: offset, byteCount: byteCount) { block in
                if isCancelled() { throw CancellationError() }
                ring.append(block)
                done += Int64(block.count)
                try onBlock(done)
            }
        }
    }

    /// Makes this the point to which `restart` goes back.
    package func mark() {
        ring.mark()
    }

    /// Forgets everything appended since the mark; without one, everything.
    package func restart() {
        ring.restart()
    }

    /// Waits for the thread and gives the digest of all bytes appended, and their number. More bytes may follow.
    ///
    /// Cancelling changes nothing: what is left to hash is at most the ring, which takes milliseconds.
    ///
    /// - Throws: `CryptoError` when OpenSSL failed on the way.
    package func finish() async throws(CryptoError) -> (digest: SHA256Digest, byteCount: Int64) {
        let result = await withCheckedContinuation { continuation in
            ring.finish { continuation.resume(returning: $0) }
        }
        return try result.get()
    }
}
