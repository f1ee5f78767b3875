import Foundation
import MediaCrypto
import TestSupport
import Testing

/// Keys in a software TPM (`swtpm`), used through tpm2-openssl.
///
/// Serialized, because the provider finds its TPM through an environment variable of this process.
@Suite(.serialized) struct ProviderKeyTests {
    private static let message = randomBytes(3000)

    @Test func signsInATPM() async throws {
        let tpm = try await SoftwareTPM.start()
        tpm.useInThisProcess()
        let directory = try TemporaryDirectory()
        let keyFile = directory.file("key.pem")
        try await tpm.makeKeyFile(keyFile)
        try await tpm.makeKey(at: "0x81000010")
        try await tpm.makeKey(at: "0x81000011", algorithm: "ecc384:ecdsa-sha384")

        for uri in ["handle:0x81000010", "file:\(keyFile)", keyFile] {
            // More times than the TPM has slots for loaded keys: each key must be released.
            for _ in 1...4 {
                let key = try SigningKey.open(uri: uri, provider: "tpm2")
                let signature = try key.sign(Self.message)
                #expect(signature.count == 64)
                #expect(key.publicKey.isValid(signature, of: Self.message))
                #expect(throws: CryptoError("the key cannot be exported from its provider")) { try key.pem() }
            }
            try await comparePublicHalf(uri, tpm)
        }
        // The TPM takes one command at a time.
        await SigningKeyTests.sign(12, with: try SigningKey.open(uri: "handle:0x81000010", provider: "tpm2"))
        try refusals(tpm, directory)
    }

    /// The `openssl` program, with the TPM, prints the same public key; without the TPM, it verifies the signature.
    private func comparePublicHalf(_ uri: String, _ tpm: SoftwareTPM) async throws {
        let key = try SigningKey.open(uri: uri, provider: "tpm2")
        let signature = try key.sign(Self.message)
        let text = try await tpm.run(
            "openssl",
            ["pkey", "-provider", "tpm2", "-provider", "default", "-in", uri, "-pubout"]
        ).output
        #expect(try VerifyingKey(pem: Array(text.utf8)) == key.publicKey)
        #expect(try await OpenSSLTool.verifies(signature, of: Self.message, key: key.publicKey))
    }

    private func refusals(_ tpm: SoftwareTPM, _ directory: TemporaryDirectory) throws {
        let ordinary = try directory.write("ordinary.pem", try SigningKey.generate().pem())
        let encrypted = try directory.write("encrypted.pem", try encryptedKey())
        let wrapped = Array(try Data(contentsOf: URL(filePath: directory.file("key.pem"))))
        #expect(throws: CryptoError("the key belongs to a TPM and is opened through the provider tpm2")) {
            try SigningKey.read(pem: wrapped)
        }
        for (uri, detail) in [
            ("handle:0x81000011", "not a P-256 key at handle:0x81000011"),
            ("file:\(ordinary)", "the key at file:\(ordinary) is not stored by the provider tpm2"),
            (encrypted, "no key at \(encrypted)"),
            ("handle:0x81000099", "no key at handle:0x81000099: "), ("file:/nowhere", "no key at file:/nowhere: "),
            ("rubbish:1", "no key at rubbish:1: "),
        ] {
            let error = #expect(throws: CryptoError.self) { try SigningKey.open(uri: uri, provider: "tpm2") }
            #expect(error?.detail.hasPrefix(detail) == true, "\(error?.detail ?? "")")
        }
    }

    /// The library must not prompt for the passphrase on a terminal.
    private func encryptedKey() throws -> [UInt8] {
        let arguments = ["-algorithm", "EC", "-pkeyopt", "group:P-256", "-aes-128-cbc", "-pass", "pass:x"]
        return Array(try ChildProcess.run("openssl", ["genpkey"] + arguments).output.utf8)
    }

    @Test func reportsAMissingProvider() {
        let error = #expect(throws: CryptoError.self) { try SigningKey.open(uri: "handle:1", provider: "nowhere") }
        #expect(error == CryptoError("no such provider: nowhere"))
    }

    @Test func reportsAMissingTPM() async throws {
        let tpm = try await SoftwareTPM.start()
        tpm.useInThisProcess()
        tpm.stop()
        let error = #expect(throws: CryptoError.self) {
            try SigningKey.open(uri: "handle:0x81000010", provider: "tpm2")
        }
        #expect(error?.detail.hasPrefix("the provider tpm2 cannot be loaded: ") == true, "\(error?.detail ?? "")")
    }
}
