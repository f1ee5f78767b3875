/// The statement of a TPM's attestation key about a signing key (contract 3.4 no. 1).
///
/// Software keys can produce a certification as well. `proves` verifies that the attestation key is in a TPM with a
/// trusted endorsement certificate (credential activation, TPM 2.0 part 1 section 24), and that it has signed this
/// challenge.
struct TPM2Evidence {
    /// TPMT_PUBLIC.
    let keyPublic: [UInt8]
    /// TPMT_PUBLIC.
    let attestationKeyPublic: [UInt8]
    /// TPMS_ATTEST.
    let certification: [UInt8]
    /// TPMT_SIGNATURE.
    let signature: [UInt8]
    /// DER, leaf first.
    let endorsementCertificates: [[UInt8]]
    /// The secret of the credential, and TPMS_ATTEST with TPMT_SIGNATURE of the quote; nil if one is missing.
    let proof: (secret: [UInt8], quote: [UInt8], quoteSignature: [UInt8])?

    init(_ fields: TypedFields) throws(CaptureRefusal) {
        keyPublic = try fields.bytes("key_public")
        attestationKeyPublic = try fields.bytes("ak_public")
        certification = try fields.bytes("certification")
        signature = try fields.bytes("certification_signature")
        endorsementCertificates = try Self.certificates(fields)
        guard try fields.has("activation_secret"), try fields.has("quote"), try fields.has("quote_signature") else {
            proof = nil
            return
        }
        proof = (try fields.bytes("activation_secret"), try fields.bytes("quote"), try fields.bytes("quote_signature"))
    }

    /// The member `ek_certificates`: DER in base64, leaf first.
    static func certificates(_ fields: TypedFields) throws(CaptureRefusal) -> [[UInt8]] {
        var certificates: [[UInt8]] = []
        for element in try fields.elements("ek_certificates") {
            guard let der = element.string.flatMap(base64Bytes) else {
                throw .invalid("ek_certificates must be base64")
            }
            certificates.append(der)
        }
        return certificates
    }

    /// Whether the attestation key was activated for this challenge and has signed the challenge.
    func proves(_ activation: TPMActivation?, challenge: [UInt8]) -> Bool {
        guard let activation, let proof, let signer = try? TPMPublicArea(attestationKeyPublic),
            let quote = try? TPMStatement(proof.quote), let signature = try? TPMSignature(proof.quoteSignature)
        else { return false }
        return signer.name == activation.attestationKeyName && proof.secret == activation.secret
            && quote.kind == .quote && quote.qualifyingData == challenge
            && signature.isValid(of: proof.quote, by: signer)
    }

    /// Whether the certification is valid for this key.
    func certifies(_ key: P256PublicKey) -> Bool {
        guard let area = try? TPMPublicArea(keyPublic), let signer = try? TPMPublicArea(attestationKeyPublic),
            let statement = try? TPMStatement(certification),
            let signature = try? TPMSignature(signature)
        else { return false }
        return area.point == key.point && area.isBornInTPM && area.attributes.contains(.sign)
            && signer.isAttestationKey
            && statement.kind == .certification && statement.name == area.name
            && signature.isValid(of: certification, by: signer)
            && !endorsementCertificates.isEmpty && endorsementCertificates.allSatisfy { Certificate($0) != nil }
    }
}

struct UnreadableTPMStructure: Error {}

/// Reads the big-endian structures of TPM 2.0 part 2.
struct TPMReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    mutating func number(_ size: Int) throws(UnreadableTPMStructure) -> Int {
        try take(size).reduce(0) { $0 << 8 | Int($1) }
    }

    /// A TPM2B: its size in two bytes, then the bytes.
    mutating func sized() throws(UnreadableTPMStructure) -> [UInt8] { try take(try number(2)) }

    mutating func take(_ count: Int) throws(UnreadableTPMStructure) -> [UInt8] {
        guard count <= rest.count else { throw UnreadableTPMStructure() }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    func finish() throws(UnreadableTPMStructure) {
        guard rest.isEmpty else { throw UnreadableTPMStructure() }
    }
}

/// TPM_ALG_ID values (part 2 section 6.3) and the one curve.
enum TPMAlgorithm {
    static let rsa = 0x0001
    static let sha256 = 0x000B
    static let null = 0x0010
    static let rsassa = 0x0014
    static let ecdsa = 0x0018
    static let ecc = 0x0023
    static let curveP256 = 0x0003
}

/// TPMT_PUBLIC of an ECC or RSA key with a SHA-256 name (part 2 section 12.2.4).
struct TPMPublicArea {
    /// TPMA_OBJECT.
    struct Attributes: OptionSet {
        let rawValue: Int

        static let fixedTPM = Attributes(rawValue: 1 << 1)
        static let fixedParent = Attributes(rawValue: 1 << 4)
        static let sensitiveDataOrigin = Attributes(rawValue: 1 << 5)
        static let restricted = Attributes(rawValue: 1 << 16)
        static let decrypt = Attributes(rawValue: 1 << 17)
        static let sign = Attributes(rawValue: 1 << 18)
    }

    private enum Key {
        case point([UInt8])
        case rsa(modulus: [UInt8], exponent: [UInt8])
    }

    let attributes: Attributes
    /// The algorithm of the name, then the digest of the whole area (part 1 section 16).
    let name: [UInt8]
    private let key: Key

