internal import ArgumentParser
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import PhotoSync
internal import Synchronization

struct SyncPush: ServerCommand {
    static let schema = "mediactl.sync-push/1"
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Upload missing photos and verify that you own them.",
        discussion: """
            Directories are searched recursively; files that are not photos are skipped, and videos, raw files and other \
            photos among them are reported with counts. Local files are never modified.
            A glob without a slash matches file names; a glob with a slash matches paths relative to the directory. \
            Exclusions take precedence over inclusions, regardless of order. Hidden directories, trash, thumbnails and \
            system files are excluded by default; --dry-run lists them.
            Photos that were deleted on the server are not uploaded again. Files that changed since they were uploaded \
            or downloaded may be damaged, and are uploaded only after confirmation.

            Examples:
              mediactl sync push Pictures --exclude "*.tmp.jpg"
              mediactl sync push Pictures --dry-run
              mediactl sync push Pictures/2024 --restore
            """
    )

    @Argument("Photos, and directories with photos.", value: .file("path"))
    var paths: [String]

    @Option("Include only matching files in directories; may be repeated.", value: "glob")
    var include: [String] = []

    @Option("Exclude matching files in directories; may be repeated.", value: "glob")
    var exclude: [String] = []

    @Flag(help: "Include hidden directories, trash, thumbnails and system files.")
    var noDefaultExcludes = false

    @Flag(help: "Upload files that changed since they were uploaded or downloaded, as new photos.")
    var changed = false

    @Flag(
        help: """
            Upload photos again if they were deleted on the server. Photos with an accepted deletion are uploaded only \
            if they are specified as files.
            """
    )
    var restore = false
    @Flag(help: "Upload one photo to retest a server that did not record earlier uploads as yours.")
    var testOwnership = false

    @Flag(name: .dryRun, help: "Show what would be uploaded, without uploading it. The server is queried.")
    var dryRun = false

    @Option("Number of parallel uploads, 1 to 16 (default: 2).", value: "n", name: .jobs)
    var jobs: String?

    @OptionGroup(title: "Credentials") var key: KeyOptions
    @OptionGroup(title: "Connection options") var connection: UploadConnectionOptions<ServerConnectionOptions>
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(!paths.contains(""), "The path is empty.")
        try require(!testOwnership || !dryRun, "--test-ownership cannot be combined with --dry-run.")
    }

    func run(in console: Console) async throws -> ExitCode {
        let filter = try PathFilter.reading(includes: include, excludes: exclude)
        // The setting with the same name is for uploads.
        let jobs = try FlagValue.read(jobs, "--jobs", SettingValue.jobs) ?? 2
        let session = try await SyncSession.open(console, global, connection).waiting()
        let account = try await session.account(key)
        let confirmation = Confirmation(prompter: session.settings.prompter, isGiven: testOwnership)
        let gate = OwnershipGate(console: console, account: account, confirmation: confirmation)
        if dryRun { try gate.warn() } else { try await gate.pass() }
        let run = PushRun(
            console: console,
            account: account,
            hashes: session.settings.hashCache(),
            options: Push.Options(
                filter: filter,
                jobs: jobs,
                isDryRun: dryRun,
                retry: session.retryPolicy,
                sendsChanged: changed,
                restores: restore,
                usesDefaultExcludes: !noDefaultExcludes
            ),
            prompter: session.settings.prompter
        )
        return try await run.run(paths.map { RawArguments.bytes(of: $0) })
    }
}

/// Uploads missing photos and reports the result of each.
struct PushRun: Sendable {
    let console: Console
    let account: SyncAccount
    let hashes: HashCache
    let options: Push.Options
    /// Prompts before uploading changed files; if nil, they are only reported.
    var prompter: Prompter?
    var onItem: @Sendable (PushItem) -> Void = { _ in }

    /// - Throws: `PhotoSyncError` for errors that end the whole run, `UserFacingError`.
    func run(_ paths: [[UInt8]]) async throws -> ExitCode {
        try console.start([
            "server": .string(account.server), "device_id": JSONValue(account.deviceID),
            "dry_run": .bool(options.isDryRun), "jobs": JSONValue(options.jobs),
        ])
        let run = LongRun<PushProgress>(console)
        let statistics = PushStatistics()
        return try await console.context.interruption.handling({ _ in }) {
            do {
                let result = try await work(paths, run, statistics)
                let isStopped = result == nil || statistics.items.count(.cancelled) > 0
                let ending = console.ending(statistics.items.exitCode(isStopped: isStopped))
                conclude(statistics, paths)
                let bytesSent = result ?? run.display.latest?.bytesSent
                return ending.runSummary(summary(statistics, bytesSent), after: run.display.elapsed)
            } catch {
                warn(statistics, paths)
                throw error
            }
        }
    }

