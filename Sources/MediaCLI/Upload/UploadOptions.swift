internal import ArgumentParser
internal import GigHive
internal import MediaFiles

/// Details of the files in an upload.
struct DetailOptions: ParsableArguments {
    @Option("Date of the event (default: today).", value: "yyyy-mm-dd")
    var eventDate: String?

    @Option("Band, couple or organization (default: \"Band\").", value: "name")
    var orgName: String?

    @Option(
        "Event type: band, wedding or other (default: band).",
        value: HelpValue("type", completion: .list(["band", "wedding", "other"]))
    )
    var eventType: String?

    @Option(
        """
        Title (default: the file name without extension). {stem}, {name}, {ext}, {parent}, {date} and {n} are \
        replaced; {n:3} is padded, as in 007; "Auto {date}" is the label that the phone app uses.
        """,
        value: "text"
    )
    var label: String?

    @Option("Names, comma-separated.", value: "names")
    var participants: String?

    @Option("Keywords, comma-separated.", value: "words")
    var keywords: String?

    @Option("Location of the event.", value: "text")
    var location: String?

    @Option("Rating of the event, from 0 to 9.", value: "n")
    var rating: String?

    @Option("Notes on the event.", value: "text")
    var notes: String?

    static let names = [
        "event_date", "org_name", "event_type", "label", "participants", "keywords", "location", "rating", "notes",
    ]

    /// The given details, keyed by field name.
    var given: [String: String] {
        let values = [eventDate, orgName, eventType, label, participants, keywords, location, rating, notes]
        return Dictionary(uniqueKeysWithValues: zip(Self.names, values)).compactMapValues { $0 }
    }

    /// The options that are also settings.
    var flags: SettingsFlags { SettingsFlags([.orgName: orgName, .eventType: eventType]) }

    func labelTemplate() throws -> LabelTemplate? {
        do {
            return try label.map { try LabelTemplate($0) }
        } catch let error as LabelTemplateError {
            throw UserFacingError.usage(
                "--label: \(ErrorCatalog.quoted(error.template)): \(ErrorCatalog.clean(error.reason))",
                hint: "placeholders are {stem}, {name}, {ext}, {parent}, {date}, {n} and {n:3}; {{ and }} are braces"
            )
        }
    }
}

struct InputOptions: ParsableArguments {
    @Flag(name: .shortAndLong, help: "Recurse into directories; non-media files are skipped.")
    var recursive = false

    @Option("Include only matching files in directories, for example \"*.mp4\"; may be repeated.", value: "glob")
    var include: [String] = []

    @Option("Skip matching files in directories; may be repeated.", value: "glob")
    var exclude: [String] = []

    @OptionGroup var fileLists: FileListOptions

    @Option(
        "Read files and their details from a table: CSV with a header line, or JSON lines; - for standard input.",
        value: .file
    )
    var manifest: String?

    @Option("Retry the files that failed in an earlier report, with their details.", value: .file("report"))
    var retryFailed: String?

    @Option(
        """
        Upload only shard I of N (I from 0 to N-1); auto or auto/N uses the scheduler's variables \
        (JOB_COMPLETION_INDEX, SLURM_ARRAY_TASK_ID).
        """,
        value: "i/n"
    )
    var shard: String?

    @Option("Upload new files in this directory once complete, until Ctrl-C.", value: .directory)
    var watch: String?

    @Flag(help: "Use the date recorded in each file as the event date, if present.")
    var dateFromMedia = false

    @Option("File name for standard input on the server.", value: "name")
    var stdinName: String?

    /// Options that list inputs, as written on the command line.
    var lists: [(flag: String, value: String)] {
        fileLists.lists
            + [("--manifest", manifest), ("--retry-failed", retryFailed)]
            .compactMap { flag, value in value.map { (flag, $0) } }
    }

    func filter() throws -> PathFilter {
        try PathFilter.reading(includes: include, excludes: exclude)
    }

    /// This run's shard of the inputs; nil for all of them.
    ///
    /// - Throws: `UserFacingError` for an invalid value, or if no scheduler variable is found.
    func part(environment: [String: String]) throws(UserFacingError) -> ShardChoice? {
        try shard.map { text throws(UserFacingError) in try ShardChoice(text, environment: environment) }
    }

    func validate() throws {
        guard (include.isEmpty && exclude.isEmpty) || recursive || watch != nil else {
            throw ValidationError("--include and --exclude apply only to files found in directories: add --recursive.")
        }
        try require(watch != "", "--watch: the path is empty.")
        try require(watch == nil || (lists.isEmpty && !recursive), "--watch cannot be combined with other inputs.")
    }
}

extension PathFilter {
    /// Parses the patterns in `--include` and `--exclude`.
    static func reading(includes: [String], excludes: [String]) throws(UserFacingError) -> PathFilter {
        PathFilter(
            includes: try includes.map { text throws(UserFacingError) in try pattern(text, "--include") },
            excludes: try excludes.map { text throws(UserFacingError) in try pattern(text, "--exclude") }
        )
    }

