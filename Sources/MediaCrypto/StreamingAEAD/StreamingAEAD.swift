internal import COpenSSL
internal import MediaSystem

/// AES256_GCM_HKDF_1MB, the streaming format of Tink, which can read it with the 32-byte key and the associated data
/// (`AesGcmHkdfStreamingKey` version 0, derived key size 32, SHA256, ciphertext segment size 1 MiB; output prefix RAW).
///
/// A ciphertext is a header and at least one segment:
///
///     header   40 (one byte: the header's length) ‖ salt (32) ‖ nonce prefix (7)
///     segment  AES-256-GCM of up to 1 MiB − 16 bytes of plaintext ‖ tag (16)
///
/// - The AES key is HKDF-SHA256 (RFC 5869) of the key, with the salt as salt and the associated data as info: 32 bytes.
/// - The nonce of a segment is nonce prefix ‖ its number, from 0 (4 bytes, big-endian) ‖ 1 for the last segment,
///   otherwise 0. GCM has no associated data. Segments cannot be changed, moved, omitted or added, and the end cannot
///   be truncated.
/// - Counted from the start of the header, every segment ends at a multiple of 1 MiB, except the last, which may be
///   shorter: the first contains 40 fewer bytes. Only an empty plaintext has an empty segment.
package enum StreamingAEAD {
    /// Number of bytes of a segment with its tag, and of the first segment with header and tag.
    static let segmentByteCount = 1 << 20
    static let tagByteCount = 16
    static let headerByteCount = 40
    static let saltByteCount = 32

    /// The exact size of a ciphertext, header and tags included.
    package static func ciphertextByteCount(of plaintextByteCount: Int64) -> Int64 {
        let room = Int64(segmentByteCount - tagByteCount)
        let segments = max(1, (Int64(headerByteCount) + plaintextByteCount + room - 1) / room)
        return Int64(headerByteCount) + plaintextByteCount + segments * Int64(tagByteCount)
    }

    /// A 32-byte key, hidden from descriptions.
    package struct Key: Sendable, CustomStringConvertible, CustomReflectable {
        let bytes: [UInt8]

        package static func generate() throws(CryptoError) -> Key { Key(bytes: try CryptoRandom.bytes(32)) }

        package func withBytes<Value>(_ body: ([UInt8]) throws -> Value) rethrows -> Value { try body(bytes) }

        package var description: String { "key" }
        /// Hides the bytes from `dump`.
        package var customMirror: Mirror { Mirror(self, children: []) }
    }
}

extension StreamingAEAD.Key {
    /// nil unless there are 32 bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        self.init(bytes: bytes)
    }
}

extension StreamingAEAD {
    /// Seals bytes that arrive in pieces, using memory for one segment. One owner.
    ///
    /// After an error, the ciphertext is unfinished and cannot be continued.
    package struct Encryptor: ~Copyable {
        private var cipher: SegmentCipher
        private var buffer: SegmentBuffer
        /// Number of bytes of plaintext that fit into the current segment.
        private var room: Int
        private let write: (UnsafeRawBufferPointer) throws -> Void

        /// Starts a ciphertext and writes its header. `write` receives the ciphertext in pieces that are valid
        /// only during the call.
        package init(
            key: Key,
            associatedData: [UInt8],
            write: @escaping (UnsafeRawBufferPointer) throws -> Void
        ) throws {
            let random = try CryptoRandom.bytes(StreamingAEAD.headerByteCount - 1)
            let header = [UInt8(StreamingAEAD.headerByteCount)] + random
            let cipher = try SegmentCipher(.seal, header: header, key: key, associatedData: associatedData)
            try header.withUnsafeBytes { try write($0) }
            self.cipher = cipher
            self.write = write
            buffer = SegmentBuffer(byteCount: StreamingAEAD.segmentByteCount)
            room = StreamingAEAD.segmentByteCount - StreamingAEAD.tagByteCount - StreamingAEAD.headerByteCount
        }

        /// Adds plaintext. After an error, throws once a segment is full.
        package mutating func update(_ bytes: UnsafeRawBufferPointer) throws {
            var rest = bytes
            while !rest.isEmpty {
                // A full segment waits for the next byte, which shows that the segment is not the last.
                if buffer.count == room { try seal(isLast: false) }
                rest = buffer.fill(from: rest, below: room)
            }
        }

        /// Seals the last segment. Throws after an error.
        package consuming func finish() throws {
            try seal(isLast: true)
        }

        private mutating func seal(isLast: Bool) throws {
            let segment = buffer.first(buffer.count + StreamingAEAD.tagByteCount)
            try cipher.seal(segment, isLast: isLast)
            do {
                try write(UnsafeRawBufferPointer(segment))
            } catch {
                cipher.end()
                throw error
            }
            buffer.count = 0
            room = StreamingAEAD.segmentByteCount - StreamingAEAD.tagByteCount
        }
    }
}

