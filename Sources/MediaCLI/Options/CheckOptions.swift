internal import ArgumentParser

/// What `doctor` and `smoke` have in common.
struct CheckOptions: ParsableArguments {
    @Option(help: ArgumentHelp("End after this long, whatever is still open; 60s by default.", valueName: "time"))
    var timeout: String?

    @Option(
        help: ArgumentHelp("Write a JUnit XML report to this file as well.", valueName: "file"),
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