    /// Uploads new photos and, after confirmation, those that changed since they were uploaded.
    ///
    /// - Returns: The number of bytes sent; nil if the run was stopped.
    private func work(_ paths: [[UInt8]], _ run: LongRun<PushProgress>, _ statistics: PushStatistics) async throws
        -> Int64?
    {
        // Files that are reported only after the prompt.
        let held = Mutex<[PushItem]>([])
        let isPrompting = prompter?.isAllowed == true && !options.isDryRun
        let first: Int64?
        do {
            first = try await upload(paths, options, run) { item in
                if isPrompting, item.state == .changed {
                    held.withLock { $0.append(item) }
                } else {
                    report(item, statistics)
                }
            }
        } catch {
            for item in held.withLock({ $0 }) { report(item, statistics) }
            throw error
        }
        let changed = held.withLock { $0 }
        guard let first, !changed.isEmpty, await confirms(changed) else {
            for item in changed { report(item, statistics) }
            return first
        }
        var options = options
        options.sendsChanged = true
        return try await upload(changed.map(\.path), options, run) { report($0, statistics) }.map { $0 + first }
    }

    private func upload(
        _ paths: [[UInt8]],
        _ options: Push.Options,
        _ run: LongRun<PushProgress>,
        reporting report: @escaping @Sendable (PushItem) -> Void
    ) async throws -> Int64? {
        let push = Push(account, hashes: hashes, options: options)
        let waiting = LockNotice(console, "uploading photos to this server")
        return try await run.run(reporting: report) { dependencies in
            try await push.run(paths, control: dependencies.control, onItem: dependencies.onItem) {
                waiting.note($0.waitsForProcess)
                dependencies.progress($0)
            }
        }?.bytesSent
    }

    private func confirms(_ changed: [PushItem]) async -> Bool {
        guard let prompter else { return false }
        let named = changed.prefix(Self.mostNamed).map { "  " + TerminalText.escaped($0.path) }
        let rest = changed.count - named.count
        console.announce(
            ["\(Formats.count(changed.count, "file")) changed since upload: edited or damaged?"] + named
                + (rest > 0 ? ["  and \(rest) more"] : [])
        )
        let question = "Upload \(changed.count == 1 ? "it as a new photo" : "them as new photos")?"
        return await console.context.interruption.prompting { await prompter.confirm(question) }
    }

    private static let mostNamed = 10

    private func report(_ item: PushItem, _ statistics: PushStatistics) {
        statistics.items.add(item.state, item.exitCode)
        statistics.leftBehind.add(item)
        onItem(item)
        let isShown =
            switch item.state {
            case .present, .skipped, .forgotten: console.verbosity > 0
            case .deleted, .excluded: console.verbosity > 0 || options.isDryRun
            default: true
            }
        console.result(item.json, isShown ? item.text(console.outputStyle) : [])
        // All changed files share one warning at the end. The error that ends the run is printed once, by the run.
        guard let userFacingError = item.userFacingError, item.state != .cancelled, item.state != .changed,
            !item.endsRun
        else { return }
        if item.exitCode != .success {
            console.error(userFacingError.naming(item.path))
        } else if item.error?.code == .emptyFile {
            console.warning(userFacingError.naming(item.path).message)
        }
    }

    private func conclude(_ statistics: PushStatistics, _ paths: [[UInt8]]) {
        let words: [(state: PushItem.State, words: String)] = [
            (.uploaded, "uploaded"), (.planned, "to be uploaded"),
            (.duplicate, statistics.items.count(.duplicate) == 1 ? "duplicate" : "duplicates"),
            (.present, "already on the server"),
            (.unconfirmed, "not confirmed"), (.foreign, "on the server, but not yours"),
            (.changed, "changed since upload"),
            (.deleted, "deleted on the server earlier"), (.forgotten, "with an accepted deletion"),
            (.skipped, "skipped"),
            (.excluded, "excluded"), (.failed, "failed"), (.cancelled, "canceled"),
        ]
        let counts = statistics.items.words(words)
        console.note(counts.isEmpty ? "nothing to push" : counts)
        if let note = statistics.leftBehind.note { console.note(note) }
        if let note = statistics.leftBehind.irregularNote { console.note(note) }
        warn(statistics, paths)
    }

