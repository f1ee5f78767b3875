internal import COpenSSL

/// A separate OpenSSL library context with one provider in addition to the default one. The rest of the process does
/// not see it, and it is freed with this object.
///
/// Not thread-safe; one owner.
final class ProviderLibrary {
    /// An `OSSL_LIB_CTX`, freed in `deinit` after the providers.
    let context: OpaquePointer
    /// Property query: this provider if possible, otherwise the default one.
    let preference: String

    private let name: String
    private let providers: [OpaquePointer]

    /// Throws if there is no such provider or if it cannot start.
    init(provider name: String) throws(CryptoError) {
        ERR_clear_error()
        guard let context = OSSL_LIB_CTX_new() else { throw .fromOpenSSL("out of memory") }
        guard let wanted = OSSL_PROVIDER_load(context, name) else {
            // A module that exists but does not find its hardware fails during initialization.
            let isThere = ERR_GET_REASON(ERR_peek_last_error()) == ERR_R_INIT_FAIL
            let error =
                isThere
                ? CryptoError.fromProvider("the provider \(name) cannot be loaded")
                : CryptoError("no such provider: \(name)")
            ERR_clear_error()
            OSSL_LIB_CTX_free(context)
            throw error
        }
        guard let standard = OSSL_PROVIDER_load(context, "default") else {
            let error = CryptoError.fromProvider("cannot load OpenSSL's default provider")
            OSSL_PROVIDER_unload(wanted)
            OSSL_LIB_CTX_free(context)
            throw error
        }
        self.context = context
        self.name = name
        preference = "?provider=" + name
        providers = [wanted, standard]
    }

    deinit {
        for provider in providers { OSSL_PROVIDER_unload(provider) }
        OSSL_LIB_CTX_free(context)
    }

    /// The first private key at a URI. Throws if there is no key, or if the key is not on P-256 or does not belong to
    /// this provider.
    func privateKey(at uri: String) throws(CryptoError) -> EVPKey {
        ERR_clear_error()
        // Null UI: otherwise, OpenSSL would prompt for a passphrase on the terminal.
        guard let store = OSSL_STORE_open_ex(uri, context, preference, UI_null(), nil, nil, nil, nil) else {
            throw .fromProvider("no key at \(uri)")
        }
        defer { OSSL_STORE_close(store) }
        OSSL_STORE_expect(store, OSSL_STORE_INFO_PKEY)
        while OSSL_STORE_eof(store) == 0 {
            guard let found = OSSL_STORE_load(store) else { continue }
            defer { OSSL_STORE_INFO_free(found) }
            guard let pointer = OSSL_STORE_INFO_get1_PKEY(found) else { continue }
            let key = EVPKey(owning: pointer)
            guard key.isP256 else { throw CryptoError("not a P-256 key at \(uri)") }
            guard let home = EVP_PKEY_get0_provider(pointer), let homeName = OSSL_PROVIDER_get0_name(home),
                String(cString: homeName) == name
            else { throw CryptoError("the key at \(uri) is not stored by the provider \(name)") }
            return key
        }
        throw .fromProvider("no key at \(uri)")
    }
}
