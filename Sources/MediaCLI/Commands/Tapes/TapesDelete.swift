internal import ArgumentParser
internal import MediaStore

/// `mediactl tapes delete TAPE… | --all`
struct TapesDelete: ContextCommand {
    static let schema = "mediactl.tapes-delete/1"
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract:
            "Delete tapes. Their albums stay, unless features.deleteAssociatedAlbum is set; originals always stay.",
        discussion: """
            With features.deleteAssociatedAlbum: true the albums go too. Nobody else's things in them do.

            Examples:
              mediactl tapes delete Summer
              mediactl tapes delete 5f0c 81d2 --yes
            """
    )

    @Argument(help: TapeHelp.tape)
    var tapes: [String] = []

    @Flag(help: "Delete all tapes.")
    var all = false

    @Flag(help: "Keep the albums this time, whatever the settings say.")
    var keepAlbum = false

    @Flag(help: "Do not ask.")
    var yes = false

    @Flag(help: "Only say what would be deleted.")
    var dryRun = false

    @OptionGroup(title: "Library options") var connection: TapeConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard tapes.isEmpty == all else {
            throw ValidationError(all ? "--all and names exclude each other." : "Name a tape, or use --all.")
        }
    }

    func run(in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection)
        let confirmation = Confirmation(prompter: session.settings.prompter, isGiven: yes)
        let chosen = all ? try session.store.tapeSummaries().map(\.tape) : try tapes.map { try session.tape($0) }
        let targets = chosen.uniqued { $0.id }
        if !dryRun, !targets.isEmpty {
            try confirmation.requireSomebody(for: targets.count > 1 ? "Delete them?" : "Delete it?")
        }
        // No library is asked as long as the albums stay (rule R11).
        let callsLibrary = session.settings.settings.deleteAssociatedAlbum.value && !keepAlbum && !dryRun
        let run = TapeDeletionRun(
            session: session,
            service: callsLibrary ? try await session.service(connection.key) : try session.localService(),
            keepsAlbums: keepAlbum,
            confirmation: confirmation,
            isDryRun: dryRun
        )
        return try await run.run(targets)
    }
}
