internal import CaptureSubmission
internal import Foundation
internal import MediaCore
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaTransport

/// Access to this machine's TPM 2.0 during one registration, through tpm2-tools.
///
/// The tools exchange files: contexts of loaded keys, public areas, attestations and signatures. These files are in a
/// private directory next to the keys; `close` removes the directory. None of the files contains an unencrypted private
/// key.
struct TPMSession: Sendable {
    /// NV indexes of a TPM for the certificate of its endorsement key: RSA 2048 and P-256 with the default templates
    /// (TCG EK Credential Profile, section 2.2.1.4).
    private static let certificateIndexes = ["0x1c00002", "0x1c0000a"]
    /// Persistent handles available to the owner (TCG Registry of Reserved TPM 2.0 Handles and Localities).
    private static let ownerHandles = 0x8102_0000...0x8102_ffff
    /// A TPM creates an RSA key within seconds.
    private static let timeLimit = Duration.seconds(60)
    /// Larger than any file that the tools write.
    private static let longestFile = 64 << 10
    private static let signingAttributes = "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|sign"

    private let files: PrivateDirectory
    private let control: TransferControl

    /// Creates the private directory. Stopping `control` stops a running tool.
    ///
    /// - Throws: `.storeUnusable`, `.tpmUnusable`.
    static func open(in directory: DataDirectory, control: TransferControl) throws(CaptureError) -> TPMSession {
        let keys = try CaptureError.stored(directory.make(.captureKeys))
        do throws(FileWriteError) {
            guard let parent = try TargetDirectory.open(Array(keys.utf8), creating: false) else {
                throw FileWriteError(.unsafe, path: Array(keys.utf8))
            }
            let files = try PrivateDirectory(in: parent, ".tpm-" + UUID().uuidString.lowercased())
            return TPMSession(files: files, control: control)
        } catch {
            throw CaptureError(writing: error, as: .tpmUnusable)
        }
    }

    /// Removes the files.
    func close() { files.remove() }

    private var directory: TargetDirectory { files.directory }

    // MARK: Steps

    /// Loads the endorsement key. Returns its certificate and its issuers' certificates: first the one stored in the
    /// TPM, if any, then `given`.
    func openEndorsementKey(
        _ given: [EndorsementCertificate]
    ) async throws(CaptureError) -> [EndorsementCertificate] {
        let indexes = try await lines("tpm2_getcap", ["handles-nv-index"])
        var certificates = given
        for index in Self.certificateIndexes where indexes.contains(Self.number(index)) {
            try await run("tpm2_nvread", ["-Q", index, "-o", "ek.der"])
            certificates.insert(try Self.certificate(bytes("ek.der")), at: 0)
            break
        }
        let algorithm: String
        switch certificates.first?.keyKind {
        case .rsa: algorithm = "rsa"
        case .p256: algorithm = "ecc"
        case .other: throw Self.unusable("its endorsement key is neither RSA nor P-256")
        case nil:
            throw Self.unusable("it stores no certificate of its endorsement key; specify it with --ek-certificate")
        }
        try await load("tpm2_createek", ["-Q", "-c", "ek.ctx", "-G", algorithm, "-u", "ek.pub"])
        return certificates
    }

    /// Creates an attestation key below the endorsement key. Returns its TPMT_PUBLIC.
    func makeAttestationKey() async throws(CaptureError) -> [UInt8] {
        try await load(
            "tpm2_createak",
            ["-Q", "-C", "ek.ctx", "-c", "ak.ctx", "-G", "ecc", "-g", "sha256", "-s", "ecdsa", "-u", "ak.pub"]
                + ["-n", "ak.name"]
        )
        return TPM2Structure.unsized(try bytes("ak.pub"))
    }

    /// Decrypts a credential. Only the TPM with the endorsement key can do this, and only for this attestation key.
    func activate(_ credential: TPM2Credential) async throws(CaptureError) -> [UInt8] {
        try write(credential.toolFile, to: "credential")
        try await run("tpm2_startauthsession", ["-Q", "--policy-session", "-S", "session.ctx"])
        let result = await Result { () async throws(CaptureError) in
            try await run("tpm2_policysecret", ["-Q", "-S", "session.ctx", "-c", "e"])
            try await run(
                "tpm2_activatecredential",
                ["-Q", "-c", "ak.ctx", "-C", "ek.ctx", "-i", "credential", "-o", "secret", "-P", "session:session.ctx"]
            )
        }
        // A TPM has few sessions, and they outlive the tools.
        await cleanUp("tpm2_flushcontext", ["-Q", "session.ctx"])
        try result.get()
        try await freeSlots()
        return try bytes("secret")
    }

