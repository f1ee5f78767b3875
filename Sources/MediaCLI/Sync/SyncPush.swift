internal import ArgumentParser
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import PhotoSync

struct SyncPush: ContextCommand {
    static let schema = "mediactl.sync-push/1"
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Send the photos that the server has not, and make sure that they are yours there.",
        discussion: """
            Directories are walked; files that are no photos are left out. Local files are only ever read.
            A glob without a slash is compared with the name of a file, one with a slash with its path below the \
            directory. --exclude comes before --include, in any order.

            Examples:
              mediactl sync push Pictures --exclude "*.tmp.jpg"
              mediactl sync push Pictures --dry-run
            """
    )

    @Argument(help: ArgumentHelp("Photos, and directories with photos.", valueName: "path"), completion: .file())
    var paths: [String]

    @Option(
        help: ArgumentHelp("Of the files found in directories take only these; may be repeated.", valueName: "glob")
    )
    var include: [String] = []

    @Option(
        help: ArgumentHelp("Of the files found in directories leave these out; may be repeated.", valueName: "glob")
    )
    var exclude: [String] = []

    @Flag(help: "Upload one photo to test a server again that did not record earlier uploads as yours.")
    var testOwnership = false

    @Flag(name: .dryRun, help: "Show what would be uploaded, without uploading it. The server is queried.")
    var dryRun = false

    @Option(
        name: .jobs,
        help: ArgumentHelp("Number of parallel uploads, 1 to 16 (default: 2).", valueName: "n")
    )
    var jobs: String?

    @OptionGroup(title: "Credentials") var key: KeyOptions
    @OptionGroup(title: "Connection options") var connection: UploadConnectionOptions<ServerConnectionOptions>
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard !paths.contains("") else { throw ValidationError("An empty path.") }
    }

    func run(in console: Console) async throws -> ExitCode {
        let filter = try PathFilter.reading(includes: include, excludes: exclude)
        // The setting of the same name is for uploads.
        let jobs = try FlagValue.read(jobs, "--jobs", SettingValue.jobs) ?? 2
        let session = try await SyncSession.open(console, global, connection).waiting()
        let account = try await session.account(key)
        let confirmation = Confirmation(prompter: session.settings.prompter, isGiven: testOwnership)
        let gate = OwnershipGate(console: console, account: account, confirmation: confirmation)
        if !dryRun { try await gate.pass() }
        let run = PushRun(
            console: console,
            account: account,
            hashes: session.settings.hashCache(),
            options: Push.Options(filter: filter, jobs: jobs, isDryRun: dryRun, retry: session.retryPolicy),
            writesProgressRecords: global.progressEvents
        )
        return try await run.run(paths.map { RawArguments.bytes(of: $0) })
    }
}

/// Uploads photos that the server lacks, and reports the result of each.
struct PushRun: Sendable {
    let console: Console
    let account: SyncAccount
    let hashes: HashCache
    let options: Push.Options
    let writesProgressRecords: Bool
    /// Also gets each result.
    var onItem: @Sendable (PushItem) -> Void = { _ in }

    /// - Throws: `PhotoSyncError` for what ends the whole run, `Diagnosis`.
    func run(_ paths: [[UInt8]]) async throws -> ExitCode {
        console.record(
            .start,
            [
                "server": .string(account.server), "device_id": JSONValue(account.deviceID),
                "dry_run": .bool(options.isDryRun), "jobs": JSONValue(options.jobs),
            ]
        )
        try console.requireOutput()
        let run = LongRun<PushReading>(console, writesRecords: writesProgressRecords)
        let tally = ItemTally<PushItem.State>()
        return try await console.context.interruption.handling({ _ in }) {
            let push = Push(account, hashes: hashes, options: options)
            let result = try await run.run(telling: { tell($0, tally) }) { surroundings in
                try await push.run(paths, control: surroundings.control, onItem: surroundings.onItem) {
                    surroundings.progress(PushReading(progress: $0))
                }
            }
            let isStopped = result == nil || tally.count(.cancelled) > 0
            let code = console.exitCode(tally.exitCode(isStopped: isStopped))
            conclude(tally)
            console.summary(summary(tally, result?.bytesSent ?? run.display.latest?.progress.bytesSent, run, code))
            return code
        }
    }

    private func tell(_ item: PushItem, _ tally: ItemTally<PushItem.State>) {
        tally.add(item.state, item.exitCode)
        onItem(item)
        let isSaid = ![.present, .skipped].contains(item.state) || console.verbosity > 0
        let lines = isSaid ? TextRenderer.push(item, style: console.outputStyle) : []
        console.result(JSONRenderer.push(item), lines)
        guard let diagnosis = item.diagnosis, item.state != .cancelled else { return }
        if item.exitCode != .success {
            console.error(diagnosis.naming(item.path))
        } else if item.error?.code == .emptyFile {
            console.warning(diagnosis.naming(item.path).message)
        }
    }

    private func conclude(_ tally: ItemTally<PushItem.State>) {
        let words: [(state: PushItem.State, words: String)] = [
            (.uploaded, "uploaded"), (.planned, "to be uploaded"), (.present, "there already"),
            (.unconfirmed, "not confirmed"), (.foreign, "not yours there"), (.skipped, "left out"),
            (.failed, "failed"), (.cancelled, "not done"),
        ]
        let counts = tally.words(words)
        console.note(counts.isEmpty ? "there is nothing to push" : counts)
        if tally.count(.unconfirmed) + tally.count(.foreign) > 0 {
            console.warning("keep the local originals of those that are not confirmed, or not yours there")
        }
    }

