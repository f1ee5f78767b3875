internal import ArgumentParser
internal import CaptureSubmission
internal import HashCapture
internal import MediaStore

/// `mediactl hash-only register`
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

    @Flag(help: "Only say what would be registered. Nothing is made or sent.")
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
