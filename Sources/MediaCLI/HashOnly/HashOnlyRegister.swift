internal import ArgumentParser
internal import CaptureSubmission
internal import Foundation
internal import Glibc
internal import HashCapture
internal import MediaCore
internal import MediaCrypto
internal import MediaStore
internal import MediaTransport

struct HashOnlyRegister: ContextCommand {
    static let schema = "mediactl.hash-only-register/1"
    static let configuration = CommandConfiguration(
        commandName: "register",
        abstract: "Make this machine a device of a capture server.",
        discussion: """
            A new key is made in the data directory, unless one is named. The level says how well the server knows it to \
            be kept: software for a key that anyone may have copied, tpm2 for one that a TPM certifies. A server of the \
            profile reference knows no level for Linux, and takes only a device that was enrolled elsewhere: --device-id.

            Examples:
              mediactl hash-only register --server https://captures.example.org
              mediactl hash-only register --key-uri handle:0x81000001 --key-provider tpm2 \\
                --tpm2-evidence evidence
              mediactl hash-only register --signer-command "sign-with-card --slot 2" \\
                --public-key card.pem
            """
    )

    @OptionGroup(title: "Key") var key: CaptureKeyOptions

    @Option(help: ArgumentHelp("The device is enrolled already, as this; nothing is sent.", valueName: "uuid"))
    var deviceID: String?

    @Option(help: ArgumentHelp("What the server shows as the device, \"Linux\" by default.", valueName: "text"))
    var model: String?

    @Option(
        name: .customLong("rp-id"),
        help: ArgumentHelp("The server's relying party id, when its operator has changed it.", valueName: "text")
    )
    var rpID: String?

    @Flag(help: "Take the place of an earlier registration at this server.")
    var replace = false

    @Flag(name: .dryRun, help: "Show what would be registered, without creating a key or sending anything.")
    var dryRun = false

    @OptionGroup(title: "Connection options") var connection: CaptureConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard deviceID == nil || key.evidence == nil else {
            throw ValidationError("--tpm2-evidence is for a new registration, not for a --device-id that is enrolled.")
        }
        guard deviceID == nil || key.isNamed else {
            throw ValidationError(
                "--device-id goes with the key that is enrolled: --key, --key-uri or --signer-command."
            )
        }
        guard rpID != "" else { throw ValidationError("--rp-id: empty.") }
    }

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        guard settings.settings.captureProfile.value == .mediactl1 || deviceID != nil else {
            throw CaptureError(
                .enrolmentImpossible,
                detail: "a reference server enrols phones only, and mediactl never claims to be one"
            )
        }
        let plan = DeviceEnrolment.Plan(
            key: key.source(in: console.context.workingDirectory),
            model: try FlagValue.read(model, "--model", CaptureValue.words) ?? "Linux",
            rpID: rpID ?? settings.captureRPID,
            evidence: try key.tpm2Evidence(),
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

/// The signing key. Without any of these options a new key file is created.
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

    /// Whether an existing key was specified.
    var isNamed: Bool { key != nil || keyURI != nil || signerCommand != nil }

    private var words: [String] { signerCommand?.split(separator: " ").map(String.init) ?? [] }

    /// Paths are made absolute, since they are stored.
    func source(in directory: String) -> DeviceEnrolment.Key {
        if let key { return .existing(.file(key.hasPrefix("/") ? key : directory + "/" + key)) }
        if let keyURI, let keyProvider { return .existing(.provider(uri: keyURI, provider: keyProvider)) }
        return signerCommand == nil ? .new : .existing(.command(words))
    }

    /// The public half of the signing program's key.
    ///
    /// - Throws: `Diagnosis` if the file contains no such key.
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

    /// - Throws: `Diagnosis` if a file is missing.
    func tpm2Evidence() throws(Diagnosis) -> TPM2Evidence? {
        guard let evidence else { return nil }
        return try TPM2Evidence.reading(evidence)
    }
}

struct RegistrationRun: Sendable {
    let settings: SettingsSession
    let plan: DeviceEnrolment.Plan
    /// A device that is already enrolled.
    let deviceID: String?

    private var console: Console { settings.console }
    private var profile: CaptureProfile { settings.settings.captureProfile.value }

    /// - Throws: `Diagnosis`, `StoreError`, `CaptureError` for what `run` would refuse as well.
    func preview() async throws -> ExitCode {
        guard let server = try settings.configuredCaptureServer else { throw settings.noServer }
        let earlier = try await settings.withReadOnlyCaptures { try $0.library.captureDevice(for: server.description) }
        if let earlier, !plan.replacesEarlier {
            throw CaptureError(.alreadyRegistered, detail: "as device \(earlier.deviceID)")
        }
        let level = plan.evidence == nil ? "software" : "tpm2"
        console.text([
            "this machine would be registered at \(ErrorCatalogue.clean(server.description)) as "
                + "\(ErrorCatalogue.quoted(plan.model)), with \(words(for: plan.key))"
                + (deviceID == nil ? ", at the level \(level)" : ", as the device it is enrolled as")
        ])
        console.summary(summary(nil, server.description, expected: deviceID == nil ? level : nil))
        return .success
    }

