import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import Sandbox

/// The exact signed bytes (hash-only contract 2.1, RFC 8785), and their forms.
@Suite struct CaptureTextTests {
    struct Vectors: Decodable {
        struct Vector: Decodable, Sendable, CustomTestStringConvertible {
            var name: String
            var request_body: String
            var accepted: Bool
            var signed_bytes: String?
            var client_data_hash: String?

            var testDescription: String { name }
        }

        var vectors: [Vector]
    }

    static let vectors: [Vectors.Vector] = {
        let data = (try? Repository.data("fixtures/hash-only-canonical/vectors.json")) ?? Data()
        return (try? JSONDecoder().decode(Vectors.self, from: data).vectors) ?? []
    }()

    @Test func theVectorsExist() { #expect(Self.vectors.count == 17) }

    @Test(arguments: vectors)
    func signsWhatTheReferenceServerSigns(vector: Vectors.Vector) throws {
        let received = try JSONValue(Array(vector.request_body.utf8))
        guard vector.accepted else {
            let refusal = #expect(throws: CaptureRefusal.self) { try HashOnlySubmission(received, .reference) }
            #expect(refusal?.status.code == 422)
            return
        }
        let submission = try HashOnlySubmission(received, .reference)
        let signed = try submission.signedBytes(received, .reference)
        #expect(String(decoding: signed, as: UTF8.self) == vector.signed_bytes)
        #expect(hexString(Digest.sha256(signed)) == vector.client_data_hash)
    }

    /// The examples of RFC 8785 sections 3.2.2 and 3.2.3; then duplicate members.
    @Test(arguments: [
        (
            #"""
            {"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
             "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}
            """#,
            #"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"#
                + #""string":"€$\u000f\nA'B\"\\\\\"/"}"#
        ),
        (
            #"{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}"#,
            "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\u{fb33}\":3}"
        ),
        (#"[-0, -0.0, 0.1e1, 1e21, 123456789012345678901]"#, "[0,0,1,1e+21,123456789012345680000]"),
        (#"{"a":1,"\u0061":1}"#, nil), ("[1e400]", nil),
    ])
    func canonicalJSON(text: String, expected: String?) throws {
        let value = try JSONValue(Array(text.utf8))
        #expect((try? value.canonical().text) == expected)
    }

    /// Both number formats: RFC 8785 appendix B and contract 2.1.
    @Test(arguments: [
        (5.0, "5", "5.0"), (0, "0", "0.0"), (-0.0, "0", "-0.0"), (1e-5, "0.00001", "0.00001"),
        (1e-6, "0.000001", "1e-6"), (1.5e-6, "0.0000015", "1.5e-6"), (1e-7, "1e-7", "1e-7"),
        (1e15, "1000000000000000", "1000000000000000.0"), (1e16, "10000000000000000", "1e16"),
        (1e21, "1e+21", "1e21"), (-122.4194, "-122.4194", "-122.4194"), (.leastNonzeroMagnitude, "5e-324", "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308", "1.7976931348623157e308"),
        (9007199254740992, "9007199254740992", "9007199254740992.0"),
    ])
    func numbers(value: Double, ecmaScript: String, serde: String) {
        #expect(ShortestDecimal(value).ecmaScriptText == ecmaScript)
        #expect(ShortestDecimal(value).serdeText == serde)
        // A single division cannot result in the smallest number.
        #expect(SerdeNumber.double(serde) == value || value == .leastNonzeroMagnitude)
    }

    @Test(arguments: [
        "", "{", "[1,]", "01", "{\"a\":1}x", #""\ud800""#, "\"\u{1}\"", "nul",
    ])
    func refusesInvalidJSON(text: String) {
        #expect(throws: UnreadableJSON.self) { try JSONValue(Array(text.utf8)) }
    }

    @Test func refusesInvalidUTF8() {
        #expect(throws: UnreadableJSON.self) { try JSONValue([0x22, 0xFF, 0x22]) }
    }

    /// Texts with byte strings in a map (RFC 8949 section 3.1), and invalid assertions.
    @Test(
        arguments: [
            ([0xA1, 0x62, 0xC3, 0xBC, 0x41, 7], ["ü": [7]]), ([0xA0], [:]),
            ([0xB8, 1, 0x61, 0x61, 0x58, 1, 7], ["a": [7]]),
            ([0xA1, 0x61, 0x61, 0x41], nil), ([0xA1, 0x61, 0x61, 0x5F, 0x41, 1, 0xFF], nil), ([0xA0, 0x01], nil),
            ([], nil),
            ([0x9B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], nil), ([0xA1, 0x62, 0xC3, 0x28, 0x40], nil),
            ([0xBB, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], nil), ([0x41, 7], nil),
        ] as [([UInt8], [String: [UInt8]]?)]
    )
    func cbor(bytes: [UInt8], expected: [String: [UInt8]]?) {
        #expect((try? CBORReader.read(bytes)) == expected)
    }

    @Test(arguments: [
        ("2025-12-01T10:00:00Z", "2025-12-01T10:00:00+00:00"),
        ("2025-12-01t10:00:00.120000000+05:30", "2025-12-01T04:30:00.120+00:00"),
        ("1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59.500+00:00"), ("2025-12-01", nil),
        ("2025-02-30T10:00:00Z", nil), ("2025-12-01T10:00:00", nil), ("2025-12-01T24:00:00Z", nil),
    ])
    func times(text: String, expected: String?) {
        #expect(Timestamp(text)?.captureText == expected)
    }
}
