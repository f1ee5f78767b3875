internal import ArgumentParser
internal import MediaStore

/// `mediactl store repair`
struct StoreRepairCommand: ContextCommand {
    static let schema = "mediactl.store-repair/1"
    static let configuration = CommandConfiguration(
        commandName: "repair",
        abstract: "Salvage the rows of a damaged token store into a new one.",
        discussion: """
            The damaged files are kept beside the new store, as tokens.sqlite.damaged-TIME; remove them when nothing is \
            missing. A symbolic link or a directory in place of the store is kept in the same way and not read. Tokens \
            that could not be salvaged are listed, as far as they are known; mediactl store restore gets \
            them from a backup. Exits with 3 if tokens are missing or nothing could be salvaged.

            Examples:
              mediactl store repair --dry-run
              mediactl store repair
            """
    )

    @Flag(help: "Show what would be salvaged, without changing the store.")
    var dryRun = false

    @OptionGroup(visibility: .hidden) var connection: NoConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let directory = try DataDirectory.openForRepair(settings.locations.dataDirectory)
        let report = try StoreRepair(in: directory).run(isDryRun: dryRun)
        for token in report?.lost ?? [] {
            console.record(.item, JSONRenderer.lost(token))
        }
        console.text(TextRenderer.repair(report, isDryRun: dryRun))
        if let report, report.isIncomplete || report.tokens == 0 { console.hintAtBackup(in: directory) }
        let code: ExitCode = report?.isIncomplete == true ? .partly : .success
        console.summary(JSONRenderer.repair(report, isDryRun: dryRun, code))
        return code
    }
}
