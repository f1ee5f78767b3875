internal import ArgumentParser
internal import Foundation
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import Outcomes
internal import PhotoSync
internal import Synchronization

/// `mediactl sync` and `mediactl sync DIR`.
struct SyncDirectory: ServerCommand {
    static let schema = "mediactl.sync/1"
    static let configuration = CommandConfiguration(
        commandName: "two-way",
        abstract: "Synchronize a directory with the server: upload and download missing photos.",
        discussion: """
            Without a directory, only the index is updated, as with mediactl sync pull. With a directory, photos that \
            the server lacks are uploaded, and photos that this machine lacks are downloaded to DIR/YEAR/MONTH. \
            Nothing is deleted. The first run that has photos to upload or download prints them and prompts; without a \
            terminal, it requires --yes. If all recorded photos in DIR are missing, its disk may not be mounted, and \
            nothing is downloaded.

            Examples:
              mediactl sync Pictures --dry-run
              mediactl sync Pictures
              mediactl sync ./push
            """
    )

    @Argument("Directory with photos; without it, only the index is updated.", value: .directory)
    var directory: String?

    @OptionGroup var listing: ListingOptions

    @Flag(name: .shortAndLong, help: "Upload and download without confirmation in the first run.")
    var yes = false

    @Flag(name: .dryRun, help: "Show what would be listed, uploaded and downloaded, without doing it.")
    var dryRun = false

    @OptionGroup(title: "Credentials") var key: KeyOptions
    @OptionGroup(title: "Connection options") var connection: UploadConnectionOptions<ServerConnectionOptions>
    @OptionGroup(title: "Global options") var global: GlobalOptions

    /// If there is no directory, the records have the schema of `sync pull`.
    var recordSchema: String { directory == nil ? SyncPull.schema : Self.schema }

    func validate() throws {
        guard let directory else {
            try require(!yes, "--yes requires a directory.")
            try require(connection.rate.limitRate == nil, "--limit-rate requires a directory.")
            return
        }
        // A misspelled command is not a directory.
        let commands = Sync.configuration.subcommands.map { $0._commandName }
        let command =
            Spelling.nearest(to: directory, among: commands) ?? MistypedLine.synonym(of: directory, among: commands)
        try require(isDirectory(directory) || command == nil, "Unexpected argument '\(directory)'")
    }

    private func isDirectory(_ directory: String) -> Bool {
        FileWalk.isDirectory(RawArguments.bytes(of: directory))
    }

    func run(in console: Console) async throws -> ExitCode {
        guard let directory else {
            return try await listing.pull(
                console,
                key: key,
                connection: connection,
                global: global,
                isDryRun: dryRun
            )
        }
        let path = RawArguments.bytes(of: directory)
        guard FileWalk.isDirectory(path) else {
            throw UserFacingError.usage(
                "\(ErrorCatalog.quoted(directory)) is neither a directory nor a command of mediactl sync",
                hint: (try? SourceFile(path: path)) == nil
                    ? "create the directory, or see: mediactl sync --help"
                    : "to upload a file: mediactl sync push \(ShellWord.quoted(path))"
            )
        }
        let session = try await listing.session(console, global, connection)
        let run = DirectoryRun(
            console: console,
            session: session,
            account: try await session.account(key),
            directory: SyncedDirectory(directory, in: console.context),
            pull: listing.options(session, isDryRun: dryRun),
            isDryRun: dryRun,
            isConfirmed: yes
        )
        return try await run.run()
    }
}

/// The directory of `sync DIR`.
struct SyncedDirectory: Sendable {
    let path: [UInt8]
    /// The absolute path, as stored for copies.
    let absolutePath: [UInt8]
    /// Prefix that text output omits from paths in the directory.
    let base: [UInt8]

    init(_ argument: String, in context: CommandContext) {
        path = RawArguments.bytes(of: argument)
        base = path.first == UInt8(ascii: "/") ? [] : Array("\(context.workingDirectory)/".utf8)
        absolutePath = path.absolute(from: Array(context.workingDirectory.utf8))
    }
}