    /// Creates a signing key and stores it in the TPM. Returns its handle, such as `0x81020000`.
    func makeKey() async throws(CaptureError) -> String {
        try await load("tpm2_createprimary", ["-Q", "-C", "o", "-G", "ecc", "-c", "parent.ctx"])
        try await load(
            "tpm2_create",
            ["-Q", "-C", "parent.ctx", "-G", "ecc256:ecdsa-sha256", "-a", Self.signingAttributes]
                + ["-u", "new.pub", "-r", "new.priv"]
        )
        try await load(
            "tpm2_load",
            ["-Q", "-C", "parent.ctx", "-u", "new.pub", "-r", "new.priv", "-c", "new.ctx"]
        )
        let taken = try await lines("tpm2_getcap", ["handles-persistent"])
        guard let free = Self.ownerHandles.first(where: { !taken.contains($0) }) else {
            throw Self.unusable("it has no free handle")
        }
        let handle = "0x" + String(free, radix: 16)
        do throws(CaptureError) {
            try await load("tpm2_evictcontrol", ["-Q", "-C", "o", "-c", "new.ctx", handle])
        } catch {
            // A stop may come after the key was stored.
            await removeKey(handle)
            throw error
        }
        return handle
    }

    /// Removes the key created by `makeKey`. If removal fails, it stays in the TPM. A key that another program has
    /// stored at the handle is kept.
    func removeKey(_ handle: String) async {
        await cleanUp("tpm2_readpublic", ["-Q", "-c", handle, "-o", "stored.pub"])
        guard let made = try? bytes("new.pub"), made == (try? bytes("stored.pub")) else { return }
        await evict(handle)
    }

    /// Removes the key of an earlier registration. If removal fails, it stays in the TPM. A key that another program
    /// has stored at the handle is kept.
    func removeKey(_ handle: String, of publicKey: [UInt8]) async {
        await cleanUp("tpm2_readpublic", ["-Q", "-c", handle, "-f", "pem", "-o", "earlier.pem"])
        guard let pem = try? bytes("earlier.pem"), VerifyingKey.reading(pem)?.sec1 == publicKey else { return }
        await evict(handle)
    }

    private func evict(_ handle: String) async {
        await cleanUp("tpm2_evictcontrol", ["-Q", "-C", "o", "-c", handle])
    }

    /// The public part of a key, and its TPMT_PUBLIC.
    func publicKey(_ handle: String) async throws(CaptureError) -> (key: VerifyingKey, area: [UInt8]) {
        try await run("tpm2_readpublic", ["-Q", "-c", handle, "-o", "key.pub"])
        try await load("tpm2_readpublic", ["-Q", "-c", handle, "-f", "pem", "-o", "key.pem"])
        guard let key = VerifyingKey.reading(try bytes("key.pem")) else {
            throw Self.unusable("the key \(handle) is not on the curve P-256")
        }
        return (key, TPM2Structure.unsized(try bytes("key.pub")))
    }

    /// An attestation that a key is in this TPM, signed by the attestation key.
    func certify(_ handle: String) async throws(CaptureError) -> (statement: [UInt8], signature: [UInt8]) {
        try await load(
            "tpm2_certify",
            ["-Q", "-C", "ak.ctx", "-c", handle, "-g", "sha256", "-o", "certify.attest", "-s", "certify.sig"]
        )
        return (TPM2Structure.unsized(try bytes("certify.attest")), try bytes("certify.sig"))
    }

    /// An attestation that contains the challenge, signed by the attestation key. It also contains a digest of PCR 0,
    /// since a quote requires a PCR; its value is not used.
    func quote(_ challenge: [UInt8]) async throws(CaptureError) -> (statement: [UInt8], signature: [UInt8]) {
        try await load(
            "tpm2_quote",
            ["-Q", "-c", "ak.ctx", "-l", "sha256:0", "-q", HexText.lowerCase(challenge), "-g", "sha256"]
                + ["-m", "quote.attest", "-s", "quote.sig"]
        )
        return (TPM2Structure.unsized(try bytes("quote.attest")), try bytes("quote.sig"))
    }

