internal import ArgumentParser
internal import MediaCore
internal import MediaStore

struct UploadsExport: ServerFilterCommand {
    static let schema = "mediactl.uploads-export/1"
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write the delete tokens to a file, as a backup or for another machine.",
        discussion: """
            The file has one JSON object per line. Anyone who has it can delete the uploads; keep it secret. mediactl \
            uploads import reads it.

            Example:
              mediactl uploads export --output tokens.jsonl
            """
    )

    @Option(
        "File to create; an existing file is never overwritten; - for standard output.",
        value: .file,
        name: .shortAndLong
    )
    var output: String?

    @Flag(help: "Allow writing tokens to standard output.")
    var showToken = false

    @OptionGroup(title: "Server") var connection: ServersOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(output != "", "--output: the path is empty.")
        try require(
            !showToken || output == nil || output == "-",
            "--show-token applies only to standard output: omit it with --output FILE."
        )
    }

    func run(in console: Console) async throws -> ExitCode {
        let file = output == "-" ? nil : output
        if file == nil {
            try requireConsent(console)
        }
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let scope = try connection.scope(settings)
        let session = try await StoreSession.open(settings, for: .reading)
        // In order of insertion, which an import preserves: if two tokens have the same time, the later one is used.
        var pages = TokenPages(of: session.store, host: scope, includesSuperseded: true, order: .oldestFirst)
        var count = 0
        let nextBytes = { () throws -> [UInt8]? in
            guard let entries = try pages.next()?.entries else { return nil }
            if let code = console.context.output.failure, file == nil { throw Unwritable(code: code) }
            count += entries.count
            return entries.flatMap { TokenExport.line($0) + [UInt8(ascii: "\n")] }
        }
        if let output = file {
            try await ExportFile.write(
                to: RawArguments.bytes(of: output),
                until: console.context.interruption,
                nextBytes
            )
        } else {
            try print(nextBytes, console)
        }
        if count == 0 {
            console.warning(
                "no stored delete tokens" + (scope.map { " for \(ErrorCatalog.clean($0))" } ?? "")
            )
            if try session.store.isEmpty() { console.hintAtBackup(in: session.directory) }
        }
        guard let output = file else { return .success }
        console.text(["exported \(Formats.count(count, "delete token")) to \(TerminalText.escaped(output))"])
        return console.finish(["output": .string(output), "host": JSONValue(scope), "items": JSONValue(count)])
    }

    /// Writing to standard output failed; the console reports the reason.
    private struct Unwritable: Error {
        let code: Int32
    }

    private func print(_ nextBytes: () throws -> [UInt8]?, _ console: Console) throws {
        do {
            while let bytes = try nextBytes() {
                console.screen.above { console.context.output.write(bytes) }
            }
        } catch is Unwritable {}
    }

    /// Standard output may be visible on a terminal or stored in a log.
    private func requireConsent(_ console: Console) throws(UserFacingError) {
        // --output - is as explicit as the flag.
        guard showToken || output == "-" else {
            throw .usage(
                "an export contains delete tokens, and standard output may be visible or logged",
                hint: "write to a file with --output FILE, or use --output - for standard output"
            )
        }
        guard !console.isJSON else {
            throw .usage(
                "--json cannot be combined with an export to standard output",
                hint: "write to a file with --output FILE, or omit --json: the export already consists of JSON lines"
            )
        }
    }
}
