import ArgumentParser
import CLibcrypto
import Foundation

/// Trusted authorities of endorsement keys: TPM manufacturers, or `swtpm_localca`.
struct TPMAuthorities: Sendable, ExpressibleByArgument {
    /// DER.
    private var certificates: [[UInt8]] = []

    init() {}

    init?(argument path: String) {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
        for match in text.matches(of: /-----BEGIN CERTIFICATE-----([^-]*)-----END CERTIFICATE-----/) {
            let lines = match.1.split(whereSeparator: \.isWhitespace).joined()
            guard let der = base64Bytes(lines), Certificate(der) != nil else { return nil }
            certificates.append(der)
        }
        guard !certificates.isEmpty else { return nil }
    }

    mutating func add(_ other: TPMAuthorities) { certificates += other.certificates }

    /// The key of the first certificate, if this is an endorsement key certificate and the chain leads to a trusted
    /// authority.
    func endorsementKey(of chain: [[UInt8]]) -> PublicKey? {
        let chain = chain.map(Certificate.init)
        guard !certificates.isEmpty, let leaf = chain.first ?? nil, leaf.isOfEndorsementKey,
            let store = X509_STORE_new(), let context = X509_STORE_CTX_new(), let others = OPENSSL_sk_new_null()
        else { return nil }
        defer {
            X509_STORE_CTX_free(context)
            X509_STORE_free(store)
            // The list does not own its elements.
            OPENSSL_sk_free(others)
            ERR_clear_error()
        }
        let trusted = certificates.compactMap(Certificate.init)
        // The store retains a reference.
        for authority in trusted { X509_STORE_add_cert(store, authority.pointer) }
        for issuer in chain.dropFirst().compactMap(\.self) {
            OPENSSL_sk_push(others, UnsafeRawPointer(issuer.pointer))
        }
        // A trusted authority need not be a root.
        X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        let key = withExtendedLifetime((chain, trusted)) { () -> OpaquePointer? in
            guard X509_STORE_CTX_init(context, store, leaf.pointer, others) == 1, X509_verify_cert(context) == 1,
                X509_STORE_CTX_get_error(context) == X509_V_OK
            else { return nil }
            return X509_get_pubkey(leaf.pointer)
        }
        guard let key else { return nil }
        return PublicKey(owning: key)
    }
}

/// An `X509`, owned: created in `init`, freed in `deinit`, not used afterwards.
final class Certificate {
    let pointer: OpaquePointer

    init?(_ der: [UInt8]) {
        let made = der.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return d2i_X509(nil, &start, bytes.count)
        }
        ERR_clear_error()
        guard let made else { return nil }
        pointer = made
    }

    deinit { X509_free(pointer) }

    /// Whether the certificate has the extended key usage tcg-kp-EKCertificate (TCG EK Credential Profile, section
    /// 3.2.16). Keys in other certificates from this authority need not be in a TPM.
    var isOfEndorsementKey: Bool {
        guard let usage = X509_get_ext_d2i(pointer, NID_ext_key_usage, nil, nil),
            let wanted = OBJ_txt2obj("2.23.133.8.1", 1)
        else { return false }
        let list = OpaquePointer(usage)
        defer {
            OPENSSL_sk_pop_free(list) { ASN1_OBJECT_free($0.map { OpaquePointer($0) }) }
            ASN1_OBJECT_free(wanted)
        }
        return (0..<max(0, OPENSSL_sk_num(list))).contains { index in
            OPENSSL_sk_value(list, index).map { OBJ_cmp(OpaquePointer($0), wanted) == 0 } ?? false
        }
    }
}
