internal import ArgumentParser
internal import CaptureSubmission
internal import Foundation
internal import Glibc
internal import HashCapture
internal import MediaCore
internal import MediaCrypto
internal import MediaStore
internal import MediaTransport

struct HashOnlyRegister: ServerCommand {
    static let schema = "mediactl.hash-only-register/1"
    static let configuration = CommandConfiguration(
        commandName: "register",
        abstract: "Register this machine with a capture server.",
        discussion: """
            Without key options, a new key is created in the data directory. The level depends on what is proven to \
            the server: software for a key that can be copied, tpm2 for a key proven to be in a TPM. --tpm creates a \
            key in the TPM and proves it with tpm2-tools; with the same command, a TPM key whose registered level is \
            software is upgraded. A server with the profile reference has no level for Linux and accepts only a device \
            that was enrolled elsewhere: --device-id.

            Examples:
              mediactl hash-only register --server https://captures.example.org
              mediactl hash-only register --tpm
              mediactl hash-only register --signer-command "sign-with-card --slot 2" \\
                --public-key card.pem
            """
    )

    @OptionGroup(title: "Key") var key: CaptureKeyOptions

    @Option("Use an already enrolled device ID; sends nothing.", value: "uuid")
    var deviceID: String?

    @Option("Device model that the server shows (default: Linux).", value: "text")
    var model: String?

    @Option(
        "Relying party ID of the server, if its operator has changed it.",
        value: "text",
        name: .customLong("rp-id")
    )
    var rpID: String?

    @Flag(help: "Replace an earlier registration with this server, and remove its key.")
    var replace = false

    @Flag(name: .dryRun, help: "Show what would be registered, without creating a key or sending anything.")
    var dryRun = false

    @OptionGroup(title: "Connection options") var connection: CaptureConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(
            deviceID == nil || key.evidence == nil && !key.tpm,
            "--device-id cannot be combined with --tpm or --tpm2-evidence."
        )
        try require(
            deviceID == nil || key.isNamed,
            "--device-id requires the enrolled key: --key, --key-uri or --signer-command."
        )
        try require(
            deviceID == nil || model == nil,
            "--model cannot be combined with --device-id: the server has the model of an enrolled device."
        )
        try require(rpID != "", "--rp-id must not be empty.")
    }

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        guard settings.settings.captureProfile.value == .mediactl1 || deviceID != nil else {
            throw CaptureError(
                .enrolmentImpossible,
                detail: "a reference server enrolls phones only"
            )
        }
        let plan = DeviceEnrollment.Plan(
            key: key.source(in: console.context.workingDirectory),
            model: try FlagValue.read(model, "--model", CaptureValue.words) ?? "Linux",
            rpID: rpID ?? settings.captureRPID,
            evidence: try key.tpm2Evidence(),
            endorsementCertificates: try key.endorsementCertificates(),
            publicKey: try key.verifyingKey(),
            replacesEarlier: replace
        )
        let run = RegistrationRun(
            settings: settings,
            plan: plan,
            deviceID: try FlagValue.read(deviceID, "--device-id", CaptureValue.uuid)
        )
        return try await dryRun ? run.preview() : run.run()
    }
}

/// The signing key. Without any of these options, a new key file is created.
struct CaptureKeyOptions: ParsableArguments {
    @Option("Sign with the key in this file: P-256, PKCS#8 in PEM.", value: .file)
    var key: String?

    @Option("Sign with a key of an OpenSSL provider, for example handle:0x81000001.", value: "uri")
    var keyURI: String?

    @Option("The provider of --key-uri, for example tpm2.", value: "name")
    var keyProvider: String?

    @Flag(
        help: """
            Create a key in this machine's TPM 2.0, and prove to the server with tpm2-tools that the key is there. \
            With --key-uri handle:..., attest the key at that handle.
            """
    )
    var tpm = false

    @Option(
        """
        For --tpm: certificates that the TPM does not store, in PEM or DER: the certificate of its endorsement key, \
        then those of the issuers. May be repeated.
        """,
        value: .file
    )
    var ekCertificate: [String] = []

