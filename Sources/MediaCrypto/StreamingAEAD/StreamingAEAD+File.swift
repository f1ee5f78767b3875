extension StreamingAEAD {
    /// Seals a file and hashes the very bytes that are sealed, in one pass: a thread of its own reads and encrypts, a second
    /// one hashes. Needs some 5 MiB, whatever the size.
    ///
    /// Cancelling ends it after at most one block of 1 MiB and throws `CancellationError`.
    ///
    /// - Parameters:
    ///   - descriptor: Open for reading; read with `pread` from its start, so the file offset stays. It must stay open until
    ///     this returns.
    ///   - byteCount: How many bytes.
    ///   - key: The key.
    ///   - associatedData: Must be the same for reading.
    ///   - write: Gets the ciphertext piece by piece on the reading thread; valid during the call only. An error that it
    ///     throws ends the pass.
    /// - Returns: The SHA-256 of the plaintext.
    /// - Throws: `CryptoError`, with `systemError` when reading failed, also when the file ends early; what `write` throws.
    ///   What was written so far is of no use then.
    package static func encrypt(
        file descriptor: Int32,
        byteCount: Int64,
        key: Key,
        associatedData: [UInt8],
        write: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void
    ) async throws -> SHA256Digest {
        let pipeline = try HashPipeline()
        try await FileReading.onOwnThread { isCancelled in
            var encryptor = try Encryptor(key: key, associatedData: associatedData, write: write)
            try FileReading.read(descriptor, from: 0, byteCount: byteCount) { block in
                if isCancelled() { throw CancellationError() }
                pipeline.append(block)
                try encryptor.update(block)
            }
            try encryptor.finish()
        }
        return try await pipeline.finish().digest
    }

    /// Opens a file and hashes its plaintext, as above. The bytes given out are right only when this returns.
    ///
    /// - Parameters:
    ///   - descriptor: Open for reading; read with `pread` from its start to its end. It must stay open until this returns.
    ///   - key: The key.
    ///   - associatedData: As when it was sealed.
    ///   - body: Gets the plaintext on the reading thread; valid during the call only. An error that it throws ends the
    ///     pass.
    /// - Returns: The SHA-256 and the size of the plaintext.
    /// - Throws: `CryptoError`, `.isDamaged` as in `decrypt(key:associatedData:read:_:)`, with `systemError` when reading
    ///   failed; what `body` throws.
    package static func decrypt(
        file descriptor: Int32,
        key: Key,
        associatedData: [UInt8],
        _ body: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void
    ) async throws -> (digest: SHA256Digest, byteCount: Int64) {
        let pipeline = try HashPipeline()
        try await FileReading.onOwnThread { isCancelled in
            var offset: Int64 = 0
            try decrypt(key: key, associatedData: associatedData) { buffer in
                if isCancelled() { throw CancellationError() }
                let count = try FileReading.fill(buffer, from: descriptor, at: offset)
                offset += Int64(count)
                return count
            } _: { segment in
                pipeline.append(segment)
                try body(segment)
            }
        }
        return try await pipeline.finish()
    }
}