extension StreamingAEAD {
    /// Decrypts a ciphertext. Each segment of plaintext is authenticated before it is passed on; the whole plaintext is
    /// authentic only when this returns.
    ///
    /// `read` fills a buffer and returns the number of bytes, 0 at the end. `body` receives plaintext that is valid
    /// only during the call.
    ///
    /// - Throws: `CryptoError` `.isDamaged` for a wrong key, wrong associated data, or a modified, truncated or
    ///   extended ciphertext; errors thrown by `read` and `body`.
    package static func decrypt(
        key: Key,
        associatedData: [UInt8],
        read: (UnsafeMutableRawBufferPointer) throws -> Int,
        _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        // One byte more than a segment: it shows whether the segment is the last.
        var buffer = SegmentBuffer(byteCount: segmentByteCount + 1)
        try fill(&buffer, below: headerByteCount, read)
        guard buffer.count == headerByteCount else {
            throw CryptoError("the ciphertext ends in its header", isDamaged: true)
        }
        let header = Array(buffer.first(headerByteCount))
        var cipher = try SegmentCipher(.open, header: header, key: key, associatedData: associatedData)
        buffer.count = 0
        var size = segmentByteCount - headerByteCount
        while true {
            try fill(&buffer, below: size + 1, read)
            let isLast = buffer.count <= size
            let segment = buffer.first(min(buffer.count, size))
            let next = isLast ? nil : buffer.first(size + 1).last
            try cipher.open(segment, isLast: isLast)
            try body(UnsafeRawBufferPointer(rebasing: segment.dropLast(tagByteCount)))
            guard let next else { return }
            buffer.first(1)[0] = next
            buffer.count = 1
            size = segmentByteCount
        }
    }

    private static func fill(
        _ buffer: inout SegmentBuffer,
        below limit: Int,
        _ read: (UnsafeMutableRawBufferPointer) throws -> Int
    ) throws {
        while buffer.count < limit {
            let count = try read(buffer.room(below: limit))
            guard count > 0 else { return }
            guard count <= limit - buffer.count else { throw CryptoError("the read exceeds the buffer") }
            buffer.count += count
        }
    }
}

