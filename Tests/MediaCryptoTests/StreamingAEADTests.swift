import Foundation
import Synchronization
import TestSupport
import Testing

@testable import MediaCrypto

/// `TinkTests` verifies the format; these tests include input that must not be decrypted.
@Suite struct StreamingAEADTests {
    /// Sizes around the ends of the first and the second segment.
    static let sizes = [
        0, 1, SealedBytes.first - 1, SealedBytes.first, SealedBytes.first + 1,
        SealedBytes.first + SealedBytes.other - 1, SealedBytes.first + SealedBytes.other,
        SealedBytes.first + SealedBytes.other + 1,
    ]

    @Test(arguments: sizes, [65_537, 5 << 20]) func decryptsWhatWasEncrypted(size: Int, chunk: Int) throws {
        let plaintext = SealedBytes.plaintext(size)
        let sealed = try SealedBytes.seal(plaintext, chunk: chunk)
        let opened = SealedBytes.open(sealed, chunk: chunk)
        #expect(opened.error == nil)
        #expect(areEqual(opened.plaintext, plaintext) == true)
        #expect(StreamingAEAD.ciphertextByteCount(of: Int64(size)) == Int64(sealed.count))
    }

    /// Sizes calculated by hand: header 40, tag 16 for each segment.
    @Test(arguments: [
        (0, 56), (1, 57), (1_048_519, 1_048_575), (1_048_520, 1_048_576), (1_048_521, 1_048_593),
        (2_097_080, 2_097_152), (2_097_081, 2_097_169), (4_000_000_000, 4_000_061_080),
    ]) func reportsTheLengthOfACiphertext(plaintext: Int64, ciphertext: Int64) {
        #expect(StreamingAEAD.ciphertextByteCount(of: plaintext) == ciphertext)
    }

    // MARK: Refused ciphertexts

