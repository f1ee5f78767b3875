import Foundation

/// What a device signs with (contract 3.1).
struct CaptureAssertion {
    /// rpIdHash ‖ flags ‖ counter, and perhaps more.
    let authenticatorData: [UInt8]
    let signature: [UInt8]

    /// Nil for anything but CBOR with both members.
    init?(cbor: [UInt8]) {
        guard let map = try? CBORReader.read(cbor), let data = map["authenticatorData"]?.byteString, data.count >= 37,
            let signature = map["signature"]?.byteString
        else { return nil }
        authenticatorData = data
        self.signature = signature
    }

    var relyingPartyHash: [UInt8] { Array(authenticatorData[..<32]) }
    var counter: Int { authenticatorData[33..<37].reduce(0) { $0 << 8 | Int($1) } }

    /// Whether a key signed this over the SHA-256 of that data.
    func isSigned(by key: P256PublicKey, over clientData: some Sequence<UInt8>) -> Bool {
        key.verifies(signature, of: authenticatorData + Digest.sha256(Array(clientData)))
    }

    /// Standard alphabet, padding, no line breaks; nil for anything else.
    static func base64(_ text: String) -> [UInt8]? {
        Data(base64Encoded: text).map(Array.init)
    }
}