    /// Warns about files that are not backed up although nothing failed. The warning is printed even with `-q`, and
    /// even if the run failed.
    private func warn(_ statistics: PushStatistics, _ paths: [[UInt8]]) {
        if statistics.items.count(.unconfirmed) + statistics.items.count(.foreign) > 0 {
            console.warning("keep the local originals of photos that are not confirmed, or not yours on the server")
        }
        let (changed, deleted) = (statistics.items.count(.changed), statistics.items.count(.deleted))
        if changed > 0 {
            console.warning(
                "\(Formats.count(changed, "file")) changed since upload and not uploaded: edited or damaged?",
                hint: "to upload \(changed == 1 ? "it as a new photo" : "them as new photos"): "
                    + command("push --changed", paths)
            )
        }
        if deleted > 0 {
            console.warning(
                "\(Formats.count(deleted, "photo")) not uploaded again: deleted on the server earlier",
                hint: "to upload \(deleted == 1 ? "it" : "them") again: \(command("push --restore", paths)); "
                    + "to accept the deletion: \(forgetCommand(paths))"
            )
        }
        if let warning = statistics.leftBehind.warning { console.warning(warning) }
        let links = statistics.leftBehind.linkedDirectories
        if let first = links.first {
            console.warning(
                "skipped \(links.count == 1 ? "1 linked directory" : "\(links.count) linked directories"): "
                    + ErrorCatalog.quoted(first) + (links.count > 1 ? " and \(links.count - 1) more" : ""),
                hint: "links to directories are not followed; to upload the photos: \(command("push", links))"
            )
        }
    }

    /// A command that works when pasted, unless it would be too long, and selects the same files.
    private func command(_ words: String, _ paths: [[UInt8]]) -> String {
        let selection =
            options.filter.includes.map { "--include=" + ShellWord.quoted($0.text) }
            + options.filter.excludes.map { "--exclude=" + ShellWord.quoted($0.text) }
            + (options.usesDefaultExcludes ? [] : ["--no-default-excludes"])
        return Self.command([words] + selection, paths)
    }

    /// The command omits the paths if the push was filtered: otherwise, the deletions of excluded files would also be
    /// accepted.
    private func forgetCommand(_ paths: [[UInt8]]) -> String {
        options.filter == PathFilter() ? Self.command(["forget"], paths) : "mediactl sync forget PATH"
    }

    private static func command(_ words: [String], _ paths: [[UInt8]]) -> String {
        let named = paths.count > Continuation.maximumPaths ? ["PATH"] : paths.map(ShellWord.quoted)
        let isOptionLike = named.contains { $0.hasPrefix("-") }
        return (["mediactl sync"] + words + (isOptionLike ? ["--"] : []) + named).joined(separator: " ")
    }

    private func summary(_ statistics: PushStatistics, _ bytesSent: Int64?) -> JSONObject {
        [
            "server": .string(account.server), "dry_run": .bool(options.isDryRun),
            "items": JSONValue(statistics.items.total),
        ] + statistics.items.json + [
            "left_behind": statistics.leftBehind.json, "bytes_sent": .integer(bytesSent ?? 0),
        ]
    }
}

/// The results of a push.
private struct PushStatistics: Sendable {
    let items = ItemStatistics<PushItem.State>()
    let leftBehind = LeftBehind()
}

extension PushItem: RunItem {
    var userFacingError: UserFacingError? {
        if let error {
            var userFacingError = ErrorCatalog.userFacingError(of: error)
            // The error from the listing after the upload.
            if state == .unconfirmed, error.code != .notOwned, error.code != .ownershipDefect {
                let reason = error.code == .cancelled ? "" : ": " + userFacingError.message
                userFacingError.message =
                    "\(ErrorCatalog.quoted(path)) was uploaded, but not verified in the server's listing\(reason)"
                userFacingError.hint = "push it again, and keep the local original until then"
            }
            return userFacingError
        }
        switch state {
        case .unconfirmed:
            return UserFacingError(
                .notConfirmed,
                "\(ErrorCatalog.quoted(path)) was uploaded, but the server does not list it as yours",
                hint: "push it again later, and keep the local original until then",
                isRetryable: true
            )
        case .foreign: return ErrorCatalog.userFacingError(of: PhotoSyncError(.notOwned, path: path))
        default: return nil
        }
    }

