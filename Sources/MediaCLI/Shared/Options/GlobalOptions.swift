internal import ArgumentParser

/// Flags that every command accepts, before or after its name.
struct GlobalOptions: ParsableArguments {
    @Flag(help: "Write only JSON records to standard output, one per line.")
    var json = false

    @Flag(help: "Include progress records in the output of --json.")
    var progressEvents = false

    @Flag(name: .shortAndLong, help: "Suppress progress and notes; errors and warnings are still printed.")
    var quiet = false

    @Flag(name: .shortAndLong, help: "Print more details to standard error; may be repeated.")
    var verbose: Int

    @Option("Color the output: auto, always or never.", value: "when")
    var color: String?

    @Flag(help: "Never prompt.")
    var noInput = false

    @Option("Read this settings file.", value: .file)
    var config: String?

    @Option("Store tokens, logins, journal and index in this directory.", value: .directory)
    var dataDir: String?

    func validate() throws {
        try require(config != "", "--config: the path is empty.")
        try require(dataDir != "", "--data-dir: the path is empty.")
        try require(!quiet || verbose == 0, "--quiet cannot be combined with --verbose.")
        try require(json || !progressEvents, "--progress-events requires --json.")
    }

    var outputPreferences: OutputPreferences {
        OutputPreferences(
            isJSON: json,
            writesProgress: progressEvents,
            isQuiet: quiet,
            verbosity: verbose,
            color: color.flatMap(ColorMode.init(rawValue:))
        )
    }
}

extension NameSpecification {
    /// `-n, --dry-run`
    static var dryRun: NameSpecification { [.customShort("n"), .long] }

    /// `-j, --jobs`, also as `-j4`
    static var jobs: NameSpecification { [.customShort("j", allowingJoined: true), .long] }
}

struct OutputPreferences: Sendable {
    var isJSON = false
    /// `--progress-events`
    var writesProgress = false
    var isQuiet = false
    var verbosity = 0
    /// From the command line; if nil, the settings apply.
    var color: ColorMode?
}

enum ColorMode: String, Sendable, CaseIterable {
    case auto, always, never
}

/// Rejects the command line if a condition on its options is false.
func require(_ condition: Bool, _ message: @autoclosure () -> String) throws {
    guard condition else { throw ValidationError(message()) }
}

/// Fails if standard input is used more than once. `readers` are the options as written on the command line.
func requireOneReader(_ readers: [String]) throws {
    let names = readers.joined(separator: " and ")
    try require(readers.count <= 1, "Standard input can be read only once; it is used by \(names).")
}

/// Fails if the path of a file to create is `-`, which means standard output elsewhere.
func requireFile(_ paths: String?..., as name: String) throws {
    try require(!paths.contains("-"), "\(name)\(ParseFailure.notStandardOutput).")
}
