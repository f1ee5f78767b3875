internal import ArgumentParser
internal import MediaStore
internal import PhotoSync

/// `mediactl sync status`; the server's answer is called SyncStatus.
struct SyncStatusCommand: ContextCommand {
    static let schema = "mediactl.sync-status/1"
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show what server and index have, when they last met, and whether the server is fit.",
        discussion: """
            A server that does not answer is told, with its exit code, beside what the index knows.

            Examples:
              mediactl sync status
              mediactl sync status --json | jq .server_counts
            """
    )

    @OptionGroup(title: "Credentials") var key: KeyOptions
    @OptionGroup(title: "Connection options") var connection: PhotoConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let session = try await SyncSession.open(console, global, connection)
        let account = try await session.account(key)
        try console.requireOutput()
        let report = try await console.context.interruption.cancelling { try await SyncReport.make(of: account) }
        let failure = report.failure.map { ErrorCatalogue.diagnosis(of: $0) }
        console.text(
            TextRenderer.report(
                report,
                account,
                name: session.login?.deviceName,
                now: console.context.now(),
                style: console.outputStyle
            )
        )
        if report.advisesPull {
            console.note(
                "server and index differ; mediactl sync brings what is new, mediactl sync --full also finds what was "
                    + "deleted or claimed elsewhere"
            )
        }
        if let failure {
            console.error(failure)
        }
        let code = console.exitCode(failure?.exitCode ?? .success)
        console.summary(JSONRenderer.report(report, account, name: session.login?.deviceName, code))
        return code
    }
}
