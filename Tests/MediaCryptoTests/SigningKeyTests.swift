import Foundation
import MediaCrypto
import TestSupport
import Testing

/// Keys in memory, compared with the `openssl` program.
@Suite struct SigningKeyTests {
    private static let message = Array("a signed message".utf8)

    @Test(arguments: [0, 1, 37 + 32, 100_000]) func openSSLVerifiesOurSignatures(size: Int) async throws {
        let key = try SigningKey.generate()
        let message = randomBytes(size)
        let signature = try key.sign(message)
        #expect(signature.count == 64)
        #expect(try await OpenSSLTool.verifies(signature, of: message, key: key.publicKey))
        #expect(try await OpenSSLTool.verifies(signature, of: message + [0], key: key.publicKey) == false)
        #expect(key.publicKey.isValid(signature, of: message))
    }

    @Test func readsKeysOfOpenSSL() async throws {
        let pem = try await OpenSSLTool.run("genpkey", "-algorithm", "EC", "-pkeyopt", "group:P-256")
        let key = try SigningKey.read(pem: pem)
        let signature = try key.sign(Self.message)
        let directory = try TemporaryDirectory()
        try Data(pem).write(to: URL(filePath: directory.file("key.pem")))
        let publicPEM = try await OpenSSLTool.run("pkey", "-in", directory.file("key.pem"), "-pubout")
        #expect(try key.publicKey.pem() == publicPEM)
        #expect(try VerifyingKey(pem: publicPEM) == key.publicKey)
        #expect(try await OpenSSLTool.verifies(signature, of: Self.message, key: VerifyingKey(pem: publicPEM)))
    }

    @Test func openSSLReadsOurKeys() async throws {
        let key = try SigningKey.generate()
        let directory = try TemporaryDirectory()
        try Data(try key.pem()).write(to: URL(filePath: directory.file("key.pem")))
        #expect(try await OpenSSLTool.run("pkey", "-in", directory.file("key.pem"), "-check", "-pubout").count > 0)
        let publicPEM = try await OpenSSLTool.run("pkey", "-in", directory.file("key.pem"), "-pubout")
        #expect(try VerifyingKey(pem: publicPEM) == key.publicKey)
        #expect(try SigningKey.read(pem: try key.pem()).publicKey == key.publicKey)
        #expect(String(decoding: try key.pem(), as: UTF8.self).hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
    }

    /// A key file may specify the compressed form of its public half.
    @Test func readsAKeyWithCompressedPoints() async throws {
        let form = "point-format:compressed"
        let pem = try await OpenSSLTool.run("genpkey", "-algorithm", "EC", "-pkeyopt", "group:P-256", "-pkeyopt", form)
        let key = try SigningKey.read(pem: pem)
        #expect(key.publicKey.sec1.count == 65)
        #expect(try await OpenSSLTool.verifies(key.sign(Self.message), of: Self.message, key: key.publicKey))
    }

    // MARK: Refusals

    static let foreignKeys: [(arguments: [String], detail: String)] = [
        (["-algorithm", "EC", "-pkeyopt", "group:P-384"], "not a P-256 key"),
        (["-algorithm", "EC", "-pkeyopt", "group:secp256k1"], "not a P-256 key"),
        (["-algorithm", "ED25519"], "not a P-256 key"),
        (["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"], "not a P-256 key"),
        (
            ["-algorithm", "EC", "-pkeyopt", "group:P-256", "-aes-128-cbc", "-pass", "pass:x"],
            "the key is encrypted with a passphrase"
        ),
    ]

    @Test(arguments: foreignKeys) func refusesOtherKeys(arguments: [String], detail: String) async throws {
        let result = try await ChildProcess.run("openssl", ["genpkey"] + arguments)
        #expect(throws: CryptoError(detail)) { try SigningKey.read(pem: Array(result.output.utf8)) }
    }

    @Test func reportsTheFormOfAKey() async throws {
        let sec1 = try await OpenSSLTool.run("ecparam", "-name", "prime256v1", "-genkey", "-noout")
        #expect(throws: CryptoError("the key is in SEC 1 form, not PKCS#8")) { try SigningKey.read(pem: sec1) }
        let publicPEM = try SigningKey.generate().publicKey.pem()
        #expect(throws: CryptoError(#"not a private key: the file contains "PUBLIC KEY""#)) {
            try SigningKey.read(pem: publicPEM)
        }
        #expect(throws: CryptoError(#"not a public key: the file contains "PRIVATE KEY""#)) {
            try VerifyingKey(pem: SigningKey.generate().pem())
        }
    }

    @Test func refusesGarbageAndDamage() throws {
        let pem = String(decoding: try SigningKey.generate().pem(), as: UTF8.self)
        let body = try #require(pem.split(separator: "\n").dropFirst().dropLast().joined().data(using: .utf8))
        var der = try #require(Data(base64Encoded: body))
        let empty = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
        for text in ["", "rubbish", empty, String(pem.dropLast(40))] {
            #expect(throws: CryptoError.self) { try SigningKey.read(pem: Array(text.utf8)) }
        }
        // The private number follows 36 bytes of header (RFC 5915 in RFC 5958).
        der[40] ^= 1
        let damaged = "-----BEGIN PRIVATE KEY-----\n\(der.base64EncodedString())\n-----END PRIVATE KEY-----\n"
        #expect(throws: CryptoError("the private key does not match the public key")) {
            try SigningKey.read(pem: Array(damaged.utf8))
        }
    }

    /// A PKCS#8 key file with `-----BEGIN PRIVATE KEY-----` and bytes after the key is refused.
    @Test func refusesBytesAfterTheKey() throws {
        let pem = String(decoding: try SigningKey.generate().pem(), as: UTF8.self)
        let body = pem.split(separator: "\n").dropFirst().dropLast().joined()
        let longer = try #require(Data(base64Encoded: body)) + [0]
        let text = "-----BEGIN PRIVATE KEY-----\n\(longer.base64EncodedString())\n-----END PRIVATE KEY-----\n"
        #expect(throws: CryptoError("not a private key: too long")) { try SigningKey.read(pem: Array(text.utf8)) }
    }

    @Test func threadsShareAKey() async throws { await Self.sign(50, with: try SigningKey.generate()) }

    /// Creates this many signatures concurrently, and verifies them.
    static func sign(_ count: Int, with key: SigningKey) async {
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<count {
                group.addTask {
                    let message = Array("\(number)".utf8)
                    return (try? key.sign(message)).map { key.publicKey.isValid($0, of: message) } ?? false
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }
}
