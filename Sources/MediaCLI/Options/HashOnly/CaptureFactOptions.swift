internal import ArgumentParser
internal import HashCapture

/// What a user says about a capture, in place of what the file says. How much of it is told is a matter of levels.
struct CaptureFactOptions: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Where it was taken, in degrees, for example 52.5163,13.3777.", valueName: "lat,lon")
    )
    var location: String?

    @Option(
        help: ArgumentHelp(
            "City and country for the level coarse, in place of those found near the position.",
            valueName: "city,cc"
        )
    )
    var place: String?

    @Option(help: ArgumentHelp("When it was taken, for example 2026-05-01T18:30:00Z.", valueName: "time"))
    var capturedAt: String?

    @Option(help: ArgumentHelp("What took it, as you would have it known.", valueName: "text"))
    var deviceModel: String?

    /// Options that concern one file only, as they are written.
    var ofOneFile: [String] { capturedAt == nil ? [] : ["--captured-at"] }

    /// What was said.
    ///
    /// - Throws: `Diagnosis` for a value that is refused.
    func facts() throws(Diagnosis) -> CaptureFacts {
        let position = try FlagValue.read(location, "--location", CaptureValue.coordinates)
        let place = try FlagValue.read(place, "--place", CaptureValue.place)
        return CaptureFacts(
            latitude: position?.latitude,
            longitude: position?.longitude,
            city: place?.city,
            country: place?.country,
            capturedAt: try FlagValue.read(capturedAt, "--captured-at", CaptureValue.time),
            deviceModel: try FlagValue.read(deviceModel, "--device-model", CaptureValue.words)
        )
    }
}
