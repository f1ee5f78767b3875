internal import ArgumentParser
internal import MediaCore
internal import MediaStore

struct UploadsClear: ContextCommand {
    static let schema = "mediactl.uploads-clear/1"
    static let configuration = CommandConfiguration(
        commandName: "clear",
        abstract: "Remove stored delete tokens. The files stay on the server and can no longer be deleted from here.",
        discussion: """
            The records of deleted tokens are also removed, so mediactl uploads import and mediactl store restore can add \
            those tokens again. Kept responses stay on this machine, with the tokens in them: see mediactl uploads \
            responses.

            Examples:
              mediactl uploads clear --all --dry-run
              mediactl uploads clear --server https://media.example.org
            """
    )

    @Flag(name: .shortAndLong, help: "Remove without confirmation.")
    var yes = false

    @Flag(name: .dryRun, help: "Show what would be removed, without removing it.")
    var dryRun = false

    @OptionGroup(title: "Server") var connection: ServersOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(connection.isOne || connection.isAll, "Specify --server URL or --all.")
    }

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let scope = try connection.scope(settings)
        let session = try await StoreSession.open(settings)
        let count = try session.store.tokenCount(host: scope)
        if let scope, count == 0 {
            console.warning(try nothing(of: scope, in: session))
        }
        let whose = scope.map { "for \(ErrorCatalog.clean($0))" } ?? "for all servers"
        let hasRecordsOnly = try count == 0 && session.store.hasRecords(host: scope)
        let what = Self.name(count, hasRecordsOnly) + " \(whose)"
        guard count > 0 || hasRecordsOnly || scope == nil else {
            return finish(console, scope, removed: 0, matching: 0, .success)
        }
        if dryRun {
            console.text(["\(what) would be removed"])
            return finish(console, scope, removed: 0, matching: count, .success)
        }
        let servers = scope == nil ? "servers" : "server"
        let consequence = "; the files stay on the \(servers) and can no longer be deleted from here"
        let announcement = "This removes \(what)\(hasRecordsOnly ? "" : consequence)."
        let question = hasRecordsOnly ? "Remove the records?" : "Remove the tokens?"
        let confirmation = Confirmation(prompter: settings.prompter, isGiven: yes)
        guard try await confirmation.prompt([announcement], question, on: console) else {
            console.text(["nothing was removed"])
            return finish(console, scope, removed: 0, matching: count, .failure)
        }
        let removed = try session.store.clear(host: scope)
        console.text(["removed \(Self.name(removed, hasRecordsOnly)) \(whose)"])
        return finish(console, scope, removed: removed, matching: count, .success)
    }

    private static func name(_ count: Int, _ hasRecordsOnly: Bool) -> String {
        hasRecordsOnly && count == 0
            ? "the records of deleted tokens and finished uploads" : Formats.count(count, "delete token")
    }

    /// The hosts with tokens are listed: a mistyped host must not look like success.
    private func nothing(of scope: String, in session: StoreSession) throws -> String {
        let hosts = try session.store.tokenHosts()
        let known = hosts.map { ErrorCatalog.clean($0) }.joined(separator: ", ")
        return "no stored delete tokens for \(ErrorCatalog.clean(scope))"
            + (hosts.isEmpty ? " or any other host" : "; hosts with stored tokens: \(known)")
    }

    private func finish(_ console: Console, _ scope: String?, removed: Int, matching: Int, _ code: ExitCode) -> ExitCode
    {
        console.ending(code).summary([
            "host": JSONValue(scope), "dry_run": .bool(dryRun), "matching": JSONValue(matching),
            "removed": JSONValue(removed),
        ])
    }
}
