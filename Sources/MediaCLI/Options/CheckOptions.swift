internal import ArgumentParser

/// What `doctor` and `smoke` have in common.
struct CheckOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Maximum time for all checks (default: 60s).", valueName: "time"))
    var timeout: String?

    @Option(
        help: ArgumentHelp("Also write a JUnit XML report to this file.", valueName: "file"),
        completion: .file()
    )
    var junit: String?

    func validate() throws {
        guard junit != "" else { throw ValidationError("--junit: an empty path.") }
    }

    /// The limit for the whole run.
    ///
    /// - Throws: `Diagnosis` for what is no duration.
    func limit() throws(Diagnosis) -> Duration {
        try FlagValue.read(timeout, "--timeout", SettingValue.timeout) ?? .seconds(60)
    }
}