    init(_ area: [UInt8]) throws(UnreadableTPMStructure) {
        var reader = TPMReader(area)
        let type = try reader.number(2)
        guard try reader.number(2) == TPMAlgorithm.sha256 else { throw UnreadableTPMStructure() }
        attributes = Attributes(rawValue: try reader.number(4))
        _ = try reader.sized()
        try Self.skipSymmetric(&reader)
        try Self.skipScheme(&reader)
        switch type {
        case TPMAlgorithm.ecc:
            guard try reader.number(2) == TPMAlgorithm.curveP256 else { throw UnreadableTPMStructure() }
            try Self.skipScheme(&reader)
            let (x, y) = (try reader.sized(), try reader.sized())
            guard x.count <= 32, y.count <= 32 else { throw UnreadableTPMStructure() }
            key = .point([4] + [x, y].flatMap { [UInt8](repeating: 0, count: 32 - $0.count) + $0 })
        case TPMAlgorithm.rsa:
            _ = try reader.number(2)
            let exponent = try reader.take(4)
            // Zero stands for 65537.
            let isDefault = exponent.allSatisfy { $0 == 0 }
            key = .rsa(modulus: try reader.sized(), exponent: isDefault ? [1, 0, 1] : exponent)
        default: throw UnreadableTPMStructure()
        }
        try reader.finish()
        name = [0, UInt8(TPMAlgorithm.sha256)] + Digest.sha256(area)
    }

    /// The point of an ECC key, uncompressed.
    var point: [UInt8]? { if case .point(let point) = key { point } else { nil } }

    /// Whether the key signs only data generated by its TPM.
    var isAttestationKey: Bool {
        isBornInTPM && attributes.isSuperset(of: [.sign, .restricted]) && !attributes.contains(.decrypt)
    }

    /// Whether the key was generated in the TPM and cannot be exported.
    var isBornInTPM: Bool { attributes.isSuperset(of: [.fixedTPM, .fixedParent, .sensitiveDataOrigin]) }

    /// SubjectPublicKeyInfo of an RSA key (RFC 8017 appendix A.1.1).
    fileprivate var rsaInfo: [UInt8]? {
        guard case .rsa(let modulus, let exponent) = key else { return nil }
        let rsaEncryption: [UInt8] = [
            0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
        ]
        let numbers = DER.sequence(DER.integer(modulus[...]) + DER.integer(exponent[...]))
        return DER.sequence(rsaEncryption + DER.element(0x03, [0] + numbers))
    }

    /// Skips a TPMT_SYM_DEF_OBJECT: an algorithm and, unless it is null, a key size and a mode.
    private static func skipSymmetric(_ reader: inout TPMReader) throws(UnreadableTPMStructure) {
        if try reader.number(2) != TPMAlgorithm.null { _ = try reader.take(4) }
    }

    /// Skips a scheme and, unless it is null, its digest algorithm.
    private static func skipScheme(_ reader: inout TPMReader) throws(UnreadableTPMStructure) {
        if try reader.number(2) != TPMAlgorithm.null { _ = try reader.number(2) }
    }
}

/// TPMS_ATTEST of TPM2_Certify or TPM2_Quote (part 2 section 10.12.8).
struct TPMStatement {
    /// TPMI_ST_ATTEST.
    enum Kind: Int {
        case certification = 0x8017
        case quote = 0x8018
    }

    let kind: Kind
    /// The caller's data.
    let qualifyingData: [UInt8]
    /// The name of the certified key; nil in a quote.
    let name: [UInt8]?

    init(_ statement: [UInt8]) throws(UnreadableTPMStructure) {
        var reader = TPMReader(statement)
        // TPM_GENERATED_VALUE: a restricted key signs such data only if its TPM generated it.
        guard try reader.number(4) == 0xFF54_4347, let kind = Kind(rawValue: try reader.number(2)) else {
            throw UnreadableTPMStructure()
        }
        self.kind = kind
        _ = try reader.sized()
        qualifyingData = try reader.sized()
        // Clock and firmware version.
        _ = try reader.take(17 + 8)
        switch kind {
        case .certification:
            name = try reader.sized()
            _ = try reader.sized()
        case .quote:
            name = nil
            // TPML_PCR_SELECTION, and the digest of the selection.
            for _ in 0..<(try reader.number(4)) {
                _ = try reader.number(2)
                _ = try reader.take(try reader.number(1))
            }
            _ = try reader.sized()
        }
        try reader.finish()
    }
}

/// TPMT_SIGNATURE with SHA-256 (part 2 section 11.3.4).
struct TPMSignature {
    private enum Value {
        case ecdsa(r: [UInt8], s: [UInt8])
        case rsassa([UInt8])
    }

    private let value: Value

    init(_ bytes: [UInt8]) throws(UnreadableTPMStructure) {
        var reader = TPMReader(bytes)
        let algorithm = try reader.number(2)
        guard try reader.number(2) == TPMAlgorithm.sha256 else { throw UnreadableTPMStructure() }
        switch algorithm {
        case TPMAlgorithm.ecdsa: value = .ecdsa(r: try reader.sized(), s: try reader.sized())
        case TPMAlgorithm.rsassa: value = .rsassa(try reader.sized())
        default: throw UnreadableTPMStructure()
        }
        try reader.finish()
    }

    func isValid(of message: [UInt8], by signer: TPMPublicArea) -> Bool {
        switch value {
        case .ecdsa(let r, let s):
            guard let key = signer.point.flatMap(P256PublicKey.init(point:)) else { return false }
            return key.verifies(P256PublicKey.der(r: r[...], s: s[...]), of: message)
        case .rsassa(let signature):
            guard let info = signer.rsaInfo, let key = PublicKey(der: info) else { return false }
            return key.verifies(signature, of: message)
        }
    }
}
