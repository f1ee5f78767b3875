internal import ArgumentParser

/// Flags that every command understands, before or after its name.
struct GlobalOptions: ParsableArguments {
    @Flag(help: "Write JSON records, one a line, and nothing else to standard output.")
    var json = false

    @Flag(help: "Add progress records to the output of --json.")
    var progressEvents = false

    @Flag(name: .shortAndLong, help: "No progress and no notes; errors and warnings stay.")
    var quiet = false

    @Flag(name: .shortAndLong, help: "Say more on standard error; may be repeated.")
    var verbose: Int

    @Option(help: ArgumentHelp("Colour the output: auto, always or never.", valueName: "when"))
    var color: String?

    @Flag(help: "Never ask anything.")
    var noInput = false

    @Option(help: ArgumentHelp("Read this settings file.", valueName: "file"), completion: .file())
    var config: String?

    @Option(
        help: ArgumentHelp("Keep tokens, logins, journal and index here.", valueName: "dir"),
        completion: .directory
    )
    var dataDir: String?

    func validate() throws {
        guard config != "" else { throw ValidationError("--config: an empty path.") }
        guard dataDir != "" else { throw ValidationError("--data-dir: an empty path.") }
        guard !quiet || verbose == 0 else { throw ValidationError("--quiet and --verbose exclude each other.") }
        guard json || !progressEvents else { throw ValidationError("--progress-events needs --json.") }
    }

    var outputPreferences: OutputPreferences {
        OutputPreferences(
            isJSON: json,
            isQuiet: quiet,
            verbosity: verbose,
            color: color.flatMap(ColorMode.init(rawValue:))
        )
    }
}