    @Option(
        """
        Sign with this program: it reads the SHA-256 to be signed, in hexadecimal, and prints the signature in \
        hexadecimal or base64. Its arguments are separated by spaces; no shell is used.
        """,
        value: "command"
    )
    var signerCommand: String?

    @Option("The public key of --signer-command, in PEM or DER.", value: .file)
    var publicKey: String?

    @Option(
        """
        Send a certification of a TPM key: this directory contains key.pub, ak.pub, certify.attest, certify.sig and \
        ek-*.der, as written by tpm2-tools. Without the proof from --tpm, the level stays software.
        """,
        value: .directory,
        name: .customLong("tpm2-evidence")
    )
    var evidence: String?

    func validate() throws {
        try require(
            [key, keyURI, signerCommand].count(where: { $0 != nil }) <= 1,
            "--key, --key-uri and --signer-command cannot be combined."
        )
        guard keyURI == nil || keyProvider != nil || tpm, keyURI != nil || keyProvider == nil else {
            throw ValidationError("--key-uri and --key-provider require each other.")
        }
        try require(
            !tpm || key == nil && signerCommand == nil && evidence == nil,
            "--tpm cannot be combined with --key, --signer-command or --tpm2-evidence."
        )
        guard !tpm || ["tpm2", nil].contains(keyProvider), !tpm || keyURI?.hasPrefix("handle:0x") ?? true else {
            throw ValidationError("--tpm can attest only a tpm2 key at a handle: --key-uri handle:0x81000001.")
        }
        try require(
            evidence == nil || keyURI != nil || signerCommand != nil,
            "--tpm2-evidence requires --key-uri or --signer-command: a key in a file is not in a TPM."
        )
        try require(tpm || ekCertificate.isEmpty, "--ek-certificate requires --tpm.")
        try require(
            (signerCommand == nil) == (publicKey == nil),
            "--signer-command and --public-key require each other."
        )
        try require(
            !([key, keyURI, keyProvider, publicKey, evidence] + ekCertificate).contains(""),
            "Paths and names must not be empty."
        )
        try require(signerCommand == nil || !words.isEmpty, "--signer-command requires a program.")
    }

    /// Whether an existing key was specified.
    var isNamed: Bool { key != nil || keyURI != nil || signerCommand != nil }

    private var words: [String] { signerCommand?.split(separator: " ").map(String.init) ?? [] }

    /// Paths are made absolute, since they are stored.
    func source(in directory: String) -> DeviceEnrollment.Key {
        let absolute = { (path: String) in path.hasPrefix("/") ? path : directory + "/" + path }
        if let key { return .existing(.file(absolute(key))) }
        if let keyURI { return .existing(.provider(uri: keyURI, provider: keyProvider ?? "tpm2")) }
        // A program without a slash is searched for in PATH.
        guard signerCommand != nil, let program = words.first else { return .new }
        return .existing(.command([program.contains("/") ? absolute(program) : program] + words.dropFirst()))
    }

    /// The signing program's public key.
    ///
    /// - Throws: `UserFacingError` if the file does not contain a valid key.
    func verifyingKey() throws(UserFacingError) -> VerifyingKey? {
        guard let publicKey else { return nil }
        guard let key = VerifyingKey.reading(try EvidenceFile.bytes(publicKey)) else {
            throw .usage(
                "--public-key: \(ErrorCatalog.quoted(publicKey)) is not a P-256 public key",
                hint: "to write a public key: openssl pkey -in KEY -pubout"
            )
        }
        return key
    }

    /// The certificates specified by --ek-certificate; nil without --tpm.
    func endorsementCertificates() throws(UserFacingError) -> [EndorsementCertificate]? {
        guard tpm else { return nil }
        var certificates: [EndorsementCertificate] = []
        for path in ekCertificate {
            let file = try EvidenceFile.bytes(path)
            do throws(CryptoError) {
                certificates += try EndorsementCertificate.reading(file)
            } catch {
                throw .usage("--ek-certificate: \(ErrorCatalog.quoted(path)) is not a certificate: \(error.detail)")
            }
        }
        return certificates
    }

