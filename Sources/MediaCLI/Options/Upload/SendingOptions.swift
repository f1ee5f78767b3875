internal import ArgumentParser

/// How the files of an upload are sent.
struct SendingOptions: ParsableArguments, Sendable {
    enum Order: String, ExpressibleByArgument, CaseIterable {
        case given
        case largestFirst = "largest-first"
    }

    @Flag(help: "Check everything that can be checked here, send nothing.")
    var dryRun = false

    @Flag(help: "Send files with unknown extensions as well.")
    var anyExtension = false

    @Flag(help: "Send files that the server is known to have as well.")
    var again = false

    @Flag(help: .hidden)
    var force = false

    /// Whether files with unknown extensions are sent.
    var takesAnyExtension: Bool { anyExtension || force }
    /// Whether files that the server is known to have are sent.
    var sendsAgain: Bool { again || force }

    @Option(
        name: [.customShort("j", allowingJoined: true), .long],
        help: ArgumentHelp("Files that are sent at a time, 1 to 16; 4 by default.", valueName: "n")
    )
    var jobs: String?

    @Option(help: "In which order files are begun.")
    var order = Order.given

    @Flag(help: "Begin nothing more after the first failure.")
    var failFast = false

    @Option(
        help: ArgumentHelp(
            "Write the end of every file to this JSON file; --retry-failed reads it.",
            valueName: "file"
        ),
        completion: .file()
    )
    var report: String?

    @Option(
        help: ArgumentHelp(
            "Add each file that the server has to this tape as well; one that is not there is made.",
            valueName: "tape"
        )
    )
    var tape: String?

    @Flag(
        inversion: .prefixedNo,
        help: ArgumentHelp(
            "After the run, compare every file with the server's listing (default: yes for more than one file)."
        )
    )
    var verify: Bool?

    @OptionGroup var transfer: TransferOptions

    func validate() throws {
        guard verify != true || !dryRun else {
            throw ValidationError("--verify cannot be combined with --dry-run: nothing is uploaded.")
        }
        guard tape.map({ !$0.allSatisfy(\.isWhitespace) }) ?? true else {
            throw ValidationError("--tape: an empty name.")
        }
        guard report != "" else { throw ValidationError("--report: an empty path.") }
    }
}

/// How the bytes go.
struct TransferOptions: ParsableArguments, Sendable {
    enum Transport: String, ExpressibleByArgument, CaseIterable {
        case auto
        case multipart
        case tus
    }

    @Option(
        help: ArgumentHelp(
            "How the bytes are sent: auto (by default), multipart, or tus, which can go on after a cut.",
            valueName: "way"
        )
    )
    var transport: Transport?

    @Option(
        help: ArgumentHelp(
            "Bytes of the first request of a tus upload, 8M by default and 64K at least; it adapts.",
            valueName: "size"
        )
    )
    var chunkSize: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            Send a file in this many parts at once, 1 to 16, over tus. The checksum then needs a reading of the file \
            of its own.
            """,
            valueName: "n"
        )
    )
    var parallelParts: Int = 1

    func validate() throws {
        guard (1...16).contains(parallelParts) else {
            throw ValidationError("--parallel-parts takes a whole number from 1 to 16.")
        }
        guard parallelParts == 1 || transport != .multipart else {
            throw ValidationError("--parallel-parts needs tus, and --transport multipart is something else.")
        }
    }
}
