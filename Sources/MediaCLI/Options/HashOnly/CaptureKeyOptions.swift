internal import ArgumentParser
internal import CaptureSubmission
internal import HashCapture
internal import MediaCrypto
internal import MediaStore

/// Which key signs. Without any of these a new one is made, in a file.
struct CaptureKeyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Sign with the key in this file: P-256, PKCS#8 in PEM.", valueName: "file"),
        completion: .file()
    )
    var key: String?

    @Option(
        help: ArgumentHelp(
            "Sign with a key that an OpenSSL provider reaches, for example handle:0x81000001.",
            valueName: "uri"
        )
    )
    var keyURI: String?

    @Option(help: ArgumentHelp("The provider of --key-uri, for example tpm2.", valueName: "name"))
    var keyProvider: String?

    @Option(
        help: ArgumentHelp(
            """
            Sign with this program: it reads the SHA-256 to be signed, in hexadecimal, and prints the signature in \
            hexadecimal or base64. Its words are separated by blanks; no shell is used.
            """,
            valueName: "command"
        )
    )
    var signerCommand: String?

    @Option(
        help: ArgumentHelp("The public key of --signer-command, in PEM or DER.", valueName: "file"),
        completion: .file()
    )
    var publicKey: String?

    @Option(
        name: .customLong("tpm2-evidence"),
        help: ArgumentHelp(
            """
            Show the server that the key lives in a TPM 2.0: this directory holds key.pub, ak.pub, certify.attest, \
            certify.sig and ek-*.der, as the tpm2-tools write them.
            """,
            valueName: "dir"
        ),
        completion: .directory
    )
    var evidence: String?

    func validate() throws {
        guard [key, keyURI, signerCommand].count(where: { $0 != nil }) <= 1 else {
            throw ValidationError("--key, --key-uri and --signer-command exclude each other.")
        }
        guard (keyURI == nil) == (keyProvider == nil) else {
            throw ValidationError("--key-uri and --key-provider go together.")
        }
        guard (signerCommand == nil) == (publicKey == nil) else {
            throw ValidationError("--signer-command and --public-key go together.")
        }
        guard ![key, keyURI, keyProvider, publicKey, evidence].contains("") else {
            throw ValidationError("An empty path or name.")
        }
        guard signerCommand == nil || !words.isEmpty else { throw ValidationError("--signer-command: no program.") }
    }

    /// Whether a key was named, so that none is made.
    var isNamed: Bool { key != nil || keyURI != nil || signerCommand != nil }

    private var words: [String] { signerCommand?.split(separator: " ").map(String.init) ?? [] }

    /// Where the key is. Paths are made absolute, since they are kept.
    func source(in directory: String) -> DeviceEnrolment.Key {
        if let key { return .existing(.file(key.hasPrefix("/") ? key : directory + "/" + key)) }
        if let keyURI, let keyProvider { return .existing(.provider(uri: keyURI, provider: keyProvider)) }
        return signerCommand == nil ? .new : .existing(.command(words))
    }

    /// The public half of the signing program's key.
    ///
    /// - Throws: `Diagnosis` for a file that holds none.
    func verifyingKey() throws(Diagnosis) -> VerifyingKey? {
        guard let publicKey else { return nil }
        guard let key = VerifyingKey.reading(try EvidenceFile.bytes(publicKey)) else {
            throw .usage(
                "--public-key: \(ErrorCatalogue.quoted(publicKey)) is not a public key of the curve P-256",
                hint: "openssl pkey -in KEY -pubout writes one"
            )
        }
        return key
    }

    /// The evidence of a TPM.
    ///
    /// - Throws: `Diagnosis` for a file that is not there.
    func tpm2Evidence() throws(Diagnosis) -> TPM2Evidence? {
        guard let evidence else { return nil }
        return try TPM2Evidence.reading(evidence)
    }
}