extension StreamingAEAD {
    /// Encrypts a file and hashes its plaintext in one pass: one thread reads and encrypts, and another hashes. Needs
    /// about 5 MiB of memory for any size.
    ///
    /// Canceling stops after at most one block of 1 MiB and throws `CancellationError`. The file is read with `pread`
    /// from its start; `descriptor` must stay open until this returns. `write` receives the ciphertext on the reading
    /// thread, in pieces that are valid only during the call; an error that it throws stops the pass.
    ///
    /// - Returns: The SHA-256 of the plaintext.
    /// - Throws: `CryptoError`, with `systemError` if reading failed or the file ends early; errors thrown by `write`.
    ///   The output is then unusable.
    package static func encrypt(
        file descriptor: Int32,
        byteCount: Int64,
        key: Key,
        associatedData: [UInt8],
        write: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void
    ) async throws -> SHA256Digest {
        let pipeline = try HashPipeline()
        try await BlockingWork.runCancellable { isCancelled in
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

    /// Decrypts a whole file and hashes its plaintext in one pass, as `encrypt` does. The plaintext is authentic only
    /// when this returns.
    ///
    /// - Returns: The SHA-256 and the size of the plaintext.
    /// - Throws: `CryptoError`, `.isDamaged` as in `decrypt(key:associatedData:read:_:)`, with `systemError` if
    ///   reading failed; errors thrown by `body`.
    package static func decrypt(
        file descriptor: Int32,
        key: Key,
        associatedData: [UInt8],
        _ body: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void
    ) async throws -> (digest: SHA256Digest, byteCount: Int64) {
        let pipeline = try HashPipeline()
        try await BlockingWork.runCancellable { isCancelled in
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

/// AES-256-GCM for the segments of one ciphertext, in order. Not thread-safe; one owner.
struct SegmentCipher: ~Copyable {
    enum Direction { case seal, open }

    /// An `EVP_CIPHER_CTX`, owned: created in `init`, freed in `deinit`, never exposed. It keeps the derived key.
    private let context: OpaquePointer
    /// Nonce prefix ‖ number ‖ whether the segment is the last.
    private var nonce: [UInt8]
    private var number: UInt32 = 0
    private var isOver = false

    /// Derives the key. Throws `.isDamaged` for a header with a different length or format.
    init(_ direction: Direction, header: [UInt8], key: StreamingAEAD.Key, associatedData: [UInt8]) throws(CryptoError) {
        guard header.count == StreamingAEAD.headerByteCount, header[0] == UInt8(StreamingAEAD.headerByteCount) else {
            throw CryptoError("the ciphertext has an invalid header", isDamaged: true)
        }
        let salt = Array(header[1..<1 + StreamingAEAD.saltByteCount])
        var derived = [UInt8](repeating: 0, count: 32)
        defer { OPENSSL_cleanse(&derived, derived.count) }
        let (info, infoCount) = (associatedData, associatedData.count)
        guard copenssl_hkdf_sha256(key.bytes, key.bytes.count, salt, salt.count, info, infoCount, &derived, 32) == 1
        else { throw .fromOpenSSL("cannot derive a key") }
        guard let context = EVP_CIPHER_CTX_new() else { throw .fromOpenSSL("out of memory") }
        let encrypts: Int32 = direction == .seal ? 1 : 0
        guard EVP_CipherInit_ex(context, EVP_aes_256_gcm(), nil, derived, nil, encrypts) == 1 else {
            EVP_CIPHER_CTX_free(context)
            throw .fromOpenSSL("cannot start AES-256-GCM")
        }
        self.context = context
        nonce = Array(header[(1 + StreamingAEAD.saltByteCount)...]) + [0, 0, 0, 0, 0]
    }

    deinit {
        EVP_CIPHER_CTX_free(context)
    }

    /// Seals the next segment in place; it ends with 16 bytes reserved for the tag. Nothing may follow the last segment
    /// or an error.
    mutating func seal(_ segment: UnsafeMutableRawBufferPointer, isLast: Bool) throws(CryptoError) {
        let count = segment.count - StreamingAEAD.tagByteCount
        try begin(isLast: isLast)
        guard count >= 0, let start = segment.baseAddress, transform(start, count),
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(StreamingAEAD.tagByteCount), start + count) == 1
        else { throw .fromOpenSSL("cannot encrypt") }
        isOver = isLast
    }

    /// Opens the next segment, ciphertext and tag, in place; the plaintext is 16 bytes shorter. If this throws, the
    /// buffer is not authentic and must not be used.
    mutating func open(_ segment: UnsafeMutableRawBufferPointer, isLast: Bool) throws(CryptoError) {
        let count = segment.count - StreamingAEAD.tagByteCount
        try begin(isLast: isLast)
        guard count >= 0, let start = segment.baseAddress,
            EVP_CIPHER_CTX_ctrl(
                context,
                EVP_CTRL_AEAD_SET_TAG,
                Int32(StreamingAEAD.tagByteCount),
                start + count
            ) == 1, transform(start, count)
        else {
            ERR_clear_error()
            throw CryptoError("a segment of the ciphertext is not authentic", isDamaged: true)
        }
        isOver = isLast
    }

    mutating func end() {
        isOver = true
    }

    /// Sets the next nonce. Nonces are never used twice: another segment cannot begin until this one is done.
    private mutating func begin(isLast: Bool) throws(CryptoError) {
        guard !isOver else { throw CryptoError("the ciphertext is already complete") }
        isOver = true
        for (index, shift) in zip(7..., [24, 16, 8, 0]) { nonce[index] = UInt8(truncatingIfNeeded: number >> shift) }
        nonce[11] = isLast ? 1 : 0
        let (next, hasOverflown) = number.addingReportingOverflow(1)
        guard !hasOverflown || isLast else { throw CryptoError("too long for this format (4 PiB)") }
        number = next
        guard EVP_CipherInit_ex(context, nil, nil, nil, nonce, -1) == 1 else {
            throw .fromOpenSSL("cannot set a nonce")
        }
    }

    /// Runs the cipher in place, and checks the tag when opening.
    private func transform(_ start: UnsafeMutableRawPointer, _ count: Int) -> Bool {
        let bytes = start.assumingMemoryBound(to: UInt8.self)
        var done: Int32 = 0
        // GCM has nothing left to write at the end; the last call computes or compares the tag.
        return EVP_CipherUpdate(context, bytes, &done, bytes, Int32(count)) == 1 && Int(done) == count
            && EVP_CipherFinal_ex(context, bytes + count, &done) == 1
    }
}

/// Memory for one segment of a `StreamingAEAD`, filled from the front. Freed with its owner.
struct SegmentBuffer: ~Copyable {
    private let storage: UnsafeMutableRawBufferPointer
    /// Number of bytes filled.
    var count = 0

    init(byteCount: Int) {
        storage = .allocate(byteCount: byteCount, alignment: 64)
    }

    deinit {
        storage.deallocate()
    }

    /// The first bytes, filled or not; valid as long as the buffer.
    func first(_ byteCount: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: storage[..<byteCount])
    }

    /// The unfilled part up to `limit`.
    func room(below limit: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: storage[count..<limit])
    }

    /// Copies the bytes that fit below `limit`, and returns the others.
    mutating func fill(from bytes: UnsafeRawBufferPointer, below limit: Int) -> UnsafeRawBufferPointer {
        let piece = UnsafeRawBufferPointer(rebasing: bytes.prefix(limit - count))
        room(below: limit).copyMemory(from: piece)
        count += piece.count
        return UnsafeRawBufferPointer(rebasing: bytes.dropFirst(piece.count))
    }
}
