internal import ArgumentParser
internal import GigHive
internal import MediaFiles

/// Which files an upload takes.
struct InputOptions: ParsableArguments {
    @Flag(name: .shortAndLong, help: "Take all files below directories. Those that are no media are left out.")
    var recursive = false

    @Option(
        help: ArgumentHelp(
            "Of the files found in directories take only these, for example \"*.mp4\"; may be repeated.",
            valueName: "glob"
        )
    )
    var include: [String] = []

    @Option(
        help: ArgumentHelp("Of the files found in directories leave these out; may be repeated.", valueName: "glob")
    )
    var exclude: [String] = []

    @OptionGroup var fileLists: FileListOptions

    @Option(
        help: ArgumentHelp(
            "Take files and their details from a table: CSV with a header line, or JSON lines; - for standard input.",
            valueName: "file"
        ),
        completion: .file()
    )
    var manifest: String?

    @Option(
        help: ArgumentHelp(
            "Take the files that did not end well from the report of an earlier run, with their details.",
            valueName: "report"
        ),
        completion: .file()
    )
    var retryFailed: String?

    @Option(
        help: ArgumentHelp(
            """
            Take only part I of N of the files, I from 0; auto or auto/N asks the scheduler (JOB_COMPLETION_INDEX, \
            SLURM_ARRAY_TASK_ID).
            """,
            valueName: "i/n"
        )
    )
    var shard: String?

    @Option(
        help: ArgumentHelp("Send what appears in this directory, once it is complete, until Ctrl-C.", valueName: "dir"),
        completion: .directory
    )
    var watch: String?

    @Flag(help: "Take the day of each recording from the file itself, where it says one.")
    var dateFromMedia = false

    @Option(help: ArgumentHelp("What to call standard input on the server.", valueName: "name"))
    var stdinName: String?

    /// The options that name inputs of their own, as they are written.
    var lists: [(flag: String, value: String)] {
        fileLists.lists
            + [("--manifest", manifest), ("--retry-failed", retryFailed)]
            .compactMap { flag, value in value.map { (flag, $0) } }
    }

    /// Which files found in directories are wanted.
    ///
    /// - Throws: `Diagnosis` for a pattern that cannot be read.
    func filter() throws -> PathFilter {
        try PathFilter.reading(includes: include, excludes: exclude)
    }

    /// The part of the inputs that is this run's, and where that is said; nil for all of them.
    ///
    /// - Throws: `Diagnosis` when it cannot be read, or no scheduler says it.
    func part(environment: [String: String]) throws(Diagnosis) -> ShardChoice? {
        try shard.map { text throws(Diagnosis) in try ShardChoice(text, environment: environment) }
    }

    func validate() throws {
        guard (include.isEmpty && exclude.isEmpty) || recursive || watch != nil else {
            throw ValidationError("--include and --exclude are for files found in directories: add --recursive.")
        }
        guard watch != "" else { throw ValidationError("--watch: an empty path.") }
        guard watch == nil || (lists.isEmpty && !recursive) else {
            throw ValidationError("--watch takes what appears in its directory, and nothing else.")
        }
    }
}