    func tpm2Evidence() throws(UserFacingError) -> TPM2Evidence? {
        guard let evidence else { return nil }
        return try TPM2Evidence.reading(evidence)
    }
}

struct RegistrationRun: Sendable {
    let settings: SettingsSession
    let plan: DeviceEnrollment.Plan
    /// A device that is already enrolled.
    let deviceID: String?

    private var console: Console { settings.console }
    private var profile: CaptureProfile { settings.settings.captureProfile.value }

    /// - Throws: `UserFacingError`, `StoreError`, `CaptureError` for anything that `run` would refuse as well.
    func preview() async throws -> ExitCode {
        let server = try settings.requireServer(of: .captureURL)
        let earlier = try await settings.withReadOnlyCaptures { try $0.library.captureDevice(for: server.description) }
        let isUpgrade = earlier.map(plan.upgrades) ?? false
        if let earlier, !plan.replacesEarlier, !isUpgrade {
            throw CaptureError(.alreadyRegistered, detail: "as device \(earlier.deviceID)")
        }
        let level = plan.endorsementCertificates == nil ? "software" : "tpm2"
        console.text([
            "this machine would be registered with \(ErrorCatalog.clean(server.description)) as "
                + "\(ErrorCatalog.quoted(plan.model)), with \(words(for: plan.key))"
                + (deviceID == nil ? ", at the level \(level)" : ", as the enrolled device")
        ])
        return console.finish(
            summary(nil, server.description, expected: deviceID == nil ? level : nil, isUpgrade: isUpgrade)
        )
    }

    func run() async throws -> ExitCode {
        let server = try settings.requireServer(of: .captureURL)
        try console.requireOutput()
        let context = try CaptureContext.open(settings)
        let session = try context.confidential(try context.session())
        try await context.adopt()
        let enrollment = DeviceEnrollment(session)
        let (plan, deviceID) = (plan, deviceID)
        let earlier = try context.library.captureDevice(for: server.description)
        let control = TransferControl()
        // Canceling immediately could leave a device registered on the server but unknown to this machine.
        let finishTimeout = settings.settings.finishTimeout.value
        let work = Task {
            if let deviceID { return try await enrollment.keep(deviceID: deviceID, plan) }
            return try await enrollment.register(plan, control: control)
        }
        let device = try await console.context.interruption.handling({ [console] request in
            // Stops a signing program or a TPM tool; the command waits only for the server's response.
            control.stop()
            if request.isFinal {
                work.cancel()
            } else {
                console.outlast(request, for: "the server's response", finishTimeout: finishTimeout)
            }
        }) {
            do {
                return try await work.value
            } catch let error as CaptureError {
                throw ErrorCatalog.userFacingError(of: error, in: .registration)
            }
        }
        let isUpgrade = earlier?.deviceID == device.deviceID && earlier?.level != device.level
        console.text([
            "\(isUpgrade ? "upgraded" : "registered") this machine with \(ErrorCatalog.clean(server.description)) as "
                + "\(ErrorCatalog.clean(device.deviceID)) (\(TextRenderer.key(level: device.level)))"
        ])
        explain(device)
        console.note("to review what a photo would disclose: mediactl hash-only FILE --depth FILE --dry-run")
        return console.finish(summary(device, server.description, expected: device.level, isUpgrade: isUpgrade))
    }

    private func explain(_ device: CaptureDeviceRecord) {
        switch (KeyLevel(rawValue: device.level), device.keySource) {
        case (.software, _) where plan.endorsementCertificates != nil:
            console.warning("the server did not accept the proof of the TPM: the level is software")
        case (.software, .provider(_, "tpm2", _)):
            console.note("the key is not proven to be in a TPM; prove it with: mediactl hash-only register --tpm")
        case (.software, .provider), (.software, .command):
            console.note("the server treats this key as a software key")
        case (.software, .file):
            console.note("the key is not hardware-protected: anyone who copies it can sign as this machine")
        case (.tpm2, _): console.note("the server has verified that the key cannot leave this machine's TPM")
        case (.enrolledElsewhere, _):
            console.note("the level of this device is set on the server; nothing was queried or sent")
        case (nil, _): break
        }
        if case .file(let name) = device.keySource, !name.contains("/") {
            console.note("the key is stored in the data directory, readable only by you; keep a backup in a safe place")
        }
    }

