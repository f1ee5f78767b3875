internal import ArgumentParser
internal import GigHive

struct MediaFind: UploadServerCommand {
    static let schema = "mediactl.media-find/1"
    static let configuration = CommandConfiguration(
        commandName: "find",
        abstract: "Find files on a server. Exits with 5 if none matches.",
        discussion: """
            Examples:
              mediactl media find --file clip.mp4
              mediactl media find --event-date 2026-06-13 --label "Encore"
            """
    )

    @Option("Only the file with the content of this local file.", value: .file("path"))
    var file: String?

    @OptionGroup(title: "Filters") var filters: MediaFilterOptions

    @Flag(help: "Also show size, checksum and upload time. This sends one request per file.")
    var details = false

    @OptionGroup(title: "Credentials") var credentials: CredentialOptions
    @OptionGroup(title: "Connection options") var connection: ConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(file == nil || filters.sha256 == nil, "--file cannot be combined with --sha256.")
        try require(
            file != nil || !filters.query.isEmpty,
            "Specify --file or at least one filter, or use: mediactl media list."
        )
    }

    func run(in console: Console) async throws -> ExitCode {
        var query = filters.query
        if let file {
            query.checksumSHA256 = try await LocalChecksum.hex(of: RawArguments.bytes(of: file))
        }
        let session = try await MediaSession.open(console, for: self)
        try console.requireOutput()
        let files = try await session.files(matching: query, withDetails: details)
        if files.isEmpty {
            console.note("no matching files on the server")
        }
        return console.list(files, on: session.server, withDetails: details, emptyCode: .notFound)
    }
}
