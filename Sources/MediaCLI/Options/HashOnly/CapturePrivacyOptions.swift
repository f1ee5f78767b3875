internal import ArgumentParser
internal import CaptureSubmission
internal import HashCapture

/// How much of what is known is told, for this run. The levels that are kept are those of `hash-only settings`.
struct CapturePrivacyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Tell this much of the place: none, coarse (city and country) or precise.",
            valueName: "level"
        )
    )
    var locationLevel: LocationLevelName?

    @Option(help: ArgumentHelp("Tell this much of the time: none, day-only or exact.", valueName: "level"))
    var timestampLevel: TimestampLevelName?

    @Option(help: ArgumentHelp("Tell this much of the device: none, model-only or full.", valueName: "level"))
    var deviceLevel: DeviceLevelName?

    @Flag(
        help: """
            On a reference server, which takes no city: tell coordinates with one decimal at the level coarse, in place \
            of nothing.
            """
    )
    var coarseCoordinates = false

    /// Settings with what was said here.
    func overriding(_ settings: PrivacySettings) -> PrivacySettings {
        var settings = settings
        settings.location = locationLevel?.level ?? settings.location
        settings.timestamp = timestampLevel?.level ?? settings.timestamp
        settings.deviceInfo = deviceLevel?.level ?? settings.deviceInfo
        return settings
    }
}

/// Levels of the place, as they are written on the command line.
enum LocationLevelName: String, ExpressibleByArgument, CaseIterable {
    case none, coarse, precise

    var level: LocationLevel {
        switch self {
        case .none: .none
        case .coarse: .coarse
        case .precise: .precise
        }
    }
}

/// Levels of the time.
enum TimestampLevelName: String, ExpressibleByArgument, CaseIterable {
    case none
    case dayOnly = "day-only"
    case exact

    var level: TimestampLevel {
        switch self {
        case .none: .none
        case .dayOnly: .dayOnly
        case .exact: .exact
        }
    }
}

/// Levels of the device.
enum DeviceLevelName: String, ExpressibleByArgument, CaseIterable {
    case none
    case modelOnly = "model-only"
    case full

    var level: DeviceInfoLevel {
        switch self {
        case .none: .none
        case .modelOnly: .modelOnly
        case .full: .full
        }
    }
}
