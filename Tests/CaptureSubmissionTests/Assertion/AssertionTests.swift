import Foundation
import MediaCrypto
import MediaTransport
import Testing

@testable import CaptureSubmission

@Suite("Assertions")
struct AssertionTests {
    private static let data = [UInt8](repeating: 0x11, count: 33) + [0x01, 0x02, 0x03, 0x04]
    private static let signature = [UInt8](repeating: 0x22, count: 64)
    private static let sample = Assertion(authenticatorData: data, signature: signature)

    // MARK: CBOR, heads written by hand (RFC 8949 section 3)

    private static func text(_ text: String) -> [UInt8] { [0x60 | UInt8(text.utf8.count)] + text.utf8 }
    private static let dataKey = text("authenticatorData")
    private static let dataEntry = dataKey + [0x58, 37] + data
    private static let signatureEntry = [0x69] + Array("signature".utf8) + [0x58, 64] + signature

    private static func read(_ cbor: [UInt8]) -> Assertion? {
        Assertion(base64: Data(cbor).base64EncodedString())
    }

    @Test("an assertion is a map with two entries, the authenticator data first")
    func written() {
        let cbor = [0xa2] + Self.dataEntry + Self.signatureEntry
        #expect(Self.sample.base64 == Data(cbor).base64EncodedString())
        #expect(Self.sample.counter == 0x0102_0304)
    }

    /// Maps that a server would accept.
    private static let readable: [(name: String, cbor: [UInt8])] = [
        ("as written", [0xa2] + dataEntry + signatureEntry),
        ("in reverse order", [0xa2] + signatureEntry + dataEntry),
        ("a longer head than needed", [0xb8, 2] + dataEntry + signatureEntry),
        ("more keys", [0xa4] + text("x") + [0x82, 1, 0xf6] + dataEntry + [1, 0xa1, 0x60, 0xf5] + signatureEntry),
        ("a tagged value", [0xa3] + text("t") + [0xc1, 0x1a, 1, 2, 3, 4] + dataEntry + signatureEntry),
    ]

    @Test("a map is parsed with keys in any order, and with additional keys", arguments: readable.indices)
    func tolerance(_ index: Int) {
        #expect(Self.read(Self.readable[index].cbor) == Self.sample)
    }

    /// Values that are not assertions, or that are expensive to parse.
    private static let unreadable: [(name: String, cbor: [UInt8])] = [
        ("nothing", []),
        ("not a map", [0x82] + dataEntry + signatureEntry),
        ("only one key", [0xa1] + dataEntry),
        ("a duplicate key", [0xa3] + dataEntry + dataEntry + signatureEntry),
        ("bytes after the map", [0xa2] + dataEntry + signatureEntry + [0]),
        ("truncated", [0xa2] + dataEntry + signatureEntry.dropLast()),
        ("fewer pairs than announced", [0xa3] + dataEntry + signatureEntry),
        ("a text instead of bytes", [0xa2] + dataEntry + [0x69] + Array("signature".utf8) + [0x61, 0x61]),
        ("an empty signature", [0xa2] + dataEntry + [0x69] + Array("signature".utf8) + [0x40]),
        ("short authenticator data", [0xa2] + dataKey + [0x58, 36] + data.dropLast() + signatureEntry),
        ("a map of indefinite length", [0xbf] + dataEntry + signatureEntry + [0xff]),
        ("a length beyond the available memory", [0xa2] + dataKey + [0x5b, 0x7f] + [UInt8](repeating: 0xff, count: 7)),
        ("a length beyond Int", [0xa2] + dataKey + [0x5b] + [UInt8](repeating: 0xff, count: 8)),
        ("2^64 pairs", [0xbb] + [UInt8](repeating: 0xff, count: 8)),
        ("a reserved head", [0xa3] + text("x") + [0x1c] + dataEntry + signatureEntry),
        ("nesting", [0xa3] + text("x") + [UInt8](repeating: 0x81, count: 3000) + [0] + dataEntry + signatureEntry),
    ]

    @Test("invalid assertions are rejected", arguments: unreadable.indices)
    func refused(_ index: Int) {
        #expect(Self.read(Self.unreadable[index].cbor) == nil)
    }

