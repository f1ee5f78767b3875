package import MediaCrypto

/// Proof that a key holder stands behind a digest (hash-only contract 3.1): a CBOR map of authenticator data and signature.
package struct Assertion: Sendable, Equatable {
    /// rpIdHash (32) ‖ flags (1) ‖ counter (4, big-endian).
    package var authenticatorData: [UInt8]
    /// ECDSA P-256 with SHA-256 over `authenticatorData` ‖ clientDataHash: 64 bytes, r‖s. Always this form, so that the
    /// length of a body is known before it is signed.
    package var signature: [UInt8]

    /// Makes an assertion.
    ///
    /// - Parameters:
    ///   - authenticatorData: 37 bytes.
    ///   - signature: 64 bytes.
    package init(authenticatorData: [UInt8], signature: [UInt8]) {
        self.authenticatorData = authenticatorData
        self.signature = signature
    }

    /// Reads one (RFC 8949): keys in any order, further keys ignored, definite lengths only.
    ///
    /// Gives nil for anything that a server would refuse before it looks at the signature.
    ///
    /// - Parameter base64: Standard alphabet, padded, without line breaks.
    package init?(base64: String) {
        guard base64.utf8.count <= Self.longestText, let cbor = Base64.decoded(base64),
            let assertion = AssertionCBOR.decoded(cbor),
            assertion.authenticatorData.count >= Self.authenticatorDataLength, !assertion.signature.isEmpty
        else { return nil }
        self = assertion
    }

    /// Standard padded base64 of the CBOR.
    package var base64: String { Base64.encoded(AssertionCBOR.encoded(self)) }

    /// As long as every assertion's base64, and plainly none: what a dry run shows. Its bytes are no CBOR map.
    package static var placeholder: String {
        String(repeating: "PLACEHOLDER/NO/ASSERTION/", count: 7) + "NONE="
    }

    /// The signature counter; nil for authenticator data that are too short.
    package var counter: UInt32? {
        guard authenticatorData.count >= Self.authenticatorDataLength else { return nil }
        return authenticatorData[33..<37].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Signs a digest.
    ///
    /// - Parameters:
    ///   - clientDataHash: SHA-256 of the signed bytes.
    ///   - rpID: The server's relying party id; hashed.
    ///   - counter: Never used before.
    ///   - signer: The key.
    /// - Returns: The assertion.
    /// - Throws: `CaptureError` `.signingFailed`, also for a signature that the signer's own public key does not fit.
    package static func sign(
        _ clientDataHash: SHA256Digest,
        rpID: String,
        counter: UInt32,
        with signer: any CaptureSigner
    ) async throws(CaptureError) -> Assertion {
        let authenticatorData = try authenticatorData(rpID: rpID, counter: counter)
        let message = authenticatorData + clientDataHash.bytes
        let signature = try await signer.sign(message)
        guard signature.count == signatureLength else {
            throw CaptureError(.signingFailed, detail: "the signature has \(signature.count) bytes, not 64")
        }
        guard signer.publicKey.isValid(signature, of: message) else {
            throw CaptureError(.signingFailed, detail: "the signature is not of the key that it should be of")
        }
        return Assertion(authenticatorData: authenticatorData, signature: signature)
    }

    /// Whether digest, relying party and key fit.
    ///
    /// - Parameters:
    ///   - clientDataHash: SHA-256 of the signed bytes.
    ///   - rpID: The server's relying party id.
    ///   - key: The device's.
    /// - Returns: Whether a server would accept it, its counter aside.
    package func isValid(for clientDataHash: SHA256Digest, rpID: String, key: VerifyingKey) -> Bool {
        guard let rpIDHash = try? SHA256Digest.of(Array(rpID.utf8)), authenticatorData.starts(with: rpIDHash.bytes),
            authenticatorData.count >= Self.authenticatorDataLength
        else { return false }
        return key.isValid(signature, of: authenticatorData + clientDataHash.bytes)
    }

    // MARK: Parts

    private static let authenticatorDataLength = 37
    private static let signatureLength = 64
    /// In characters: many times what an assertion has.
    private static let longestText = 8192

    /// No flag is set: nobody's presence was tested.
    private static func authenticatorData(rpID: String, counter: UInt32) throws(CaptureError) -> [UInt8] {
        let flags: UInt8 = 0
        let bigEndian = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: counter >> $0) }
        return try SHA256Digest.of(Array(rpID.utf8)).bytes + [flags] + bigEndian
    }
}

/// The two members of an assertion in CBOR (RFC 8949).
enum AssertionCBOR {
    private static let authenticatorData = "authenticatorData"
    private static let signature = "signature"

