internal import COpenSSL

/// A library context of OpenSSL's own, with one provider loaded beside the default one. What is loaded here is seen by
/// nobody else in the process, and gone with this object.
///
/// Not thread-safe; one owner.
final class ProviderLibrary {
    /// An `OSSL_LIB_CTX`, freed in `deinit` after the providers.
    let context: OpaquePointer
    /// Whatever the provider can do, it does; the default provider does the rest.
    let preference: String

    private let name: String
    private let providers: [OpaquePointer]

    /// Loads a provider.
    ///
    /// - Throws: `CryptoError` when there is none of that name, or it cannot start.
    init(provider name: String) throws(CryptoError) {
        ERR_clear_error()
        guard let context = OSSL_LIB_CTX_new() else { throw .fromOpenSSL("no memory for a provider") }
        guard let wanted = OSSL_PROVIDER_load(context, name) else {
            // A module that is there but finds no hardware fails in its own start.
            let isThere = ERR_GET_REASON(ERR_peek_last_error()) == ERR_R_INIT_FAIL
            let error =
                isThere
                ? CryptoError.fromProvider("the provider \(name) cannot start")
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

    /// The first private key at an address.
    ///
    /// - Throws: `CryptoError` when there is none, it is not of P-256, or not this provider's.
    func privateKey(at uri: String) throws(CryptoError) -> EVPKey {
        ERR_clear_error()
        // A method that knows no answer: without one, OpenSSL would ask for a passphrase on the terminal.
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
            else { throw CryptoError("the key at \(uri) is not kept by the provider \(name)") }
            return key
        }
        throw .fromProvider("no key at \(uri)")
    }
}