/// Pulls, pushes and downloads in one command.
struct DirectoryRun: Sendable {
    let console: Console
    let session: SyncSession
    let account: SyncAccount
    let directory: SyncedDirectory
    let pull: Pull.Options
    let isDryRun: Bool
    let isConfirmed: Bool

    private static let question = "Upload and download them?"

    /// The parts that have run, with their exit codes and summaries.
    final class Parts: Sendable {
        let summaries = Mutex<[String: JSONObject]>([:])
        let codes = Mutex<[ExitCode]>([])

        func add(_ code: ExitCode) { codes.withLock { $0.append(code) } }

        func number(_ key: String, of part: String) -> Int64 {
            guard case .integer(let number)? = summaries.withLock({ $0[part]?[key] }) else { return 0 }
            return number
        }
    }

    let parts = Parts()

    /// - Throws: `PhotoSyncError` for errors that end the whole run, `StoreError`, `UserFacingError`.
    func run() async throws -> ExitCode {
        let began = console.context.elapsed()
        guard isDryRun || account.deviceID != nil else { throw PhotoSyncError(.noDevice) }
        let isFirst = try !account.library.isSynced(directory.absolutePath, server: account.server)
        let confirmation = Confirmation(prompter: session.settings.prompter, isGiven: isConfirmed)
        try await list()
        var isAgreed = true
        var isConsentGiven = isConfirmed
        if console.mayContinue, isDryRun || (isFirst && !isConfirmed) {
            try await plan()
            let count = parts.number("planned", of: "push") + parts.number("planned", of: "download")
            if !isDryRun, console.mayContinue, count > 0 {
                if !session.settings.prompter.isAllowed { console.announce(explanation()) }
                isAgreed = try await confirmation.prompt(explanation(), Self.question, on: console)
                isConsentGiven = isAgreed
            }
        }
        if !isDryRun, isAgreed, console.mayContinue {
            forgetPlan()
            if isFirst, isConsentGiven { try account.library.setSynced(directory.absolutePath, server: account.server) }
            try await push(isDryRun: false)
            if console.mayContinue { try await download(isDryRun: false) }
        }
        if !isAgreed { console.text(["nothing was uploaded or downloaded"]) }
        return console.ending(isAgreed ? combinedCode : .failure)
            .runSummary(summary(isAgreed: isAgreed), after: console.context.elapsed() - began)
    }

    /// The exit code of the parts that failed; mixed results if the codes differ.
    private var combinedCode: ExitCode {
        let failures = Set(parts.codes.withLock { $0 }).subtracting([.success])
        return failures.count > 1 ? .partly : failures.first ?? .success
    }

    // MARK: Parts

    private func part(_ name: String, _ schema: String, isMuted: Bool = false) -> Console {
        Console(part: schema, of: console, isMuted: isMuted) { [parts] members in
            parts.summaries.withLock { $0[name] = members }
        }
    }

    private func list() async throws {
        let run = PullRun(
            console: part("pull", SyncPull.schema),
            account: account,
            options: pull,
            prompter: session.settings.prompter,
            isUnattended: isConfirmed
        )
        parts.add(try await run.run())
    }

    /// Prints the photos to upload and download. The messages of the parts are printed by the run that follows, unless
    /// there is no such run.
    private func plan() async throws {
        // Photos that are already present are not downloaded, even if no earlier run has recorded them.
        let present = Mutex<Set<String>>([])
        try await push(isDryRun: true) { item in
            if item.state == .present, let id = item.photoID { present.withLock { _ = $0.insert(id) } }
        }
        guard console.mayContinue else { return }
        guard try account.state()?.lastCompleteAt != nil else {
            console.note("downloads are shown after the first mediactl sync")
            return
        }
        try await download(isDryRun: true) { id in present.withLock { $0.contains(id) } }
    }