    /// A change to a ciphertext of three segments, and how much of the plaintext before it is authentic.
    struct Damage: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let authentic: Int
        let change: @Sendable (inout [UInt8]) -> Void
    }

    static let threeSegments = SealedBytes.first + SealedBytes.other + 1000
    static let twoSegments = SealedBytes.first + SealedBytes.other

    private static let sealed = Result { try SealedBytes.seal(SealedBytes.plaintext(threeSegments)) }

    static let damages: [Damage] = [
        Damage(testDescription: "empty", authentic: 0) { $0 = [] },
        Damage(testDescription: "header only", authentic: 0) { $0 = Array($0[..<40]) },
        Damage(testDescription: "part of the header", authentic: 0) { $0 = Array($0[..<39]) },
        Damage(testDescription: "header length", authentic: 0) { $0[0] = 41 },
        Damage(testDescription: "salt", authentic: 0) { $0[1] ^= 0x80 },
        Damage(testDescription: "nonce prefix", authentic: 0) { $0[39] ^= 1 },
        Damage(testDescription: "first bit", authentic: 0) { $0[40] ^= 0x80 },
        Damage(testDescription: "first tag", authentic: 0) { $0[(1 << 20) - 1] ^= 1 },
        Damage(testDescription: "second segment", authentic: SealedBytes.first) { $0[1 << 20] ^= 1 },
        Damage(testDescription: "last segment", authentic: twoSegments) { $0[2 << 20] ^= 1 },
        Damage(testDescription: "last bit", authentic: twoSegments) { $0[$0.count - 1] ^= 1 },
        Damage(testDescription: "truncated after one segment", authentic: 0) { $0.removeLast($0.count - (1 << 20)) },
        Damage(testDescription: "truncated after two segments", authentic: SealedBytes.first) {
            $0.removeLast($0.count - (2 << 20))
        },
        Damage(testDescription: "truncated by one byte", authentic: twoSegments) { $0.removeLast() },
        Damage(testDescription: "truncated within the last tag", authentic: twoSegments) {
            $0.removeLast($0.count - (2 << 20) - 9)
        },
        Damage(testDescription: "one byte appended", authentic: twoSegments) { $0.append(0) },
        Damage(testDescription: "an empty segment appended", authentic: twoSegments) {
            $0 += [UInt8](repeating: 0, count: 16)
        },
        Damage(testDescription: "last segment twice", authentic: twoSegments) { $0 += $0[(2 << 20)...] },
        Damage(testDescription: "second segment omitted", authentic: SealedBytes.first) {
            $0.removeSubrange(1 << 20..<2 << 20)
        },
        Damage(testDescription: "second segment twice", authentic: twoSegments) {
            $0.insert(contentsOf: $0[1 << 20..<2 << 20], at: 2 << 20)
        },
    ]

    @Test(arguments: damages) func returnsAuthenticSegmentsOnly(damage: Damage) throws {
        let plaintext = SealedBytes.plaintext(Self.threeSegments)
        var sealed = try Self.sealed.get()
        damage.change(&sealed)
        let opened = SealedBytes.open(sealed)
        #expect((opened.error as? CryptoError)?.isDamaged == true)
        #expect(areEqual(opened.plaintext, Array(plaintext[..<damage.authentic])) == true)
    }

    @Test func segmentsCannotBeExchanged() throws {
        let plaintext = SealedBytes.plaintext(SealedBytes.first + 2 * SealedBytes.other + 5)
        let sealed = try SealedBytes.seal(plaintext)
        let (second, third) = (sealed[1 << 20..<2 << 20], sealed[2 << 20..<3 << 20])
        let opened = SealedBytes.open(Array(sealed[..<(1 << 20)] + third + second + sealed[(3 << 20)...]))
        #expect((opened.error as? CryptoError)?.isDamaged == true)
        #expect(areEqual(opened.plaintext, Array(plaintext[..<SealedBytes.first])) == true)
    }

    @Test func aSegmentOfAnotherCiphertextIsRefused() throws {
        let plaintext = SealedBytes.plaintext(Self.threeSegments)
        let (one, two) = (try SealedBytes.seal(plaintext), try SealedBytes.seal(plaintext))
        let opened = SealedBytes.open(Array(one[..<(1 << 20)] + two[(1 << 20)...]))
        #expect((opened.error as? CryptoError)?.isDamaged == true)
        #expect(opened.plaintext.count == SealedBytes.first)
    }

    @Test func decryptsWithTheSameKeyAndAssociatedDataOnly() throws {
        let sealed = try SealedBytes.seal([1, 2, 3])
        for opened in [
            SealedBytes.open(sealed, key: StreamingAEAD.Key(Array(2...33))),
            SealedBytes.open(sealed, associatedData: Array("capture|depth".utf8)),
            SealedBytes.open(sealed, associatedData: []),
        ] {
            #expect((opened.error as? CryptoError)?.isDamaged == true)
            #expect(opened.plaintext.isEmpty)
        }
    }

    // MARK: Keys and order

    @Test func noCiphertextIsRepeated() throws {
        #expect(try SealedBytes.seal([1]) != SealedBytes.seal([1]))
        let keys = try (1...2).map { _ in try StreamingAEAD.Key.generate().withBytes { $0 } }
        #expect(keys[0] != keys[1])
    }

    @Test func aKeyHas32BytesAndPrintsNone() {
        #expect(StreamingAEAD.Key(Array(1...31)) == nil)
        #expect(StreamingAEAD.Key(Array(1...33)) == nil)
        var dumped = ""
        dump(SealedBytes.key, to: &dumped)
        let shown = String(describing: SealedBytes.key) + String(reflecting: SealedBytes.key) + dumped
        #expect(shown.contains("key"))
        #expect(shown.contains("17") == false)
    }

    @Test func nothingIsReturnedAfterAnError() throws {
        struct DiskFull: Error {}
        let key = try #require(SealedBytes.key)
        let calls = Mutex(0)
        var failing = try StreamingAEAD.Encryptor(key: key, associatedData: []) { _ in
            calls.withLock { $0 += 1 }
            if calls.withLock({ $0 }) == 2 { throw DiskFull() }
        }
        let bytes = SealedBytes.plaintext(SealedBytes.first + 1)
        var failures: [String] = []
        for _ in 1...2 {
            do { try bytes.withUnsafeBytes { try failing.update($0) } } catch { failures.append("\(type(of: error))") }
        }
        #expect(failures == ["DiskFull", "CryptoError"])
        #expect(calls.withLock { $0 } == 2)
    }

    // MARK: Files

    @Test(arguments: [0, 1000, 5_000_000]) func encryptsAndHashesAFileInOnePass(size: Int) async throws {
        let directory = try TemporaryDirectory()
        let plaintext = SealedBytes.plaintext(size)
        try Data(plaintext).write(to: URL(filePath: directory.file("plain")))
        let plain = try FileHandle(forReadingFrom: URL(filePath: directory.file("plain")))
        let key = try #require(SealedBytes.key)
        let sealed = Mutex<[UInt8]>([])
        let digest = try await StreamingAEAD.encrypt(
            file: plain.fileDescriptor,
            byteCount: Int64(size),
            key: key,
            associatedData: SealedBytes.associatedData
        ) { piece in sealed.withLock { $0.append(contentsOf: piece) } }
        #expect(digest.hex == (try OpenSSLTool.sha256(ofFile: directory.file("plain"))))

        try Data(sealed.withLock { $0 }).write(to: URL(filePath: directory.file("sealed")))
        let file = try FileHandle(forReadingFrom: URL(filePath: directory.file("sealed")))
        let opened = Mutex<[UInt8]>([])
        let (openedDigest, byteCount) = try await StreamingAEAD.decrypt(
            file: file.fileDescriptor,
            key: key,
            associatedData: SealedBytes.associatedData
        ) { piece in opened.withLock { $0.append(contentsOf: piece) } }
        #expect(openedDigest == digest)
        #expect(byteCount == Int64(size))
        #expect(areEqual(opened.withLock { $0 }, plaintext) == true)

        await #expect(throws: CryptoError("the file ended after \(size) of \(size + 1) bytes")) {
            _ = try await StreamingAEAD.encrypt(
                file: plain.fileDescriptor,
                byteCount: Int64(size + 1),
                key: key,
                associatedData: []
            ) { _ in }
        }
    }

    @Test(.timeLimit(.minutes(1)), arguments: [true, false]) func cancelingEndsAPass(seals: Bool) async throws {
        let key = try #require(SealedBytes.key)
        let directory = try TemporaryDirectory()
        let sealed = try SealedBytes.seal(SealedBytes.plaintext(Self.threeSegments), associatedData: [])
        try Data(sealed).write(to: URL(filePath: directory.file("sealed")))
        let file = try FileHandle(forReadingFrom: URL(filePath: directory.file("sealed")))
        let (begun, cancelled) = (Gate(), Gate())
        let task = Task {
            // The first output waits until the task has been canceled; there is more than one piece.
            let wait: @Sendable (UnsafeRawBufferPointer) -> Void = { _ in
                begun.open()
                cancelled.wait()
            }
            if seals {
                _ = try await StreamingAEAD.encrypt(
                    file: file.fileDescriptor,
                    byteCount: Int64(Self.threeSegments),
                    key: key,
                    associatedData: [],
                    write: wait
                )
            } else {
                _ = try await StreamingAEAD.decrypt(file: file.fileDescriptor, key: key, associatedData: [], wait)
            }
        }
        await begun.opened()
        task.cancel()
        for _ in 1...4 { cancelled.open() }
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
