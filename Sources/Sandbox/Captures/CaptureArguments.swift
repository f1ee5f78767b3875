import ArgumentParser

/// The arguments about captures.
struct CaptureArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "mediactl-1: takes Linux devices, signs canonical JSON; reference: the existing server as it is.",
            valueName: "profile"
        )
    )
    var captureProfile = CaptureSettings.Profile.mediactl1

    @Option(
        help: ArgumentHelp(
            "The name whose SHA-256 begins an assertion; mediactl-1 or XXXXXXXXXX.com.realitycam.app by profile.",
            valueName: "name"
        )
    )
    var captureRpId: String?

    @Flag(
        help: "Refuse devices but secure_enclave, on mediactl-1 but tpm2, and wrong request signatures on both."
    )
    var captureStrict = false

    @Option(
        name: .customLong("capture-device"),
        help: ArgumentHelp(
            "A device that is enrolled already: its id, level and P-256 public key.",
            valueName: "uuid:level:pem-file"
        )
    )
    var devices: [CaptureSettings.EnrolledDevice] = []

    @Option(
        help: ArgumentHelp("How far the capture server's clock, its Date header too, is ahead.", valueName: "seconds")
    )
    var captureClock = 0.0

    func validate() throws {
        guard abs(captureClock) <= 1e9 else { throw ValidationError("--capture-clock is a number of seconds") }
        guard captureRpId?.isEmpty != true else { throw ValidationError("--capture-rp-id needs a name") }
    }

    func settings(basePath: String) -> CaptureSettings {
        CaptureSettings(
            profile: captureProfile,
            relyingParty: captureRpId ?? captureProfile.relyingParty,
            isStrict: captureStrict,
            devices: devices,
            clockOffset: captureClock,
            basePath: basePath
        )
    }
}
