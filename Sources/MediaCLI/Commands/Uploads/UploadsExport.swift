internal import ArgumentParser
internal import MediaFiles
internal import MediaStore

/// `mediactl uploads export`
struct UploadsExport: ContextCommand {
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
        name: .shortAndLong,
        help: ArgumentHelp(
            "Write to this new file, never overwriting an existing one; - for standard output.",
            valueName: "file"
        ),
        completion: .file()
    )
    var output: String?

    @OptionGroup var hosts: HostOptions

    @Flag(help: "Allow writing tokens to standard output.")
    var showToken = false

    @OptionGroup(visibility: .hidden) var connection: ConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard output != "" else { throw ValidationError("--output: an empty path.") }
    }

    func run(in console: Console) async throws -> ExitCode {
        let file = output == "-" ? nil : output
        if file == nil {
            try requireConsent(console)
        }
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let session = try await StoreSession.open(settings)
        let entries = try session.store.tokens(host: hosts.scope, includeSuperseded: true)
        if entries.isEmpty {
            console.warning(
                "no stored delete tokens" + (hosts.scope.map { " of \(ErrorCatalogue.clean($0))" } ?? "")
            )
        }
        // In the order they came, which an import repeats: of two of one moment the later one is primary.
        let lines = entries.reversed().map(TokenExport.line)
        guard let output = file else {
            console.text(lines.map { String(decoding: $0, as: UTF8.self) })
            return .success
        }
        try await ExportFile.write(lines, to: RawArguments.bytes(of: output), until: console.context.interruption)
        console.text(["exported \(Formats.count(entries.count, "delete token")) to \(TerminalText.escaped(output))"])
        console.summary([
            "output": .string(output), "host": JSONValue(hosts.scope), "items": JSONValue(entries.count),
            "exit_code": 0,
        ])
        return .success
    }

    /// Standard output may be a terminal that somebody sees, or a log that many read.
    private func requireConsent(_ console: Console) throws(Diagnosis) {
        // --output - is as explicit as the flag.
        guard showToken || output == "-" else {
            throw .usage(
                "an export contains delete tokens, and standard output may be visible or logged",
                hint: "write to a file with --output FILE, or use --output - for standard output"
            )
        }
        guard !console.isJSON else {
            throw .usage(
                "an export on standard output leaves no room for the records of --json",
                hint: "name a file with --output FILE, or leave --json out: the export is JSON lines already"
            )
        }
    }
}
