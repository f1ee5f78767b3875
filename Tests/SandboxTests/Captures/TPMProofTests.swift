import Foundation
import TestSupport
import Testing

@testable import Sandbox

/// The attestation for the level `tpm2`, with a TPM that has a certificate, and its own tools (ADR 0045).
@Suite struct TPMProofTests {
    private static let key = "0x81000001"

    // MARK: Credentials

    /// A TPM decrypts the credential created by the sandbox, for both kinds of endorsement keys.
    @Test(arguments: ["rsa", "ecc"])
    func aTPMDecryptsTheCredential(_ algorithm: String) async throws {
        let tpm = try await SoftwareTPM.start()
        let bench = try TPMBench(tpm)
        try await bench.makeKeys(algorithm)
        let secret = [UInt8](1...32)
        let name = try bench.bytes("ak.name")
        let credential = try #require(try await bench.credential(secret, for: name))
        #expect(try await bench.activate(credential.idObject + credential.encryptedSecret) == secret)
        // A credential is bound to one attestation key.
        let other = try #require(try await bench.credential(secret, for: name.dropLast() + [name[33] ^ 1]))
        await #expect(throws: SoftwareTPM.Failure.self) {
            try await bench.activate(other.idObject + other.encryptedSecret)
        }
    }

    /// Test vectors of RFC 4231, cases 1 and 2.
    @Test(arguments: [
        (
            [UInt8](repeating: 0x0b, count: 20), "Hi There",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
    ])
    func hmac(_ key: [UInt8], _ message: String, _ expected: String) {
        #expect(hexString(TPMDerivation.hmac(key, Array(message.utf8))) == expected)
    }

    // MARK: Authorities

    @Test func onlyEndorsementCertificatesOfTrustedAuthoritiesCount() async throws {
        let (maker, stranger) = (try TPMMaker(), try TPMMaker())
        let tpm = try await SoftwareTPM.start(madeBy: maker)
        _ = try await SoftwareTPM.start(madeBy: stranger)
        let bench = try TPMBench(tpm)
        let certificate = try await bench.certificate()
        let issuer = try await bench.der(maker.issuer)
        let root = try #require(TPMAuthorities(argument: maker.root))
        #expect(trusts(root, [certificate, issuer]))
        #expect(!trusts(root, [certificate]), "the issuer is missing")
        let direct = try #require(TPMAuthorities(argument: maker.issuer))
        #expect(trusts(direct, [certificate]), "the issuer itself is trusted")
        let others = try #require(TPMAuthorities(argument: stranger.root))
        #expect(!trusts(others, [certificate, issuer]))
        #expect(!trusts(TPMAuthorities(), [certificate, issuer]), "no authority is trusted by default")
        #expect(!trusts(direct, []))
        // The authority has also signed a certificate for a key in a file.
        let plain = try await bench.certificateWithoutPurpose(by: maker)
        #expect(!trusts(direct, [plain]))
        #expect(TPMAuthorities(argument: bench.file("nowhere")) == nil)
    }

    private func trusts(_ authorities: TPMAuthorities, _ chain: [[UInt8]]) -> Bool {
        guard let key = authorities.endorsementKey(of: chain) else { return false }
        return key.isRSA
    }

    // MARK: Complete evidence

    private typealias Members = [String: [UInt8]]

    private struct Row {
        let name: String
        let level: String?
        let change: (inout Members) async throws -> Void

        init(_ name: String, _ level: String?, _ change: @escaping (inout Members) async throws -> Void) {
            self.name = name
            self.level = level
            self.change = change
        }
    }

    /// Missing evidence lowers the level to software; invalid evidence is refused (nil).
    @Test func everyPartOfTheEvidenceIsRequired() async throws {
        let maker = try TPMMaker()
        let tpm = try await SoftwareTPM.start(madeBy: maker)
        try await tpm.makeKey(at: Self.key)
        let bench = try TPMBench(tpm)
        try await bench.makeKeys("rsa")
        let certificate = try await bench.certificate()
        let rows = [
            Row("no activation", "software") { $0["activation_secret"] = nil },
            Row("no quote", "software") { $0["quote"] = nil },
            Row("no quote signature", "software") { $0["quote_signature"] = nil },
            Row("no certification", nil) { $0["certification"] = nil },
            Row("another secret", nil) { $0["activation_secret"]?[5] ^= 1 },
            Row("a changed quote", nil) { $0["quote"]?[60] ^= 1 },
            Row("a certification as quote", nil) {
                $0["quote"] = $0["certification"]
                $0["quote_signature"] = $0["certification_signature"]
            },
            Row("another challenge quoted", nil) {
                $0.merge(try await bench.quote([UInt8](repeating: 9, count: 32))) { $1 }
            },
            Row("another attestation key of the same TPM", nil) {
                try await bench.makeAttestationKey("other")
                $0["ak_public"] = try bench.area("other.pub")
                $0.merge(try await bench.certify(Self.key, by: "other")) { $1 }
                $0.merge(try await bench.quote($0["challenge"] ?? [], by: "other")) { $1 }
            },
            Row("complete evidence", "tpm2") { _ in },
        ]
        for row in rows {
            let server = try Server(maker)
            let challenge = server.challenge()
            let credential = try server.credential(challenge, try bench.area("ak.pub"), certificate)
            var members: Members = ["challenge": challenge, "ak_public": try bench.area("ak.pub")]
            members["activation_secret"] = try await bench.activate(credential)
            members["public_key"] = try await bench.point(of: Self.key)
            members["key_public"] = try bench.area("key.pub")
            members["signature"] = try await bench.sign(challenge, Self.key)
            members.merge(try await bench.certify(Self.key)) { $1 }
            members.merge(try await bench.quote(challenge)) { $1 }
            try await row.change(&members)
            let level = try server.register(members, certificate)
            #expect(level == row.level, "\(row.name)")
        }
    }

    /// The device keeps its key, so it remains the same device.
    @Test func aSoftwareKeyIsUpgraded() async throws {
        let maker = try TPMMaker()
        let server = try Server(maker)
        let device = CaptureDevice(
            id: "6f1c2a3e-0d4b-4c5d-8e7f-102938475665",
            platform: "linux",
            model: "",
            level: "software",
            key: nil,
            keyId: "k",
            counter: 7
        )
        #expect(try server.catalog.add(device))
        #expect(try server.catalog.upgrade(device) == nil, "nothing is proven")
        var proven = device
        (proven.id, proven.level) = ("another", "tpm2")
        #expect(try server.catalog.upgrade(proven) == device.id)
        #expect(try server.catalog.devices().map(\.level) == ["tpm2"])
        #expect(try server.catalog.devices().map(\.counter) == [7])
        #expect(try server.catalog.upgrade(proven) == device.id)
        #expect(try server.catalog.upgrade(device) == nil)
    }
}