    @Test("no truncation of an assertion, and no changed byte, crashes the parser")
    func hostile() {
        let cbor = [0xa2] + Self.dataEntry + Self.signatureEntry
        for length in cbor.indices { #expect(Self.read(Array(cbor.prefix(length))) == nil) }
        for index in cbor.indices {
            for value in UInt8.min...UInt8.max {
                var changed = cbor
                changed[index] = value
                _ = AssertionCBOR.decoded(changed)
            }
        }
    }

    private static let good = sample.base64
    private static let corrupted: [(name: String, text: String)] = [
        ("the URL-safe alphabet", good.replacingOccurrences(of: "ERER", with: "-_-_")),
        ("no padding", String(good.prefix { $0 != "=" })),
        ("a line break", "\(good.prefix(76))\r\n\(good.dropFirst(76))"),
        ("a blank", " \(good)"),
        ("nonzero padding bits", "\(good.dropLast(2))J="),
    ]

    @Test("base64 has the standard alphabet and padding, but no line breaks (trap 19)", arguments: corrupted.indices)
    func base64(_ index: Int) {
        #expect(Self.corrupted[index].text != Self.good)
        #expect(Assertion(base64: Self.good) == Self.sample)
        #expect(Assertion(base64: Self.corrupted[index].text) == nil)
    }

    @Test("a placeholder has the length of an assertion, is base64, and is not an assertion")
    func placeholder() {
        #expect(Assertion.placeholder.utf8.count == Self.sample.base64.utf8.count)
        #expect(Data(base64Encoded: Assertion.placeholder)?.count == 134)
        #expect(Assertion(base64: Assertion.placeholder) == nil)
        #expect(Assertion.placeholder.hasPrefix("PLACEHOLDER"))
    }

    // MARK: Signatures

    private static let digest = SHA256Digest(hex: SamplePayload.hash)

    @Test("an assertion has the relying party and the counter, and is valid only for its key, digest and relying party")
    func signing() async throws {
        let signer = try KeySigner()
        let digest = try #require(Self.digest)
        let assertion = try await Assertion.sign(digest, rpID: "mediactl-1", counter: 0xfffe_fd01, with: signer)
        // printf mediactl-1 | openssl dgst -sha256
        let rpIDHash = "76eccec1addc1d6d145ca45240812727d7e71b2641e01eb5583bc12ccd530e5c"
        #expect(SHA256Digest(hex: rpIDHash)?.bytes == Array(assertion.authenticatorData.prefix(32)))
        #expect(assertion.authenticatorData.dropFirst(32) == [0, 0xff, 0xfe, 0xfd, 0x01])
        #expect(assertion.signature.count == 64)
        #expect(assertion.counter == 0xfffe_fd01)
        #expect(Assertion(base64: assertion.base64) == assertion)
        #expect(signer.publicKey.isValid(assertion.signature, of: assertion.authenticatorData + digest.bytes))

        #expect(assertion.isValid(for: digest, rpID: "mediactl-1", key: signer.publicKey))
        #expect(!assertion.isValid(for: digest, rpID: "mediactl-2", key: signer.publicKey))
        #expect(!assertion.isValid(for: digest, rpID: "mediactl-1", key: try KeySigner().publicKey))
        let other = try #require(SHA256Digest(hex: String(repeating: "0", count: 64)))
        #expect(!assertion.isValid(for: other, rpID: "mediactl-1", key: signer.publicKey))
        var raised = assertion
        raised.authenticatorData[36] += 1
        #expect(!raised.isValid(for: digest, rpID: "mediactl-1", key: signer.publicKey), "the counter is signed")
    }

    @Test("a signer that uses a different key, or returns something else, is detected before anything is sent")
    func wrongSigner() async throws {
        let digest = try #require(Self.digest)
        let publicKey = try KeySigner().publicKey
        let signers: [any CaptureSigner] = [
            try KeySigner(pretending: publicKey), CannedSigner(publicKey: publicKey, signature: Self.signature),
            CannedSigner(publicKey: publicKey, signature: []),
            CannedSigner(publicKey: publicKey, signature: Self.signature + [0]),
        ]
        for signer in signers {
            await expectFailure(.signingFailed) {
                _ = try await Assertion.sign(digest, rpID: "mediactl-1", counter: 1, with: signer)
            }
        }
    }

    @Test("a request's header fields sign its time and its body (contract 1.1)")
    func request() async throws {
        let signer = try KeySigner()
        let device = CaptureDevice(
            id: "0b7c3f9e-0000-4000-8000-000000000001",
            profile: .mediactl1,
            rpID: "mediactl-1",
            level: .software,
            signer: signer
        )
        let headers = try await RequestSignature.headers(
            bodyDigest: SHA256Digest.of(Array("{}".utf8)),
            device: device,
            counter: 7,
            milliseconds: 1_764_583_200_123
        )
        #expect(headers.map(\.name) == ["X-Device-Id", "X-Device-Timestamp", "X-Device-Signature"])
        #expect(headers[0].value == device.id)
        #expect(headers[1].value == "1764583200123")
        let assertion = try #require(Assertion(base64: headers[2].value))
        #expect(assertion.counter == 7)
        // printf '1764583200123|%s' "$(printf '{}' | sha256sum | cut -c1-64)" | sha256sum
        let digest = try #require(SHA256Digest(hex: "ae35346cf909c6c5f55a75583398b29c2371619d6deed3bd9f03ed2a53cf5326"))
        #expect(assertion.isValid(for: digest, rpID: "mediactl-1", key: signer.publicKey))
    }
}
