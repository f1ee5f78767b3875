import Foundation
import MediaCrypto
import TestSupport
import Testing

@Suite struct SHA256Tests {
    /// No bytes, and the examples of FIPS 180-2 appendix B.
    static let vectors: [(text: String, hex: String)] = [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (
            String(repeating: "a", count: 1_000_000),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        ),
    ]

    @Test(arguments: vectors) func knownVectors(vector: (text: String, hex: String)) throws {
        var hasher = try SHA256Hasher()
        Array(vector.text.utf8).withUnsafeBytes { hasher.update($0) }
        #expect(try hasher.snapshot().hex == vector.hex)
    }

    @Test func aSnapshotDoesNotEndTheDigest() throws {
        var hasher = try SHA256Hasher()
        Array("a".utf8).withUnsafeBytes { hasher.update($0) }
        _ = try hasher.snapshot()
        Array("bc".utf8).withUnsafeBytes { hasher.update($0) }
        #expect(try hasher.snapshot().hex == Self.vectors[1].hex)
    }

    @Test func resetDiscardsAddedBytes() throws {
        var hasher = try SHA256Hasher()
        Array("something else".utf8).withUnsafeBytes { hasher.update($0) }
        hasher.reset()
        #expect(try hasher.snapshot().hex == Self.vectors[0].hex)
    }

    @Test(arguments: [
        "", "ba78", "zz" + vectors[1].hex.dropFirst(2), vectors[1].hex + "00", "+1" + vectors[1].hex.dropFirst(2),
    ])
    func refusesInvalidDigests(text: String) {
        #expect(SHA256Digest(hex: text) == nil)
    }

    @Test func readsHexInEitherCase() throws {
        let digest = try #require(SHA256Digest(hex: Self.vectors[1].hex.uppercased()))
        #expect(digest.hex == Self.vectors[1].hex)
        #expect(digest.bytes.prefix(3) == [0xBA, 0x78, 0x16])
    }
}

@Suite struct FileDigestTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test(arguments: [0, 1, 63, 64, 65, 4095, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3_333_333])
    func agreesWithOpenSSL(size: Int) async throws {
        let path = try directory.write("sample", randomBytes(size))
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        let digest = try await SHA256Digest.ofFile(descriptor: file.fileDescriptor, byteCount: Int64(size))
        #expect(digest.hex == (try OpenSSLTool.sha256(ofFile: path)))
    }

    /// "abc": FIPS 180-4 examples.
    @Test(arguments: [
        (DigestAlgorithm.sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    ])
    func hashesAPartOfAFile(algorithm: DigestAlgorithm, hex: String) async throws {
        let path = try directory.write("sample", "xxabcxx".utf8)
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        let digest = try await algorithm.digest(ofFile: file.fileDescriptor, from: 2, byteCount: 3)
        #expect(digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == hex)
    }

    @Test func doesNotChangeTheFileOffset() async throws {
        let path = try directory.write("sample", "abcdef".utf8)
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        try file.seek(toOffset: 2)
        let digest = try await SHA256Digest.ofFile(descriptor: file.fileDescriptor, byteCount: 3)
        #expect(digest.hex == SHA256Tests.vectors[1].hex)
        #expect(try file.offset() == 2)
    }

    @Test func aFileThatEndsEarlyIsReportedAsAnError() async throws {
        let path = try directory.write("sample", "abc".utf8)
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        await #expect(throws: CryptoError("the file ended after 3 of 4 bytes")) {
            try await SHA256Digest.ofFile(descriptor: file.fileDescriptor, byteCount: 4)
        }
    }

    @Test func aDescriptorThatCannotBeReadIsAnErrorWithItsErrno() async throws {
        await #expect(throws: CryptoError("cannot read", systemError: EBADF)) {
            try await SHA256Digest.ofFile(descriptor: -1, byteCount: 4)
        }
    }

    @Test func cancelingEndsTheReading() async throws {
        let path = directory.file("sparse")
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.truncate(atOffset: 1 << 40)
        let descriptor = file.fileDescriptor
        let task = Task { try await SHA256Digest.ofFile(descriptor: descriptor, byteCount: 1 << 40) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try file.close()
    }
}
