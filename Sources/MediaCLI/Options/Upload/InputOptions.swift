internal import ArgumentParser
internal import GigHive
internal import MediaFiles

/// Which files an upload takes.
struct InputOptions: ParsableArguments {
    @Flag(name: .shortAndLong, help: "Recurse into directories; non-media files are skipped.")
    var recursive = false

    @Option(
        help: ArgumentHelp(
            "Upload only matching files in directories, for example \"*.mp4\"; may be repeated.",
            valueName: "glob"
        )
    )
    var include: [String] = []

    @Option(
        help: ArgumentHelp("Skip matching files in directories; may be repeated.", valueName: "glob")
    )
    var exclude: [String] = []

    @OptionGroup var fileLists: FileListOptions

    @Option(
        help: ArgumentHelp(
            "Read files and their details from a table: CSV with a header line, or JSON lines; - for standard input.",
            valueName: "file"
        ),
        completion: .file()
    )
    var manifest: String?

    @Option(
        help: ArgumentHelp(
            "Retry the files that failed in an earlier report, with their details.",
            valueName: "report"
        ),
        completion: .file()
    )
    var retryFailed: String?

    @Option(
        help: ArgumentHelp(
            """
            Upload only shard I of N, I from 0; auto or auto/N uses the scheduler's variables (JOB_COMPLETION_INDEX, \
            SLURM_ARRAY_TASK_ID).
            """,
            valueName: "i/n"
        )
    )
    var shard: String?

    @Option(
        help: ArgumentHelp("Upload new files in this directory once complete, until Ctrl-C.", valueName: "dir"),
        completion: .directory
    )
    var watch: String?

    @Flag(help: "Use the date recorded in each file as the event date, if present.")
    var dateFromMedia = false

    @Option(help: ArgumentHelp("File name for standard input on the server.", valueName: "name"))
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
            throw ValidationError("--watch cannot be combined with other inputs.")
        }
    }
}