    /// - Throws: `Diagnosis`, `StoreError`, `TransportError`, `CaptureError`.
    func run() async throws -> ExitCode {
        guard let server = try settings.configuredCaptureServer else { throw settings.noServer }
        try console.requireOutput()
        let context = try CaptureContext.open(settings)
        let session = try context.confidential(try context.session())
        try await context.adopt()
        let enrolment = DeviceEnrolment(session)
        let (plan, deviceID) = (plan, deviceID)
        // Canceling at once could leave a device registered on the server that this machine does not know.
        let finishTimeout = settings.settings.finishTimeout.value
        let work = Task {
            if let deviceID { return try await enrolment.keep(deviceID: deviceID, plan) }
            return try await enrolment.register(plan)
        }
        let device = try await console.context.interruption.handling({ [console] request in
            if request.isFinal {
                work.cancel()
            } else {
                console.outlast(request, for: "the server's answer", finishTimeout: finishTimeout)
            }
        }) { try await work.value }
        console.text([
            "registered this machine at \(ErrorCatalogue.clean(server.description)) as "
                + "\(ErrorCatalogue.clean(device.deviceID)) (level \(ErrorCatalogue.clean(device.level)))"
        ])
        explain(device)
        console.summary(summary(device, server.description, expected: device.level))
        return console.exitCode(.success)
    }

    private func explain(_ device: CaptureDeviceRecord) {
        switch KeyLevel(rawValue: device.level) {
        case .software:
            console.note("nothing proves where this key lies: whoever copies it can sign as this machine")
        case .tpm2: console.note("the server was shown that the key cannot leave this machine's TPM")
        case .enrolledElsewhere: console.note("the server knows the level of this device; nothing was asked or sent")
        case nil: break
        }
        if case .file(let name) = device.keySource, !name.contains("/") {
            console.note("the key lies in the data directory, readable by you alone; keep a copy where you keep keys")
        }
    }

    private func words(for key: DeviceEnrolment.Key) -> String {
        switch key {
        case .new: "a new key in a file"
        case .existing(.file(let path)): "the key in \(ErrorCatalogue.quoted(path))"
        case .existing(.provider(let uri, let provider)):
            "the key \(ErrorCatalogue.quoted(uri)) of the provider \(ErrorCatalogue.quoted(provider))"
        case .existing(.command(let words)): "the key of the program \(ErrorCatalogue.quoted(words.first ?? ""))"
        }
    }

    private func summary(_ device: CaptureDeviceRecord?, _ server: String, expected level: String?) -> JSONObject {
        let source =
            switch plan.key {
            case .new: "new"
            case .existing(.file): "file"
            case .existing(.provider): "provider"
            case .existing(.command): "command"
            }
        return [
            "server": .string(server), "profile": .string(profile.rawValue), "rp_id": .string(plan.rpID),
            "model": .string(plan.model), "key": .string(source), "dry_run": .bool(device == nil),
            "device_id": JSONValue(device?.deviceID ?? deviceID), "level": JSONValue(level),
            "public_key": JSONValue(device.map { Data($0.publicKey).base64EncodedString() }), "exit_code": 0,
        ]
    }
}

extension TPM2Evidence {
    /// Reads what tpm2-tools write: `key.pub` and `ak.pub` (`tpm2_create -u`, `tpm2_readpublic -o`), `certify.attest` and
    /// `certify.sig` (`tpm2_certify -o -s`), and the certificates `ek-*.der` in the order of their names, leaf first.
    ///
    /// - Throws: `Diagnosis` if a file is missing.
    static func reading(_ directory: String) throws(Diagnosis) -> TPM2Evidence {
        func bytes(_ name: String) throws(Diagnosis) -> [UInt8] { try EvidenceFile.bytes(directory + "/" + name) }
        let names = ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [])
            .filter { $0.hasPrefix("ek-") && $0.hasSuffix(".der") }.sorted()
        var certificates: [[UInt8]] = []
        for name in names {
            certificates.append(try bytes(name))
        }
        guard !certificates.isEmpty else {
            throw .usage(
                "\(ErrorCatalogue.quoted(directory)) holds no certificate of the TPM's endorsement key",
                hint: "name them ek-0.der (the key's own), ek-1.der and so on; see docs/guides/hash-only.md"
            )
        }
        return TPM2Evidence(
            keyPublicArea: unsized(try bytes("key.pub")),
            attestationKeyPublicArea: unsized(try bytes("ak.pub")),
            certification: unsized(try bytes("certify.attest")),
            certificationSignature: try bytes("certify.sig"),
            endorsementCertificates: certificates
        )
    }

    /// Removes the size from a TPM2B structure (TPM 2.0 Library Part 2, 10.4); returns anything else unchanged.
    private static func unsized(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.count > 2, Int(bytes[0]) << 8 | Int(bytes[1]) == bytes.count - 2 else { return bytes }
        return Array(bytes.dropFirst(2))
    }
}

/// Small files that a registration reads.
enum EvidenceFile {
    /// Far larger than any certificate.
    private static let limit = 64 << 10

    /// - Throws: `Diagnosis` (usage).
    static func bytes(_ path: String) throws(Diagnosis) -> [UInt8] {
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
                "cannot read \(ErrorCatalogue.quoted(path)): \(reason)",
                hint: error == .system(ENOENT) ? ErrorCatalogue.missingHint : nil
            )
        }
        guard !bytes.isEmpty else { throw .usage("cannot use \(ErrorCatalogue.quoted(path)): it is empty") }
        return bytes
    }
}