    private static func pattern(_ text: String, _ flag: String) throws(UserFacingError) -> GlobPattern {
        do {
            return try GlobPattern(text)
        } catch {
            throw .usage("\(flag): \(ErrorCatalog.quoted(text)): \(ErrorCatalog.clean(error.reason))")
        }
    }
}

/// One machine's shard, and where it was specified.
struct ShardChoice: Sendable, Equatable {
    var shard: Shard
    /// The scheduler's variable; nil if the shard is from the command line.
    var variable: String?

    /// Parses `I/N`, `auto` or `auto/N`. Only `auto` reads the scheduler's variables, which may be set for other
    /// reasons.
    init(_ text: String, environment: [String: String]) throws(UserFacingError) {
        let words = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard words[0] == "auto" else {
            guard let shard = Shard(text) else {
                throw .usage(
                    "--shard: \(ErrorCatalog.quoted(text)) is not a valid shard",
                    hint: "use I/N, I from 0 to N-1, for example --shard 0/4, or auto"
                )
            }
            self.shard = shard
            variable = nil
            return
        }
        let count = words.count == 2 ? Int(words[1]) : nil
        guard words.count == 1 || (count ?? 0) > 0 else {
            throw .usage(
                "--shard: \(ErrorCatalog.quoted(text)) is not a valid shard",
                hint: "use auto/N, where N is the number of shards"
            )
        }
        guard let shard = Shard(environment: environment, count: count) else {
            throw .usage(
                "--shard \(text): no scheduler variable found",
                hint: count == nil
                    ? "set JOB_COMPLETION_INDEX and use auto/N, run in a Slurm array, or use --shard I/N"
                    : "set JOB_COMPLETION_INDEX or SLURM_ARRAY_TASK_ID, or use --shard I/N"
            )
        }
        self.shard = shard
        variable = environment["JOB_COMPLETION_INDEX"] != nil ? "JOB_COMPLETION_INDEX" : "SLURM_ARRAY_TASK_ID"
    }

    /// `shard 2/4, from SLURM_ARRAY_TASK_ID`.
    var words: String {
        "shard \(shard.index)/\(shard.count)" + (variable.map { ", from \($0)" } ?? "")
    }
}

struct SendingOptions: ParsableArguments, Sendable {
    enum Order: String, ExpressibleByArgument, CaseIterable {
        case given
        case largestFirst = "largest-first"
    }

    @Flag(name: .dryRun, help: "Run all local checks and show what would be uploaded, without sending anything.")
    var dryRun = false

    @Flag(help: "Also upload files with unknown extensions.")
    var anyExtension = false

    @Flag(help: "Upload files even if they are already in the event.")
    var again = false

    @Flag(help: .hidden)
    var force = false

    /// Whether files with unknown extensions are uploaded.
    var takesAnyExtension: Bool { anyExtension || force }
    /// Whether files already in the event are uploaded again.
    var sendsAgain: Bool { again || force }

    @Option("Number of parallel uploads, 1 to 16 (default: 4).", value: "n", name: .jobs)
    var jobs: String?

    @Option(help: "Upload order.")
    var order = Order.given

    @Flag(help: "Stop after the first failure.")
    var failFast = false

    @Option("Write a JSON report with the result for each file; --retry-failed reads it.", value: .file)
    var report: String?

    @Option("Also add each uploaded file to this tape, which is created if it does not exist.", value: "tape")
    var tape: String?

    @Flag(
        inversion: .prefixedNo,
        help: ArgumentHelp(
            "After the run, verify every file against the server's listing (default: on for more than one file)."
        )
    )
    var verify: Bool?

    @OptionGroup var transfer: TransferOptions

    /// The options that are also settings.
    var flags: SettingsFlags { SettingsFlags([.jobs: jobs]) + transfer.flags }

    func validate() throws {
        try require(verify != true || !dryRun, "--verify cannot be combined with --dry-run: nothing is uploaded.")
        try require(tape.map({ !$0.allSatisfy(\.isWhitespace) }) ?? true, "--tape: the name is empty.")
        try require(report != "", "--report: the path is empty.")
        try requireFile(report, as: "the report of --report")
    }
}

/// Options of the transfer.
struct TransferOptions: ParsableArguments, Sendable {
    @Option("Transport; only tus is resumable (default: auto).", value: "transport")
    var transport: ArgumentChoice<UploadOptions.TransportChoice>?

    @Option(
        "Initial chunk size of tus uploads (default: 8M, minimum: 64K); adjusted if the server permits it.",
        value: "size"
    )
    var chunkSize: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            Number of parallel parts per tus upload, 1 to 16. The file is then read a second time to compute its \
            checksum.
            """,
            valueName: "n"
        )
    )
    var parallelParts: Int = 1

    /// The options that are also settings.
    var flags: SettingsFlags { SettingsFlags([.transport: transport?.value.rawValue, .chunkSize: chunkSize]) }

    func validate() throws {
        try require((1...16).contains(parallelParts), "--parallel-parts must be a whole number from 1 to 16.")
        guard transport?.value == .multipart else { return }
        for (flag, isGiven) in [("--parallel-parts", parallelParts != 1), ("--chunk-size", chunkSize != nil)] {
            try require(!isGiven, "\(flag) requires tus and cannot be combined with --transport multipart.")
        }
    }
}
