import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import MediaCLI

/// Responses to typos. Every command rejects them and suggests the likely intended word.
@Suite struct MistypedLineTests {
    struct Slip: Sendable, CustomTestStringConvertible {
        var line: String
        var error: String
        var hint: String
        var testDescription: String { line }

        init(_ line: String, _ error: String, _ hint: String) {
            (self.line, self.error, self.hint) = (line, error, hint)
        }
    }

    private static let dash = "for a file with that name, write ./-"
    private static let passwordArgument = "--password is not supported: other users can see arguments"
    private static let passwordHint = "use --password-file FILE, --password-stdin or MEDIACTL_PASSWORD"

    static let slips: [Slip] = [
        // Commands, at every depth.
        Slip("uplods", #"unknown command "uplods""#, "did you mean: mediactl uploads"),
        Slip("uplaod a", #"unknown command "uplaod""#, "did you mean: mediactl upload"),
        Slip("uplods lst", #"unknown command "uplods""#, "did you mean: mediactl uploads list"),
        Slip("sync staus", #"unknown command "staus""#, "did you mean: mediactl sync status"),
        Slip("sync pul --full", #"unknown command "pul""#, "did you mean: mediactl sync pull"),
        Slip("tapes albm show Summer", #"unknown command "albm""#, "did you mean: mediactl tapes album show"),
        Slip("tapes albm shw Summer", #"unknown command "albm""#, "did you mean: mediactl tapes album show"),
        Slip("tapes album shwo", #"unknown command "shwo""#, "did you mean: mediactl tapes album show"),
        Slip("tapes albm show --help", #"unknown command "albm""#, "did you mean: mediactl tapes album show"),
        Slip("hash-only settings shw", #"unknown command "shw""#, "did you mean: mediactl hash-only settings show"),
        Slip("config sho", #"unknown command "sho""#, "did you mean: mediactl config show"),
        Slip("claim_legacy", #"unknown command "claim_legacy""#, "did you mean: mediactl claim-legacy"),
        Slip("hashonly a.jpg", #"unknown command "hashonly""#, "did you mean: mediactl hash-only"),
        Slip("lgoin", #"unknown command "lgoin""#, "did you mean: mediactl login"),
        // Names of commands in other programs.
        Slip("ls", #"unknown command "ls""#, "did you mean: mediactl uploads list"),
        Slip("rm 1", #"unknown command "rm""#, "did you mean: mediactl uploads delete"),
        Slip("uploads rm 1", #"unknown command "rm""#, "did you mean: mediactl uploads delete"),
        Slip("tapes rm Summer", #"unknown command "rm""#, "did you mean: mediactl tapes delete"),
        Slip("tapes ls", #"unknown command "ls""#, "did you mean: mediactl tapes list"),
        Slip("sync ls", #"unknown command "ls""#, "did you mean: mediactl sync list"),
        Slip("sync get", #"unknown command "get""#, "did you mean: mediactl sync download"),
        Slip("cp clip.mp4", #"unknown command "cp""#, "did you mean: mediactl upload"),
        Slip("media search x", #"unknown command "search""#, "did you mean: mediactl media find"),
        Slip("version", #"unknown command "version""#, "did you mean: mediactl --version"),
        Slip("xyzzy", #"unknown command "xyzzy""#, "see mediactl --help"),
        // Options: the program's own, those of one command, and those of a command that only groups others.
        Slip("--josn uploads list", "unknown option --josn", "did you mean: --json"),
        Slip("uploads --josn list", "unknown option --josn", "did you mean: --json"),
        Slip("uploads list --josn", "unknown option --josn", "did you mean: --json"),
        Slip("uploads list -json", "unknown option -json", "did you mean: --json"),
        Slip("upload a --josn", "unknown option --josn", "did you mean: --json"),
        Slip("upload a --event-tpye x", "unknown option --event-tpye", "did you mean: --event-type"),
        Slip("upload a --dryrun", "unknown option --dryrun", "did you mean: --dry-run"),
        Slip("tapes export T --outptu x", "unknown option --outptu", "did you mean: --output"),
        Slip("sync --ful", "unknown option --ful", "did you mean: --full"),
        Slip("hash-only a.jpg --location-lvl none", "unknown option --location-lvl", "did you mean: --location-level"),
        // For a command group, the subcommand that has the option is suggested.
        Slip("uploads --last", "unknown option --last", "did you mean: mediactl uploads delete --last"),
        // An option that weakens security is suggested only for a typo, never to complete a prefix.
        Slip("upload a --all", "unknown option --all", "see mediactl upload --help"),
        Slip("upload a --allow", "unknown option --allow", "see mediactl upload --help"),
        Slip("upload a --allow-htp", "unknown option --allow-htp", "did you mean: --allow-http"),
        Slip("upload a --insecur", "unknown option --insecur", "see mediactl upload --help"),
        // Secrets are not accepted as arguments.
        Slip("upload a --password canary", passwordArgument, passwordHint),
        Slip("uploads delete 1 --password=canary", passwordArgument, passwordHint),
        Slip(
            "sync --api-key canary",
            "--api-key is not supported: other users can see arguments",
            "use --api-key-file FILE or MEDIACTL_API_KEY"
        ),
        // A suggestion is also made if another argument is missing.
        Slip("upload --files-form=list.txt", "unknown option --files-form", "did you mean: --files-from"),
        Slip("uploads delete --lats --yes", "unknown option --lats", "did you mean: --last"),
        Slip("sync download --misssing --output x", "unknown option --misssing", "did you mean: --missing"),
        // A word is not suggested in place of itself.
        Slip("uploads list --alll", "unknown option --alll", "did you mean: --all"),
        Slip("uploads status --all", "unknown option --all", "see mediactl uploads status --help"),
        Slip("uploads list -x", "unknown option -x", "see mediactl uploads list --help"),
        Slip("uploads list --xyzzy", "unknown option --xyzzy", "see mediactl uploads list --help"),
        // Values.
        Slip(
            "upload a --transport mutlipart",
            #"--transport: "mutlipart" is not valid; valid values: auto, multipart, tus"#,
            "did you mean: multipart"
        ),
        Slip(
            "tapes set T --orientation landscap",
            #"--orientation: "landscap" is not valid; valid values: portrait, landscape"#,
            "did you mean: landscape"
        ),
        Slip(
            "hash-only a.jpg --timestamp-level dya-only",
            #"--timestamp-level: "dya-only" is not valid; valid values: none, day-only, exact"#,
            "did you mean: day-only"
        ),
        Slip(
            "hash-only settings set loction none",
            #"<key>: "loction" is not valid; valid values: privacy-mode, location, timestamp, device"#,
            "did you mean: location"
        ),
        Slip(
            "tapes export T --format x",
            #"--format: "x" is not valid; valid values: m3u8, json, otio"#,
            "see mediactl tapes export --help"
        ),
        Slip("uploads show x", #"<id>: "x" is not a number"#, "see mediactl uploads show --help"),
        Slip("media show -1", #"<id>: "-1" is not a valid ID"#, "see mediactl media show --help"),
        Slip("uploads delete 1 -23", #"<id>: "-23" is not a valid ID"#, "see mediactl uploads delete --help"),
        Slip("uploads delete -23", #"<id>: "-23" is not a valid ID"#, "see mediactl uploads delete --help"),
        Slip("tapes show -1", "missing <tape>", "see mediactl tapes show --help"),
        // Files whose names begin with a dash. The parser takes the letter h for help, and checks the files first.
        Slip("upload a.mp4 -beach.mp4", "unknown option -beach.mp4", "for a file, write ./-beach.mp4"),
        Slip("tapes add S -h.mp4", "unknown option -h.mp4", "for a file, write ./-h.mp4"),
        Slip("upload -foo.mp4", "unknown option -foo.mp4", "for a file, write ./-foo.mp4"),
        Slip("upload a.mp4 -foo.mp4", "unknown option -foo.mp4", "for a file, write ./-foo.mp4"),
        Slip(
            "upload -j4",
            "specify files to upload, or use --files-from, --manifest or --watch",
            "see mediactl upload --help"
        ),
        // Standard output in place of a file to create.
        Slip("upload a.mp4 --report -", "the report of --report cannot be written to standard output", dash),
        Slip("doctor --junit -", "the report of --junit cannot be written to standard output", dash),
        Slip("smoke --junit -", "the report of --junit cannot be written to standard output", dash),
        Slip("hash-only export 5f0c --output -", "an export cannot be written to standard output", dash),
        Slip("hash-only export 5f0c --bundle -", "an export cannot be written to standard output", dash),
        Slip("store backup -", "a backup cannot be written to standard output", dash),
        Slip(
            "tapes export T --render -o -",
            "--render requires --output FILE",
            "see mediactl tapes export --help"
        ),
        // Standard input in place of a file to read.
        Slip("hash-only - --no-depth", "a capture cannot be read from standard input", dash),
        Slip("hash-only send -", "a capture cannot be read from standard input", dash),
        // Missing or excess arguments.
        Slip("uploads show", "missing <id>", "see mediactl uploads show --help"),
        Slip(
            "sync download --missing",
            "specify a directory with --output DIR",
            "see mediactl sync download --help"
        ),
        Slip("uploads list --server", "missing value for --server", "see mediactl uploads list --help"),
        Slip("uploads list more", #"unexpected argument "more""#, "see mediactl uploads list --help"),
        Slip("uploads list a b", #"2 unexpected arguments: "a", "b""#, "see mediactl uploads list --help"),
        Slip(
            "uploads list --json=x",
            #"the option --json does not take any value, but "x" was specified"#,
            "see mediactl uploads list --help"
        ),
    ]

    @Test(arguments: slips)
    func aTypoIsReportedWithASuggestion(slip: Slip) throws {
        let arguments = slip.line.split(separator: " ").map(String.init)
        let failure = ParseFailure.ofLine(arguments)
        let userFacingError = try #require(failure?.userFacingError, "it was accepted")
        #expect(userFacingError.message == slip.error)
        #expect(userFacingError.hint == slip.hint)
        #expect(userFacingError.exitCode == .usage)
    }

    @Test(
        arguments: [
            (["help", "uplods"], "did you mean: mediactl help uploads"),
            (["help", "uploads", "lst"], "did you mean: mediactl help uploads list"),
            (["help", "exit-code"], "did you mean: mediactl help exit-codes"),
            (["help", "uploads", "xyzzy"], "see mediactl help uploads"),
            (["uploads", "list", "--color", "alwyas"], "did you mean: always"),
            (["tapes", "list", "--config", "/dev/null", "--color", "x"], nil),
            (["hash-only", "setings"], "did you mean: mediactl hash-only settings"),
            (["hash-only", "setings", "show"], "did you mean: mediactl hash-only settings"),
            (["sync", "staus", "--help"], "did you mean: mediactl sync status"),
        ] as [([String], String?)]
    )
    func theProgramPrintsTheSuggestion(arguments: [String], hint: String?) async throws {
        let result = try await BinaryRunner().run(arguments)
        #expect(result.exitCode == 2 && result.output.isEmpty)
        #expect(result.errors.split(separator: "\n").count == (hint == nil ? 1 : 2))
        if let hint {
            #expect(result.errors.hasSuffix("mediactl: hint: \(hint)\n"), "\(result.errors)")
        }
    }

    @Test(arguments: [
        ["upload", "a.mp4", "-qh"], ["upload", "-help"], ["upload", "-h", "-beach.mp4"],
        ["upload", "--help", "-beach.mp4"],
    ])
    func helpAmongOtherFlagsIsPrinted(arguments: [String]) async throws {
        let result = try await BinaryRunner().run(arguments)
        #expect(result.exitCode == 0 && result.output.contains("USAGE: mediactl upload"), "\(result.errors)")
    }

    @Test(arguments: [["upload", "a.mp4", "-beach.mp4"], ["tapes", "add", "S", "-h.mp4"]])
    func aFileNameIsNotARequestForHelp(arguments: [String]) async throws {
        let result = try await BinaryRunner().run(arguments)
        #expect(result.exitCode == 2 && result.output.isEmpty, "\(result.output)")
    }

    /// Requesting help after a file prints the help, not an error about commands.
    @Test func aFileBeforeHelpIsNotACommand() async throws {
        let result = try await BinaryRunner().run(["hash-only", "photo.jpg", "--help"])
        #expect(result.exitCode == 0 && result.output.contains("--depth"))
    }
}

extension ParseFailure {
    /// Why a command line is refused; nil if it is accepted.
    static func ofLine(_ arguments: [String]) -> ParseFailure? {
        do {
            var command = try MediactlCommand.parseAsRoot(arguments)
            // Help is one of the parser's own commands, and responds by throwing.
            if !(command is any ContextCommand) { try command.run() }
            return nil
        } catch {
            return ParseFailure(error, arguments: arguments)
        }
    }
}