/// The endpoints, without HTTP.
private struct Server {
    let catalog: CaptureCatalog
    private let folder: TemporaryDirectory
    private let challenges = ChallengeBook()

    init(_ maker: TPMMaker) throws {
        folder = try TemporaryDirectory()
        var settings = CaptureSettings(profile: .mediactl1)
        if FileManager.default.fileExists(atPath: maker.issuer) {
            settings.tpmAuthorities = try #require(TPMAuthorities(argument: maker.issuer))
        }
        catalog = try CaptureCatalog(folder: try DataFolder(path: folder.path), settings: settings)
    }

    func challenge() -> [UInt8] { challenges.issue(to: "a", at: catalog.settings.now)?.challenge ?? [] }

    /// Both structures of a credential, one after the other.
    func credential(_ challenge: [UInt8], _ attestationKey: [UInt8], _ certificate: [UInt8]) throws -> [UInt8] {
        let endpoint = CredentialEndpoint(catalog: catalog, challenges: challenges)
        let text = """
            {"challenge":"\(base64(challenge))","ak_public":"\(base64(attestationKey))",\
            "ek_certificates":["\(base64(certificate))"]}
            """
        let data = try endpoint.issue(try JSONValue(Array(text.utf8)))
        guard let object = data["id_object"]?.string, let secret = data["encrypted_secret"]?.string else { return [] }
        return try [object, secret].flatMap { Array(try #require(Data(base64Encoded: $0))) }
    }

    /// The level of the key; nil if the registration is refused.
    func register(_ members: [String: [UInt8]], _ certificate: [UInt8]) throws -> String? {
        let proofs = members.map { "\"\($0.key)\":\"\(base64($0.value))\"" }.joined(separator: ",")
        let text = """
            {"platform":"linux","model":"desk","has_lidar":false,"key_attestation":{"format":"tpm2",\(proofs),\
            "ek_certificates":["\(base64(certificate))"]}}
            """
        let endpoint = RegistrationEndpoint(catalog: catalog, challenges: challenges)
        return (try? endpoint.register(try JSONValue(Array(text.utf8))))?["attestation_level"]?.string
    }
}

/// A TPM and the files of its tools.
private struct TPMBench {
    private let tpm: SoftwareTPM
    private let folder: TemporaryDirectory

    init(_ tpm: SoftwareTPM) throws {
        self.tpm = tpm
        folder = try TemporaryDirectory()
    }

    func file(_ name: String) -> String { folder.file(name) }

    func bytes(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: file(name)))) }

    /// TPMT_PUBLIC, which a tool writes after two bytes of size.
    func area(_ name: String) throws -> [UInt8] { Array(try bytes(name).dropFirst(2)) }

    private func run(_ tool: String, _ arguments: [String]) async throws {
        try await tpm.run(tool, ["-Q"] + arguments)
        try await tpm.run("tpm2_flushcontext", ["-t"])
    }

    /// Creates an endorsement key, and an attestation key below it.
    func makeKeys(_ algorithm: String) async throws {
        try await run("tpm2_createek", ["-G", algorithm, "-c", file("ek.ctx"), "-u", file("ek.pem"), "-f", "pem"])
        try await makeAttestationKey("ak")
    }

    func makeAttestationKey(_ name: String) async throws {
        try await run(
            "tpm2_createak",
            ["-C", file("ek.ctx"), "-c", file(name + ".ctx"), "-G", "ecc", "-g", "sha256", "-s", "ecdsa"]
                + ["-u", file(name + ".pub"), "-n", file(name + ".name")]
        )
    }

    /// Encrypts a secret to the endorsement key, for a key with this name.
    func credential(_ secret: [UInt8], for name: [UInt8]) async throws -> TPMCredential? {
        let form = ["-outform", "DER", "-out", file("ek.der")]
        try await tpm.run("openssl", ["pkey", "-pubin", "-in", file("ek.pem")] + form)
        guard let key = PublicKey(der: try bytes("ek.der")) else { return nil }
        return TPMCredential(secret, for: name, to: key)
    }

    /// Passes both structures of a credential to the TPM.
    func activate(_ structures: [UInt8]) async throws -> [UInt8] {
        // The tool's own header.
        try Data([0xBA, 0xDC, 0xC0, 0xDE, 0, 0, 0, 1] + structures).write(to: URL(fileURLWithPath: file("credential")))
        let session = file("session.ctx")
        try await tpm.run("tpm2_startauthsession", ["-Q", "--policy-session", "-S", session])
        try await tpm.run("tpm2_policysecret", ["-Q", "-S", session, "-c", "e"])
        let result = try? await tpm.run(
            "tpm2_activatecredential",
            ["-Q", "-c", file("ak.ctx"), "-C", file("ek.ctx"), "-i", file("credential"), "-o", file("secret")]
                + ["-P", "session:" + session]
        )
        try await tpm.run("tpm2_flushcontext", ["-Q", session])
        try await tpm.run("tpm2_flushcontext", ["-t"])
        guard result != nil else { throw SoftwareTPM.Failure.refused("tpm2_activatecredential", "") }
        return try bytes("secret")
    }

    /// The point of a key; writes its public area to `key.pub`.
    func point(of key: String) async throws -> [UInt8] {
        try await run("tpm2_readpublic", ["-c", key, "-o", file("key.pub")])
        try await run("tpm2_readpublic", ["-c", key, "-f", "der", "-o", file("key.der")])
        return Array(try bytes("key.der").suffix(65))
    }

    func sign(_ message: [UInt8], _ key: String) async throws -> [UInt8] {
        try Data(message).write(to: URL(fileURLWithPath: file("message")))
        try await run(
            "tpm2_sign",
            ["-c", key, "-g", "sha256", "-f", "plain", "-o", file("signature"), file("message")]
        )
        return try bytes("signature")
    }

    /// The members of a registration that certify a key.
    func certify(_ key: String, by attester: String = "ak") async throws -> [String: [UInt8]] {
        try await run(
            "tpm2_certify",
            ["-C", file(attester + ".ctx"), "-c", key, "-g", "sha256", "-o", file("attest"), "-s", file("sig")]
        )
        return ["certification": try bytes("attest"), "certification_signature": try bytes("sig")]
    }

    /// The members of a registration that quote a challenge.
    func quote(_ challenge: [UInt8], by attester: String = "ak") async throws -> [String: [UInt8]] {
        try await run(
            "tpm2_quote",
            ["-c", file(attester + ".ctx"), "-l", "sha256:0", "-q", hexString(challenge), "-g", "sha256"]
                + ["-m", file("attest"), "-s", file("sig")]
        )
        return ["quote": try bytes("attest"), "quote_signature": try bytes("sig")]
    }

    /// The certificate of the RSA endorsement key, from the TPM.
    func certificate() async throws -> [UInt8] {
        try await run("tpm2_nvread", ["0x1c00002", "-o", file("certificate")])
        return try bytes("certificate")
    }

    func der(_ pem: String) async throws -> [UInt8] {
        try await tpm.run("openssl", ["x509", "-in", pem, "-outform", "DER", "-out", file("converted")])
        return try bytes("converted")
    }

    /// An ordinary certificate from the same authority.
    func certificateWithoutPurpose(by maker: TPMMaker) async throws -> [UInt8] {
        let request = ["req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=web"]
        try await tpm.run("openssl", request + ["-keyout", file("web.key"), "-out", file("web.csr")])
        try await tpm.run(
            "openssl",
            [
                "x509", "-req", "-in", file("web.csr"), "-CA", maker.issuer, "-CAkey", maker.issuerKey, "-set_serial",
                "77",
            ]
                + ["-outform", "DER", "-out", file("web.der")]
        )
        return try bytes("web.der")
    }
}
