internal import ArgumentParser
internal import GigHive

struct MediaList: UploadServerCommand {
    static let schema = "mediactl.media-list/1"
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the files on a server.",
        discussion: """
            A file is shown once for each event it belongs to. With filters, only the events that match are shown.

            Examples:
              mediactl media list
              mediactl media list --event-date 2026-06-13 --type video
              mediactl media list --org-name "The Band" --json
            """
    )

    @OptionGroup(title: "Filters") var filters: MediaFilterOptions

    @Flag(help: "Also show size, checksum and upload time. This sends one request per file.")
    var details = false

    @OptionGroup(title: "Credentials") var credentials: CredentialOptions
    @OptionGroup(title: "Connection options") var connection: ConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let session = try await MediaSession.open(console, for: self)
        try console.requireOutput()
        let files = try await session.files(matching: filters.query, withDetails: details)
        if files.isEmpty {
            console.note(filters.query.isEmpty ? "no files on the server" : "no matching files on the server")
        }
        return console.list(files, on: session.server, withDetails: details, emptyCode: .success)
    }
}