    private func summary(
        _ tally: ItemTally<PushItem.State>,
        _ bytesSent: Int64?,
        _ run: LongRun<PushReading>,
        _ code: ExitCode
    ) -> JSONObject {
        func count(_ state: PushItem.State) -> JSONValue { JSONValue(tally.count(state)) }
        return [
            "server": .string(account.server), "dry_run": .bool(options.isDryRun), "items": JSONValue(tally.total),
            "uploaded": count(.uploaded), "unconfirmed": count(.unconfirmed), "present": count(.present),
            "foreign": count(.foreign), "planned": count(.planned), "skipped": count(.skipped),
            "failed": count(.failed), "cancelled": count(.cancelled), "bytes_sent": .integer(bytesSent ?? 0),
        ] + console.ending(code, after: run.display.elapsed)
    }
}

extension PushItem {
    var diagnosis: Diagnosis? {
        if state == .unconfirmed, error?.code == .cancelled {
            return Diagnosis(
                .cancelled,
                "\(ErrorCatalogue.quoted(path)) was sent, but not looked for in the server's listing any more",
                hint: "push it again, and keep the local original until then"
            )
        }
        if let error { return ErrorCatalogue.diagnosis(of: error) }
        switch state {
        case .unconfirmed:
            return Diagnosis(
                .notConfirmed,
                "\(ErrorCatalogue.quoted(path)) was sent, but the server does not list it as yours",
                hint: "push it again later, and keep the local original until then",
                isRetryable: true
            )
        case .foreign: return ErrorCatalogue.diagnosis(of: PhotoSyncError(.notOwned, path: path))
        default: return nil
        }
    }

    /// The exit code for this file alone. Files that are not photos are no failure; photos that the server would refuse are.
    var exitCode: ExitCode {
        switch state {
        case .uploaded, .present, .planned: .success
        case .skipped: error.map { Self.isNoPhoto($0) ? .success : exitCode(of: $0) } ?? .success
        case .unconfirmed, .foreign: diagnosis?.exitCode ?? .failure
        case .failed: error.map { exitCode(of: $0) } ?? .failure
        case .cancelled: .interrupt
        }
    }

    private static func isNoPhoto(_ error: PhotoSyncError) -> Bool {
        error.code == .unknownExtension || error.code == .emptyFile
    }

    private func exitCode(of error: PhotoSyncError) -> ExitCode { ErrorCatalogue.diagnosis(of: error).exitCode }
}

struct PushReading: RunReading {
    var progress: PushProgress

    /// Files are read before any is sent; the rate is that of the current phase.
    private var isSending: Bool { progress.bytesToSend > 0 && progress.filesHashed >= progress.filesFound }
    var amount: Int64 { isSending ? progress.bytesSent : progress.bytesHashed }
    var percent: Int64? { isSending ? Progress.percent(progress.bytesSent, of: progress.bytesToSend) : nil }

    /// Everything is sent; what remains is to find it in the listing.
    private var isConfirming: Bool { isSending && progress.filesSent >= progress.filesToSend }

    func line(rate: Double?) -> String {
        var parts: [String]
        if isSending, let percent {
            let sent = min(progress.bytesSent, progress.bytesToSend)
            parts = [
                "\(progress.filesSent) of \(Formats.count(progress.filesToSend, "photo")) sent",
                "\(Formats.bytes(sent)) of \(Formats.bytes(progress.bytesToSend))", "\(percent) %",
            ]
        } else {
            parts = [
                "\(progress.filesHashed) of \(Formats.count(progress.filesFound, "file")) checked",
                "\(Formats.bytes(progress.bytesHashed)) read",
            ]
        }
        guard !isConfirming else { return (parts + ["making sure that they arrived"]).joined(separator: "  ") }
        parts += Progress.rest(amount, of: isSending ? progress.bytesToSend : nil, rate: rate) { Formats.bytes($0) }
        return parts.joined(separator: "  ")
    }

    func record(elapsed: Duration) -> JSONObject {
        [
            "files_found": JSONValue(progress.filesFound), "files_hashed": JSONValue(progress.filesHashed),
            "files_to_send": JSONValue(progress.filesToSend), "files_sent": JSONValue(progress.filesSent),
            "bytes_hashed": .integer(progress.bytesHashed), "bytes_to_send": .integer(progress.bytesToSend),
            "bytes_sent": .integer(progress.bytesSent), "elapsed_ms": .integer(Formats.milliseconds(elapsed)),
        ]
    }
}

extension JSONRenderer {
    static func push(_ item: PushItem) -> JSONObject {
        [
            "path": path(item.path), "state": .string(item.state.rawValue), "size_bytes": JSONValue(item.sizeBytes),
            "checksum_sha256": JSONValue(item.sha256), "photo_id": JSONValue(item.photoID),
            "taken_at": JSONValue(item.takenAt?.text), "bytes_sent": .integer(item.bytesSent),
            "attempts": JSONValue(item.attempts), "exit_code": exitCode(item.exitCode),
            "error": error(item.diagnosis),
        ]
    }
}

extension TextRenderer {
    static func push(_ item: PushItem, style: Style) -> [String] {
        let name = TerminalText.escaped(item.path)
        let size = item.sizeBytes.map { " (\(Formats.bytes($0)))" } ?? ""
        return switch item.state {
        case .uploaded: ["\(style.green("uploaded")) \(name)\(size)"]
        case .planned: ["\(name): would be uploaded\(size)"]
        case .present: ["\(name): there already"]
        case .skipped: ["\(name): left out\(item.error?.code == .unknownExtension ? ", no photo" : "")"]
        case .cancelled: ["\(name): not done"]
        case .unconfirmed, .foreign, .failed: []
        }
    }
}
