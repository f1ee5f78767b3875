internal import ArgumentParser
internal import MediaStore

/// `mediactl uploads clear`
struct UploadsClear: ContextCommand {
    static let schema = "mediactl.uploads-clear/1"
    static let configuration = CommandConfiguration(
        commandName: "clear",
        abstract: "Forget delete tokens for good. The files stay on the server and cannot be taken back.",
        discussion: """
            Examples:
              mediactl uploads clear --all-hosts --dry-run
              mediactl uploads clear --host media.example.org
            """
    )

    @Option(help: ArgumentHelp("Only tokens of this host (with :PORT when it is not the default).", valueName: "host"))
    var host: String?

    @Flag(help: "Tokens of all hosts.")
    var allHosts = false

    @Flag(help: "Do not ask.")
    var yes = false

    @Flag(help: "Only say what would be forgotten.")
    var dryRun = false

    @OptionGroup(visibility: .hidden) var connection: ConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard (host != nil) != allHosts else {
            throw ValidationError("Name one host with --host HOST, or all of them with --all-hosts.")
        }
    }

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let session = try await StoreSession.open(settings)
        let scope = host?.lowercased()
        let count = try session.store.tokens(host: scope, includeSuperseded: true).count
        if let scope, count == 0 {
            console.warning(try nothing(of: scope, in: session))
        }
        let whose = scope.map { "of \(ErrorCatalogue.clean($0))" } ?? "of all hosts"
        let what = "\(Formats.count(count, "delete token")) \(whose)"
        if dryRun {
            console.text(["\(what) would be forgotten for good"])
            return finish(console, removed: 0, matching: count, .success)
        }
        guard count > 0 || scope == nil else {
            return finish(console, removed: 0, matching: 0, .success)
        }
        let question = "This forgets \(what) for good; the files stay on the server and cannot be taken back from here."
        let confirmation = Confirmation(prompter: settings.prompter, isGiven: yes)
        guard try await confirmation.ask([question], "Forget them?", on: console) else {
            console.text(["nothing was forgotten"])
            return finish(console, removed: 0, matching: count, .failure)
        }
        let removed = try session.store.clear(host: scope)
        console.text(["forgot \(Formats.count(removed, "delete token")) \(whose)"])
        return finish(console, removed: removed, matching: count, .success)
    }

    /// A mistyped host must not pass for a clean slate.
    private func nothing(of scope: String, in session: StoreSession) throws -> String {
        let hosts = Set(try session.store.tokens(host: nil, includeSuperseded: true).map(\.host)).sorted()
        let known = hosts.map { ErrorCatalogue.clean($0) }.joined(separator: ", ")
        return "there is no delete token of \(ErrorCatalogue.clean(scope))"
            + (hosts.isEmpty ? ", and none of any other host" : "; there are some of: \(known)")
    }

    private func finish(_ console: Console, removed: Int, matching: Int, _ code: ExitCode) -> ExitCode {
        console.summary([
            "host": JSONValue(host?.lowercased()), "dry_run": .bool(dryRun), "matching": JSONValue(matching),
            "removed": JSONValue(removed), "exit_code": JSONRenderer.exitCode(code),
        ])
        return code
    }
}
