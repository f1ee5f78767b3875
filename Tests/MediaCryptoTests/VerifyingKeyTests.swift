import Foundation
import MediaCrypto
import TestSupport
import Testing

@Suite struct VerifyingKeyTests {
    /// RFC 6979 appendix A.2.5: P-256, SHA-256, message "sample".
    private static let point = bytes(
        "0460fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6"
            + "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299"
    )
    private static let signature = bytes(
        "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"
            + "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"
    )
    private static let sample = Array("sample".utf8)

    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    @Test func acceptsTheSignatureOfTheStandardInBothForms() throws {
        let key = try VerifyingKey(sec1: Self.point)
        let der = try #require(ECDSASignature.der(from: Self.signature))
        #expect(key.isValid(Self.signature, of: Self.sample))
        #expect(key.isValid(der, of: Self.sample))
        #expect(ECDSASignature.raw(from: der) == Self.signature)
        // Calculated by hand: both numbers start with a set bit, so each is 33 bytes long.
        let (r, s) = (Self.signature[..<32], Self.signature[32...])
        let expected: [[UInt8]] = [[0x30, 70, 2, 33, 0], Array(r), [2, 33, 0], Array(s)]
        #expect(der == Array(expected.joined()))
    }

    @Test(arguments: [0, 31, 32, 63]) func refusesAChangedSignature(index: Int) throws {
        let key = try VerifyingKey(sec1: Self.point)
        var changed = Self.signature
        changed[index] ^= 1
        #expect(key.isValid(changed, of: Self.sample) == false)
        #expect(try key.isValid(#require(ECDSASignature.der(from: changed)), of: Self.sample) == false)
    }

    @Test func refusesAnotherMessageAndAnotherKey() throws {
        #expect(try VerifyingKey(sec1: Self.point).isValid(Self.signature, of: Array("Sample".utf8)) == false)
        #expect(try SigningKey.generate().publicKey.isValid(Self.signature, of: Self.sample) == false)
    }

    /// Short numbers are padded on the left; DER has them without leading zeros (X.690 section 8.3.2).
    @Test func padsShortNumbers() {
        let short: [UInt8] = [0x30, 7, 2, 1, 5, 2, 2, 0, 0x80]
        let zeros = [UInt8](repeating: 0, count: 31)
        let raw: [UInt8] = zeros + [5] + zeros + [0x80]
        #expect(ECDSASignature.raw(from: short) == raw)
        #expect(ECDSASignature.der(from: raw) == short)
    }

    /// Two 29-byte numbers result in DER as long as r‖s.
    @Test func derOf64BytesIsParsedAsDER() {
        let (r, s) = ([UInt8](repeating: 0x11, count: 29), [UInt8](repeating: 0x22, count: 29))
        let der: [UInt8] = [0x30, 62, 2, 29] + r + [2, 29] + s
        let zeros = [UInt8](repeating: 0, count: 3)
        #expect(der.count == 64)
        #expect(ECDSASignature.raw(from: der) == zeros + r + zeros + s)
        #expect(ECDSASignature.der(from: der) == der)
    }

    static let noSignatures: [[UInt8]] = [
        [], [0x30], [UInt8](repeating: 1, count: 63), [UInt8](repeating: 1, count: 65),
        // A negative number, bytes after the end, a 33-byte number.
        [0x30, 6, 2, 1, 0x85, 2, 1, 5], [0x30, 6, 2, 1, 5, 2, 1, 5, 0],
        [0x30, 38, 2, 33, 1] + [UInt8](repeating: 0, count: 32) + [2, 1, 5],
    ]

    @Test(arguments: noSignatures) func rejectsInvalidSignatures(bytes: [UInt8]) throws {
        #expect(ECDSASignature.raw(from: bytes) == nil)
        #expect(ECDSASignature.der(from: bytes) == nil)
        #expect(try VerifyingKey(sec1: Self.point).isValid(bytes, of: Self.sample) == false)
    }

    @Test func acceptsPointsOfTheCurveOnly() throws {
        var beside = Self.point
        beside[64] ^= 1
        var compressed = Array(Self.point[..<33])
        compressed[0] = 3
        var hybrid = Self.point
        hybrid[0] = 7
        for point in [[], [0], beside, compressed, hybrid, Self.point + [0], [4] + [UInt8](repeating: 0, count: 64)] {
            #expect(throws: CryptoError.self) { try VerifyingKey(sec1: point) }
        }
        #expect(try VerifyingKey(sec1: Self.point).sec1 == Self.point)
    }
}
