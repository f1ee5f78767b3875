internal import COpenSSL

/// AES-256-GCM of the segments of one ciphertext, one after the other. Not thread-safe; one owner.
struct SegmentCipher: ~Copyable {
    enum Direction { case seal, open }

    /// An `EVP_CIPHER_CTX`, owned: made in `init`, freed in `deinit`, never handed out. It keeps the derived key.
    private let context: OpaquePointer
    /// Nonce prefix ‖ number ‖ whether it is the last.
    private var nonce: [UInt8]
    private var number: UInt32 = 0
    private var isOver = false

    /// Derives the key.
    ///
    /// - Parameters:
    ///   - direction: What the cipher is for.
    ///   - header: 40 bytes.
    ///   - key: The key.
    ///   - associatedData: What the ciphertext is bound to.
    /// - Throws: `CryptoError` when OpenSSL refuses, and `.isDamaged` for a header of another length or format.
    init(
        _ direction: Direction,
        header: [UInt8],
        key: StreamingAEAD.Key,
        associatedData: [UInt8]
    ) throws(CryptoError) {
        guard header.count == StreamingAEAD.headerByteCount, header[0] == UInt8(StreamingAEAD.headerByteCount) else {
            throw CryptoError("the ciphertext does not begin as one", isDamaged: true)
        }
        let salt = Array(header[1..<1 + StreamingAEAD.saltByteCount])
        var derived = try HKDF.sha256(key: key.bytes, salt: salt, info: associatedData, byteCount: 32)
        defer { OPENSSL_cleanse(&derived, derived.count) }
        guard let context = EVP_CIPHER_CTX_new() else { throw .fromOpenSSL("no memory for a cipher") }
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

    /// Seals the next segment in place.
    ///
    /// - Parameters:
    ///   - segment: The plaintext, and behind it 16 bytes of room for the tag.
    ///   - isLast: Nothing may follow then.
    /// - Throws: `CryptoError`; nothing may follow then either.
    mutating func seal(_ segment: UnsafeMutableRawBufferPointer, isLast: Bool) throws(CryptoError) {
        let count = segment.count - StreamingAEAD.tagByteCount
        try begin(isLast: isLast)
        guard count >= 0, let start = segment.baseAddress, transform(start, count),
            EVP_CIPHER_CTX_ctrl(
                context,
                EVP_CTRL_AEAD_GET_TAG,
                Int32(StreamingAEAD.tagByteCount),
                start + count
            ) == 1
        else { throw .fromOpenSSL("cannot encrypt") }
        isOver = isLast
    }

    /// Opens the next segment in place; when this throws, what stands there is not authentic and is for nobody.
    ///
    /// - Parameters:
    ///   - segment: Ciphertext and tag; the plaintext is 16 bytes shorter.
    ///   - isLast: Nothing may follow then.
    /// - Throws: `CryptoError` `.isDamaged`.
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
            throw CryptoError("a piece of the ciphertext is not authentic", isDamaged: true)
        }
        isOver = isLast
    }

    /// Nothing may follow any more.
    mutating func end() {
        isOver = true
    }

    /// Takes the next nonce. No nonce is ever used twice: until the segment is done, no other can begin.
    private mutating func begin(isLast: Bool) throws(CryptoError) {
        guard !isOver else { throw CryptoError("the ciphertext has ended already") }
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

    /// Runs the cipher over the bytes in place, and checks the tag when opening.
    private func transform(_ start: UnsafeMutableRawPointer, _ count: Int) -> Bool {
        let bytes = start.assumingMemoryBound(to: UInt8.self)
        var done: Int32 = 0
        // GCM has nothing left to write at the end; the last call computes or compares the tag.
        return EVP_CipherUpdate(context, bytes, &done, bytes, Int32(count)) == 1 && Int(done) == count
            && EVP_CipherFinal_ex(context, bytes + count, &done) == 1
    }
}