    /// Discards the exit codes and counts of the plan, which differ from those of the run.
    private func forgetPlan() {
        parts.codes.withLock { $0 = [] }
        parts.summaries.withLock { $0 = $0.filter { $0.key == "pull" } }
    }

    private func push(isDryRun: Bool, _ onItem: @escaping @Sendable (PushItem) -> Void = { _ in }) async throws {
        let console = part("push", SyncPush.schema, isMuted: isDryRun && !self.isDryRun)
        do {
            // Confirming the run does not confirm the ownership test.
            let prompting = Confirmation(prompter: session.settings.prompter, isGiven: false)
            let gate = OwnershipGate(console: console, account: account, confirmation: prompting)
            if isDryRun { try gate.warn() } else { try await gate.pass() }
            let run = PushRun(
                console: console,
                account: account,
                hashes: session.settings.hashCache(),
                options: Push.Options(isDryRun: isDryRun, retry: session.retryPolicy),
                onItem: onItem
            )
            parts.add(try await run.run([directory.path]))
        } catch {
            // Photos on the server can still be downloaded.
            var userFacingError = ErrorCatalog.userFacingError(of: error)
            guard userFacingError.code == OutcomeCode.ownershipDefect.rawValue else { throw error }
            userFacingError.hint =
                "keep all local originals; to test the server again: mediactl sync push --test-ownership "
                + ShellWord.quoted(directory.path)
            console.error(userFacingError)
            parts.add(userFacingError.exitCode)
        }
    }

    private func download(
        isDryRun: Bool,
        isOmitted: @escaping @Sendable (String) -> Bool = { _ in false }
    ) async throws {
        try await requireCopies()
        let run = DownloadRun(
            console: part("download", SyncDownload.schema, isMuted: isDryRun && !self.isDryRun),
            account: account,
            hashes: session.settings.hashCache(),
            options: Download.Options(isDryRun: isDryRun, retry: session.retryPolicy),
            base: directory.base,
            isOmitted: isOmitted
        )
        parts.add(try await run.run(.missing, to: directory.absolutePath))
    }

    /// Refuses to download the whole library into the mount point of a disk that is probably not mounted: none of the
    /// recorded copies exists, and the push has not found any photos.
    private func requireCopies() async throws {
        let path = directory.absolutePath
        let ignored = parts.number("skipped", of: "push") + parts.number("excluded", of: "push")
        guard parts.number("items", of: "push") <= ignored,
            try await BlockingWork.run({ [account] () throws(PhotoSyncError) in try account.hasLostCopies(in: path) })
        else { return }
        throw UserFacingError(
            .targetUnusable,
            "all photos recorded in \(ErrorCatalog.quoted(directory.path)) are missing; nothing was downloaded",
            hint: "if it is on another disk, mount it; otherwise download them again with: "
                + "mediactl sync download --missing --output \(ShellWord.quoted(directory.path))"
        )
    }

    // MARK: Summary

    private func explanation() -> [String] {
        let (up, down) = (parts.number("planned", of: "push"), parts.number("planned", of: "download"))
        return [
            "This is the first sync of \(ErrorCatalog.quoted(directory.path)) with "
                + "\(ErrorCatalog.clean(account.server)):",
            "\(Formats.count(up, "photo")) to upload, \(Formats.count(down, "photo")) to download. Nothing is deleted.",
        ]
    }

    private func summary(isAgreed: Bool) -> JSONObject {
        // The summary of a part, without the members shared by all parts.
        func counts(_ part: String) -> JSONValue {
            guard let members = parts.summaries.withLock({ $0[part] }) else { return .null }
            let common = ["server", "dry_run", "duration_ms", "signal"]
            return .object(JSONObject(members.filter { !common.contains($0.name) }))
        }
        return [
            "server": .string(account.server), "directory": .path(directory.absolutePath),
            "dry_run": .bool(isDryRun), "confirmed": .bool(isAgreed),
            "pull": counts("pull"), "push": counts("push"), "download": counts("download"),
        ]
    }
}