    /// A map of definite lengths, the authenticator data first.
    static func encoded(_ assertion: Assertion) -> [UInt8] {
        head(.map, 2)
            + text(authenticatorData) + bytes(assertion.authenticatorData)
            + text(signature) + bytes(assertion.signature)
    }

    private static func text(_ text: String) -> [UInt8] { head(.text, text.utf8.count) + text.utf8 }

    private static func bytes(_ bytes: [UInt8]) -> [UInt8] { head(.bytes, bytes.count) + bytes }

    /// The shortest head (section 4.2.1). Nothing here is as long as 64 KiB.
    private static func head(_ kind: CBORReader.Kind, _ length: Int) -> [UInt8] {
        let first = kind.rawValue << 5
        return switch length {
        case ..<24: [first | UInt8(length)]
        case ..<0x100: [first | 24, UInt8(length)]
        default: [first | 25, UInt8(length >> 8 & 0xff), UInt8(length & 0xff)]
        }
    }

    /// Reads a map: keys in any order, further keys with values of any kind are ignored, definite lengths only, nothing
    /// behind the map, no key of ours twice.
    static func decoded(_ cbor: [UInt8]) -> Assertion? {
        var reader = CBORReader(cbor)
        var found: [String: [UInt8]] = [:]
        guard let count = reader.count(of: .map) else { return nil }
        for _ in 0..<count {
            guard let key = reader.text() else {
                // A key that is no text, then its value.
                guard reader.skip(), reader.skip() else { return nil }
                continue
            }
            if key == authenticatorData || key == signature {
                guard let value = reader.bytes(), found.updateValue(value, forKey: key) == nil else { return nil }
            } else if !reader.skip() {
                return nil
            }
        }
        guard reader.isAtEnd, let data = found[authenticatorData], let signature = found[signature] else { return nil }
        return Assertion(authenticatorData: data, signature: signature)
    }
}

/// Reads CBOR (RFC 8949) that somebody else may have made: every length is held against what is there, and nesting is bounded.
struct CBORReader {
    /// Major types (section 3.1).
    enum Kind: UInt8 {
        case unsigned, negative, bytes, text, array, map, tag, simple
    }

    /// Deeper nesting is an attack on the stack, not an assertion.
    private static let deepest = 16

    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        rest = bytes[...]
    }

    /// Whether nothing is left.
    var isAtEnd: Bool { rest.isEmpty }

    /// Enters an array or a map: how many elements, or pairs, it has. Stays in place at anything else.
    mutating func count(of kind: Kind) -> Int? {
        var reader = self
        guard let head = reader.head(), head.kind == kind else { return nil }
        // Each takes a byte at least, so that a lie about millions ends here.
        guard let count = Int(exactly: head.value), count <= reader.rest.count else { return nil }
        self = reader
        return count
    }

    /// A byte string. Stays in place at anything else.
    mutating func bytes() -> [UInt8]? {
        string(.bytes)
    }

    /// A text. Stays in place at anything else.
    mutating func text() -> String? {
        var reader = self
        guard let bytes = reader.string(.text), let text = String(validating: bytes, as: UTF8.self) else { return nil }
        self = reader
        return text
    }

    /// Steps over a value of any kind.
    ///
    /// - Returns: Whether there was one.
    mutating func skip(depth: Int = 0) -> Bool {
        guard depth < Self.deepest, let head = head() else { return false }
        switch head.kind {
        case .unsigned, .negative, .simple: return true
        case .bytes, .text: return take(head.value) != nil
        case .tag: return skip(depth: depth + 1)
        case .array, .map:
            guard let count = Int(exactly: head.value), count <= rest.count else { return false }
            for _ in 0..<(head.kind == .map ? 2 * count : count) {
                guard skip(depth: depth + 1) else { return false }
            }
            return true
        }
    }

    private mutating func string(_ kind: Kind) -> [UInt8]? {
        var reader = self
        guard let head = reader.head(), head.kind == kind, let bytes = reader.take(head.value) else { return nil }
        self = reader
        return bytes
    }

    /// The kind of the next value, and its number, length or count. Indefinite lengths are none of ours.
    private mutating func head() -> (kind: Kind, value: UInt64)? {
        guard let first = rest.popFirst(), let kind = Kind(rawValue: first >> 5) else { return nil }
        switch first & 0x1f {
        case let small where small < 24: return (kind, UInt64(small))
        case let form where form < 28:
            guard let bytes = take(1 << (form - 24)) else { return nil }
            return (kind, bytes.reduce(0) { $0 << 8 | UInt64($1) })
        default: return nil
        }
    }

    private mutating func take(_ count: UInt64) -> [UInt8]? {
        guard let count = Int(exactly: count), count <= rest.count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }
}
