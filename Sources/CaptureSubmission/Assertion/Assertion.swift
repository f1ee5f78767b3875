package import MediaCrypto

/// Proof that the holder of a key signed a digest (hash-only contract 3.1): a CBOR map of the authenticator data and
/// the signature.
package struct Assertion: Sendable, Equatable {
    /// rpIdHash (32) ‖ flags (1) ‖ counter (4, big-endian).
    package var authenticatorData: [UInt8]
    /// ECDSA P-256 with SHA-256 over `authenticatorData` ‖ clientDataHash: 64 bytes, r‖s. Always in this form, so the
    /// length of a body is known before it is signed.
    package var signature: [UInt8]
}

extension Assertion {
    /// Reads padded standard base64 of CBOR (RFC 8949): keys in any order, unknown keys ignored, definite lengths only.
    /// nil for input that a server would refuse before checking the signature.
    package init?(base64: String) {
        guard base64.utf8.count <= Self.longestText, let cbor = Base64.decoded(base64),
            let assertion = AssertionCBOR.decoded(cbor),
            assertion.authenticatorData.count >= Self.authenticatorDataLength, !assertion.signature.isEmpty
        else { return nil }
        self = assertion
    }

    /// Padded standard base64 of the CBOR.
    package var base64: String { Base64.encoded(AssertionCBOR.encoded(self)) }

    /// A placeholder with the length of a base64 assertion, for display in a dry run. Not a CBOR map.
    package static var placeholder: String {
        String(repeating: "PLACEHOLDER/NO/ASSERTION/", count: 7) + "NONE="
    }

    /// nil if the authenticator data is too short.
    package var counter: UInt32? {
        guard authenticatorData.count >= Self.authenticatorDataLength else { return nil }
        return authenticatorData[33..<37].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Signs a digest. `rpID` is the server's relying party ID; `counter` must not have been used before.
    ///
    /// - Throws: `.signingFailed`, including for a signature that the signer's own public key does not verify.
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
            throw CaptureError(.signingFailed, detail: "the signature does not match the public key")
        }
        return Assertion(authenticatorData: authenticatorData, signature: signature)
    }

    /// Whether a server would accept the assertion for this digest, relying party and key, disregarding its counter.
    package func isValid(for clientDataHash: SHA256Digest, rpID: String, key: VerifyingKey) -> Bool {
        guard let rpIDHash = try? SHA256Digest.of(Array(rpID.utf8)), authenticatorData.starts(with: rpIDHash.bytes),
            authenticatorData.count >= Self.authenticatorDataLength
        else { return false }
        return key.isValid(signature, of: authenticatorData + clientDataHash.bytes)
    }

    // MARK: Components

    private static let authenticatorDataLength = 37
    private static let signatureLength = 64
    /// Maximum length in characters; assertions are far shorter.
    private static let longestText = 8192

    /// No flag is set, since user presence was not tested.
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

    /// Encodes a map of definite lengths, with the authenticator data first.
    static func encoded(_ assertion: Assertion) -> [UInt8] {
        head(.map, 2)
            + text(authenticatorData) + bytes(assertion.authenticatorData)
            + text(signature) + bytes(assertion.signature)
    }

    private static func text(_ text: String) -> [UInt8] { head(.text, text.utf8.count) + text.utf8 }

    private static func bytes(_ bytes: [UInt8]) -> [UInt8] { head(.bytes, bytes.count) + bytes }

    /// The shortest head (section 4.2.1). No length here reaches 64 KiB.
    private static func head(_ kind: CBORReader.Kind, _ length: Int) -> [UInt8] {
        let first = kind.rawValue << 5
        return switch length {
        case ..<24: [first | UInt8(length)]
        case ..<0x100: [first | 24, UInt8(length)]
        default: [first | 25, UInt8(length >> 8 & 0xff), UInt8(length & 0xff)]
        }
    }

    /// Reads a map: keys in any order, unknown keys with any value ignored, definite lengths only, no data after the
    /// map, and no known key twice.
    static func decoded(_ cbor: [UInt8]) -> Assertion? {
        var reader = CBORReader(cbor)
        var found: [String: [UInt8]] = [:]
        guard let count = reader.count(of: .map) else { return nil }
        for _ in 0..<count {
            guard let key = reader.text() else {
                // Skips a key that is not text, then its value.
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

/// Reads untrusted CBOR (RFC 8949): every length is checked against the input, and nesting is bounded.
struct CBORReader {
    /// Major types (section 3.1).
    enum Kind: UInt8 {
        case unsigned, negative, bytes, text, array, map, tag, simple
    }

    /// Maximum nesting depth, to protect the stack.
    private static let deepest = 16

    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        rest = bytes[...]
    }

    var isAtEnd: Bool { rest.isEmpty }

    /// Enters an array or a map, and returns its count. Does not advance if the next value is of a different kind.
    mutating func count(of kind: Kind) -> Int? {
        var reader = self
        guard let head = reader.head(), head.kind == kind else { return nil }
        // Each element takes at least one byte, which bounds a wrong count.
        guard let count = Int(exactly: head.value), count <= reader.rest.count else { return nil }
        self = reader
        return count
    }

    /// Does not advance if the next value is of a different kind; neither does `text`.
    mutating func bytes() -> [UInt8]? {
        string(.bytes)
    }

    mutating func text() -> String? {
        var reader = self
        guard let bytes = reader.string(.text), let text = String(validating: bytes, as: UTF8.self) else { return nil }
        self = reader
        return text
    }

    /// Skips a value of any kind. Returns false if there is none, or it is incomplete or nested too deeply.
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

    /// The kind of the next value, and its number, length or count. Indefinite lengths are not supported.
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