    /// The exit code for this file alone. It is a success only if no error is printed and the state of the file is not
    /// a failure. A deletion on the server counts as intended.
    var exitCode: ExitCode {
        switch state {
        case .uploaded, .present, .duplicate, .planned, .deleted, .forgotten, .skipped, .excluded: .success
        case .unconfirmed, .foreign: userFacingError?.exitCode ?? .failure
        case .changed, .failed: ExitCode(of: error) ?? .failure
        case .cancelled: ExitCode(of: error) ?? .interrupt
        }
    }

    var json: JSONObject {
        [
            "path": .path(path), "state": .string(state.rawValue), "size_bytes": JSONValue(sizeBytes),
            "checksum_sha256": JSONValue(sha256), "photo_id": JSONValue(photoID),
            "taken_at": JSONValue(takenAt?.text), "bytes_sent": .integer(bytesSent),
            "attempts": JSONValue(attempts), "exit_code": .exitCode(exitCode),
            "error": .error(userFacingError),
        ]
    }

    func text(_ style: Style) -> [String] {
        let name = TerminalText.escaped(path)
        let size = sizeBytes.map { " (\(Formats.bytes($0)))" } ?? ""
        return switch state {
        case .uploaded: ["\(style.green("uploaded")) \(name)\(size)"]
        case .planned: ["\(name): would be uploaded\(size)"]
        case .present: ["\(name): already on the server"]
        case .duplicate: ["\(name): duplicate of another file in this run"]
        case .skipped: ["\(name): skipped\(reason)"]
        case .changed: ["\(name): \(style.yellow("changed since upload")): edited or damaged?"]
        case .deleted: ["\(name): deleted on the server, not uploaded again"]
        case .forgotten: ["\(name): deletion accepted"]
        case .excluded: ["\(name): excluded by default"]
        // The summary contains the number of files that were not started.
        case .cancelled: attempts == 0 ? [] : ["\(name): canceled"]
        case .unconfirmed, .foreign, .failed: []
        }
    }

    private var reason: String {
        switch error?.code {
        case .unknownExtension: ", not an accepted type"
        case .notRegularFile: ", not a regular file"
        case .isDirectory: ", a link to a directory"
        default: ""
        }
    }
}

extension PushProgress: RunReading {
    /// Files are read before any file is sent; the rate is for the current phase.
    private var isSending: Bool { bytesToSend > 0 && filesHashed >= filesFound }
    var amount: Int64 { isSending ? bytesSent : bytesHashed }
    var percent: Int64? { isSending ? Progress.percent(bytesSent, of: bytesToSend) : nil }

    /// Everything is sent; the listing is being searched for the uploads.
    private var isConfirming: Bool { isSending && filesSent >= filesToSend }

    func line(rate: Double?) -> String {
        guard waitsForProcess == nil else { return "waiting for another mediactl process" }
        var parts: [String]
        if isSending, let percent {
            let sent = min(bytesSent, bytesToSend)
            parts = [
                "\(filesSent) of \(Formats.count(filesToSend, "photo")) uploaded",
                "\(Formats.bytes(sent)) of \(Formats.bytes(bytesToSend))", "\(percent)%",
            ]
        } else {
            parts = [
                "\(filesHashed) of \(Formats.count(filesFound, "file")) checked",
                "\(Formats.bytes(bytesHashed)) read",
            ]
        }
        guard !isConfirming else { return (parts + ["verifying the uploads"]).joined(separator: "  ") }
        parts += Progress.rest(amount, of: isSending ? bytesToSend : nil, rate: rate) { Formats.bytes($0) }
        return parts.joined(separator: "  ")
    }

    func record(elapsed: Duration) -> JSONObject {
        [
            "files_found": JSONValue(filesFound), "files_hashed": JSONValue(filesHashed),
            "files_to_send": JSONValue(filesToSend), "files_sent": JSONValue(filesSent),
            "bytes_hashed": .integer(bytesHashed), "bytes_to_send": .integer(bytesToSend),
            "bytes_sent": .integer(bytesSent), "elapsed_ms": .integer(Formats.milliseconds(elapsed)),
        ]
    }
}
