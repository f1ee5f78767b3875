internal import ArgumentParser
internal import CaptureSubmission
internal import HashCapture

/// `mediactl hash-only settings show`
struct HashOnlySettingsShow: ContextCommand {
    static let schema = "mediactl.hash-only-settings/1"
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show how much captures tell.",
        discussion: """
            Example:
              mediactl hash-only settings show
            """
    )

    @OptionGroup(visibility: .hidden) var connection: NoConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let privacy = try settings.privacySettings()
        console.text(TextRenderer.privacy(privacy, style: console.outputStyle))
        console.summary(JSONRenderer.privacy(privacy, settings.privacyFile, changed: false))
        return console.exitCode(.success)
    }
}
