internal import ArgumentParser
internal import CaptureSubmission
internal import HashCapture

/// `mediactl hash-only settings set KEY VALUE`
struct HashOnlySettingsSet: ContextCommand {
    static let schema = "mediactl.hash-only-settings/1"
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Change how much captures tell.",
        discussion: """
            privacy-mode  on, off: whether --send-media is refused
            location      none, coarse (city and country), precise (coordinates)
            timestamp     none, day-only, exact
            device        none, model-only, full (with the versions of system and program)

            Examples:
              mediactl hash-only settings set privacy-mode on
              mediactl hash-only settings set timestamp day-only
            """
    )

    @Argument(help: ArgumentHelp("privacy-mode, location, timestamp or device.", valueName: "key"))
    var key: PrivacyKey

    @Argument(help: ArgumentHelp("One of the values above.", valueName: "value"))
    var value: String

    @Flag(help: "Only say what would be kept.")
    var dryRun = false

    @OptionGroup(visibility: .hidden) var connection: NoConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let before = try settings.privacySettings()
        var after = before
        try key.set(value, in: &after)
        if !dryRun, after != before {
            try after.write(to: settings.privacyFile)
        }
        console.text(TextRenderer.privacy(after, style: console.outputStyle))
        if dryRun {
            console.note("nothing was changed")
        }
        console.summary(
            JSONRenderer.privacy(after, settings.privacyFile, changed: !dryRun && after != before)
        )
        return console.exitCode(.success)
    }
}
