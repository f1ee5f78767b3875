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
