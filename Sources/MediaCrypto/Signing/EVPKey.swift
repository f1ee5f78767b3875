internal import COpenSSL

/// OpenSSL's form of a key, owned: freed once, with its owner.
struct EVPKey: ~Copyable {
    /// An `EVP_PKEY`.
    let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        EVP_PKEY_free(pointer)
    }

    /// Gives the key away: whoever takes it frees it.
    consuming func release() -> OpaquePointer {
        let released = pointer
        discard self
        return released
    }

    /// Whether it is a key of the curve P-256, wherever it lies.
    var isP256: Bool {
        guard EVP_PKEY_is_a(pointer, "EC") == 1 else { return false }
        var name = [CChar](repeating: 0, count: 80)
        var count = 0
        guard EVP_PKEY_get_group_name(pointer, &name, name.count, &count) == 1 else {
            ERR_clear_error()
            return false
        }
        // SECG's, X9.62's and NIST's name for the same curve.
        let group = String(decoding: name[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return ["secp256r1", "prime256v1", "P-256"].contains(group)
    }

    /// The public half: SEC 1, uncompressed, 65 bytes.
    ///
    /// - Throws: `CryptoError` when this is no P-256 key.
    func sec1() throws(CryptoError) -> [UInt8] {
        guard isP256 else { throw CryptoError("not a P-256 key") }
        return try [4] + coordinate(OSSL_PKEY_PARAM_EC_PUB_X) + coordinate(OSSL_PKEY_PARAM_EC_PUB_Y)
    }

    /// 32 bytes of the public point. Asked for one by one: the encoded point may be compressed, and providers need not
    /// have it.
    private func coordinate(_ name: String) throws(CryptoError) -> [UInt8] {
        var number: OpaquePointer?
        defer { BN_free(number) }
        var bytes = [UInt8](repeating: 0, count: 32)
        guard EVP_PKEY_get_bn_param(pointer, name, &number) == 1, BN_bn2binpad(number, &bytes, 32) == 32 else {
            throw .fromOpenSSL("a key without its public half")
        }
        return bytes
    }

    /// Whether the private half belongs to the public one.
    var isConsistent: Bool {
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, pointer, nil) else { return false }
        defer {
            EVP_PKEY_CTX_free(context)
            ERR_clear_error()
        }
        return EVP_PKEY_pairwise_check(context) == 1
    }
}