    private func words(for key: DeviceEnrollment.Key) -> String {
        switch key {
        case .new where plan.endorsementCertificates != nil: "a key in the TPM"
        case .new: "a new key in a file"
        case .existing(.file(let path)): "the key in \(ErrorCatalog.quoted(path))"
        case .existing(.provider(let uri, let provider, _)):
            "the key \(ErrorCatalog.quoted(uri)) from the provider \(ErrorCatalog.quoted(provider))"
        case .existing(.command(let words)): "the key used by the program \(ErrorCatalog.quoted(words.first ?? ""))"
        }
    }

    private func summary(
        _ device: CaptureDeviceRecord?,
        _ server: String,
        expected level: String?,
        isUpgrade: Bool
    ) -> JSONObject {
        let source =
            switch plan.key {
            case .new where plan.endorsementCertificates != nil: "tpm"
            case .new: "new"
            case .existing(.file): "file"
            case .existing(.provider): "provider"
            case .existing(.command): "command"
            }
        return [
            "server": .string(server), "profile": .string(profile.rawValue), "rp_id": .string(plan.rpID),
            "model": .string(plan.model), "key": .string(source), "dry_run": .bool(device == nil),
            "device_id": JSONValue(device?.deviceID ?? deviceID), "level": JSONValue(level),
            "upgraded": .bool(isUpgrade),
            "public_key": JSONValue(device.map { Data($0.publicKey).base64EncodedString() }),
        ]
    }
}

extension TPM2Evidence {
    /// Reads the output of tpm2-tools: `key.pub` and `ak.pub` (`tpm2_create -u`, `tpm2_readpublic -o`),
    /// `certify.attest` and `certify.sig` (`tpm2_certify -o -s`), and the certificates `ek-*.der` in the order of their
    /// names, leaf first.
    static func reading(_ directory: String) throws(UserFacingError) -> TPM2Evidence {
        func bytes(_ name: String) throws(UserFacingError) -> [UInt8] { try EvidenceFile.bytes(directory + "/" + name) }
        let names = ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [])
            .filter { $0.hasPrefix("ek-") && $0.hasSuffix(".der") }.sorted()
        let certificates = try names.map(bytes)
        guard !certificates.isEmpty else {
            throw .usage(
                "\(ErrorCatalog.quoted(directory)) has no certificate of the TPM's endorsement key",
                hint: "name the files ek-0.der (the key's own), ek-1.der and so on, from the leaf to the root"
            )
        }
        return TPM2Evidence(
            keyPublicArea: TPM2Structure.unsized(try bytes("key.pub")),
            attestationKeyPublicArea: TPM2Structure.unsized(try bytes("ak.pub")),
            certification: TPM2Structure.unsized(try bytes("certify.attest")),
            certificationSignature: try bytes("certify.sig"),
            endorsementCertificates: certificates
        )
    }
}

/// Reads small files for a registration.
enum EvidenceFile {
    /// Far larger than any certificate.
    private static let limit = 64 << 10

    static func bytes(_ path: String) throws(UserFacingError) -> [UInt8] {
        let bytes: [UInt8]
        do throws(WholeInput.Failure) {
            bytes = try WholeInput.all(at: RawArguments.bytes(of: path), limit: limit)
        } catch {
            let reason =
                switch error {
                case .system(ENOENT): "no such file"
                case .tooLarge: "it is larger than \(limit >> 10) KiB"
                default: "it cannot be opened"
                }
            throw .usage(
                "cannot read \(ErrorCatalog.quoted(path)): \(reason)",
                hint: error == .system(ENOENT) ? ErrorCatalog.missingHint : nil
            )
        }
        guard !bytes.isEmpty else { throw .usage("cannot use \(ErrorCatalog.quoted(path)): it is empty") }
        return bytes
    }
}
