internal import ArgumentParser

/// How the files of an upload are sent.
struct SendingOptions: ParsableArguments, Sendable {
    enum Order: String, ExpressibleByArgument, CaseIterable {
        case given
        case largestFirst = "largest-first"
    }

    @Flag(help: "Run all local checks and show what would be uploaded, without sending anything.")
    var dryRun = false

    @Flag(help: "Also upload files with unknown extensions.")
    var anyExtension = false

    @Flag(help: "Upload files even if they are already in the event.")
    var again = false

    @Flag(help: .hidden)
    var force = false

    /// Whether files with unknown extensions are sent.
    var takesAnyExtension: Bool { anyExtension || force }
    /// Whether files that the server is known to have are sent.
    var sendsAgain: Bool { again || force }

    @Option(
        name: [.customShort("j", allowingJoined: true), .long],
        help: ArgumentHelp("Number of parallel uploads, 1 to 16 (default: 4).", valueName: "n")
    )
    var jobs: String?

    @Option(help: "Upload order.")
    var order = Order.given

    @Flag(help: "Stop after the first failure.")
    var failFast = false

    @Option(
        help: ArgumentHelp(
            "Write a JSON report with the result for each file; --retry-failed reads it.",
            valueName: "file"
        ),
        completion: .file()
    )
    var report: String?

    @Option(
        help: ArgumentHelp(
            "Also add each uploaded file to this tape; created if it does not exist.",
            valueName: "tape"
        )
    )
    var tape: String?

    @Flag(
        inversion: .prefixedNo,
        help: ArgumentHelp(
            "After the run, verify every file against the server's listing (default: on for more than one file)."
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
            "Transport: auto, multipart, or tus, which is resumable (default: auto).",
            valueName: "transport"
        )
    )
    var transport: Transport?

    @Option(
        help: ArgumentHelp(
            "Initial chunk size of tus uploads (default: 8M, minimum: 64K); adjusted if the server permits it.",
            valueName: "size"
        )
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

    func validate() throws {
        guard (1...16).contains(parallelParts) else {
            throw ValidationError("--parallel-parts takes a whole number from 1 to 16.")
        }
        guard parallelParts == 1 || transport != .multipart else {
            throw ValidationError("--parallel-parts requires tus and cannot be combined with --transport multipart.")
        }
    }
}
