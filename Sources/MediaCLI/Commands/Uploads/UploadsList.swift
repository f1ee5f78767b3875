internal import ArgumentParser
internal import MediaCore
internal import MediaStore

/// `mediactl uploads list`
struct UploadsList: ContextCommand {
    static let schema = "mediactl.uploads-list/1"
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List uploads that can be deleted, newest first. Sends nothing.",
        discussion: """
            A guest upload is listed with its last known state and the time of the last check; mediactl uploads status \
            updates it. A file that is linked to several events has one line per event.

            Examples:
              mediactl uploads list
              mediactl uploads list --org-name "The Band" --since 2026-05-01
              mediactl uploads list --all-hosts --json
            """
    )

    @OptionGroup var hosts: HostOptions
    @OptionGroup var filter: KeptUploadOptions

    @Flag(help: "Show the delete tokens. Anyone who has a token can delete the file.")
    var showToken = false

    @OptionGroup(visibility: .hidden) var connection: ConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let session = try await StoreSession.open(settings, for: .reading)
        let listing = UploadListing(
            console: console,
            store: session.store,
            host: hosts.scope,
            filter: filter,
            isTokenShown: showToken
        )
        let count = try listing.run()
        if count == 0 {
            let scope = hosts.scope.map { " for \(ErrorCatalogue.clean($0))" } ?? ""
            console.note(filter.isNarrowed ? "no stored upload matches\(scope)" : "no stored delete tokens\(scope)")
            if try session.store.isEmpty() { console.hintAtBackup(in: session.directory) }
        }
        console.summary(["items": JSONValue(count), "exit_code": 0])
        return .success
    }
}
