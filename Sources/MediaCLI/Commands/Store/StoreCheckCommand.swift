internal import ArgumentParser
internal import MediaStore

/// `mediactl store check`
struct StoreCheckCommand: ContextCommand {
    static let schema = "mediactl.store-check/1"
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Verify the token store and count what it has. Changes nothing.",
        discussion: """
            Reads every row and every index. Exits with 12 if the store is damaged.

            Example:
              mediactl store check
            """
    )

    @OptionGroup(visibility: .hidden) var connection: NoConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let directory = try StoreSession.directory(settings, for: .reading)
        let check = try StoreCheck(reading: directory)
        guard check.findings.isEmpty else {
            throw StoreError(.corrupt, path: check.path, detail: check.findings.joined(separator: "; "))
        }
        let responses = try StoredResponse.count(in: directory)
        console.text(
            TextRenderer.check(
                check,
                responses: responses,
                now: console.context.now(),
                style: console.outputStyle
            )
        )
        if check.isEmpty { console.hintAtBackup(in: directory) }
        console.summary(JSONRenderer.check(check, responses: responses))
        return .success
    }
}