    // MARK: Tools

    /// A TPM has room for three loaded keys. A resource manager (/dev/tpmrm0) frees them automatically.
    private func freeSlots() async throws(CaptureError) {
        try await run("tpm2_flushcontext", ["-Q", "-t"])
    }

    /// Runs a tool that loads keys, and frees their slots.
    private func load(_ tool: String, _ arguments: [String]) async throws(CaptureError) {
        try await run(tool, arguments)
        try await freeSlots()
    }

    /// The handles listed by a tool, one `- 0x81000001` per line.
    private func lines(_ tool: String, _ arguments: [String]) async throws(CaptureError) -> Set<Int> {
        let output = String(decoding: try await run(tool, arguments), as: UTF8.self)
        return Set(output.split(separator: "\n").map { Self.number(String($0.drop { $0 == "-" || $0 == " " })) })
    }

    /// Parses `0x…`; -1 for other text.
    private static func number(_ text: String) -> Int { Int(text.dropFirst(2), radix: 16) ?? -1 }

    /// Runs a tool even after a stop, and in a canceled task. Failures are ignored.
    private func cleanUp(_ tool: String, _ arguments: [String]) async {
        let work = Task { [directory] in try await Self.run([tool] + arguments, in: directory) }
        _ = try? await work.value
    }

    @discardableResult
    private func run(_ tool: String, _ arguments: [String]) async throws(CaptureError) -> [UInt8] {
        let directory = directory
        return try await control.canceling { () throws(CaptureError) in
            try await Self.run([tool] + arguments, in: directory)
        }
    }

    private static func run(_ command: [String], in directory: TargetDirectory) async throws(CaptureError) -> [UInt8] {
        let tool = command.first ?? ""
        var program = ProgramRun(command)
        program.directory = directory
        program.keptErrors = 4096
        program.timeLimit = timeLimit
        // The signing provider and the tools must use the same TPM.
        if program.environment["TPM2TOOLS_TCTI"] == nil, let other = program.environment["TPM2OPENSSL_TCTI"] {
            program.environment["TPM2TOOLS_TCTI"] = other
        }
        let result: ProgramResult
        do {
            result = try await program.run()
        } catch .cancelled {
            throw CaptureError(.cancelled)
        } catch {
            throw unusable("\(tool) \(error.detail)")
        }
        guard let failure = result.failure else { return result.output }
        // The tools print the cause first, followed by the consequences.
        let lines = String(decoding: result.errors, as: UTF8.self).split(separator: "\n")
        let cause = lines.first { $0.hasPrefix("ERROR: ") }?.dropFirst("ERROR: ".count) ?? lines.first
        throw unusable("\(tool) \(failure)" + (cause.map { ": \($0)" } ?? ""))
    }

    // MARK: Files

    private func bytes(_ name: String) throws(CaptureError) -> [UInt8] {
        do throws(FileWriteError) {
            if let bytes = try directory.content(of: Array(name.utf8), longest: Self.longestFile) { return bytes }
        } catch {
            throw CaptureError(writing: error, as: .tpmUnusable)
        }
        throw Self.unusable("tpm2-tools did not write \(name)")
    }

    private func write(_ bytes: [UInt8], to name: String) throws(CaptureError) {
        do throws(FileWriteError) {
            try WholeFile(in: directory, audience: .owner).write(bytes, as: Array(name.utf8), replacing: false)
        } catch {
            throw CaptureError(writing: error, as: .tpmUnusable)
        }
    }

    private static func certificate(_ bytes: [UInt8]) throws(CaptureError) -> EndorsementCertificate {
        do throws(CryptoError) {
            return try EndorsementCertificate(der: bytes)
        } catch {
            throw unusable("the certificate of its endorsement key cannot be read: \(error.detail)")
        }
    }

    private static func unusable(_ detail: String) -> CaptureError { CaptureError(.tpmUnusable, detail: detail) }
}

/// Structures in files of tpm2-tools.
package enum TPM2Structure {
    /// Removes the size from a TPM2B structure (TPM 2.0 Library Part 2, 10.4); returns anything else unchanged.
    package static func unsized(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.count > 2, Int(bytes[0]) << 8 | Int(bytes[1]) == bytes.count - 2 else { return bytes }
        return Array(bytes.dropFirst(2))
    }
}
