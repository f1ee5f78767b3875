internal import ArgumentParser
internal import MediaCore
internal import MediaStore
internal import PhotoSync

struct SyncDownload: ServerCommand {
    static let schema = "mediactl.sync-download/1"
    static let configuration = CommandConfiguration(
        commandName: "download",
        abstract: "Download photos or thumbnails into a directory, by year and month.",
        discussion: """
            Photos are saved as DIR/YEAR/MONTH/NAME by date taken, and verified. Interrupted downloads resume where \
            they stopped. Existing files are never replaced. The photos are selected from the local index; update it \
            with mediactl sync.
            With --thumbnails, only the server's thumbnails are downloaded, as DIR/YEAR/MONTH/ID.thumbnail.jpg. A \
            photo still counts as missing if this machine has only its thumbnail.

            Examples:
              mediactl sync download --missing --output Pictures
              mediactl sync download --thumbnails --output Thumbnails
              mediactl sync download --since 2026-05-01 --output Pictures --dry-run
              mediactl sync download 4ad8a4cc-3164-4b56-b986-11cd9f6d52da --output Pictures
            """
    )

    @Argument("IDs of photos; mediactl sync list shows them.", value: "id")
    var ids: [String] = []

    @Flag(help: "Download all photos without a copy on this machine.")
    var missing = false

    @Flag(
        help: """
            Download thumbnails instead of photos: of all photos, or only of photos selected by --missing, --since or \
            IDs.
            """
    )
    var thumbnails = false

    @Option(
        "Download photos without a copy on this machine that were uploaded since this day (local midnight) or time.",
        value: "time"
    )
    var since: String?

    @Option("Save the photos in this directory.", value: .directory, name: .shortAndLong)
    var output: String?

    @Option(help: .hidden, completion: .directory)
    var to: String?

    /// The directory from `--output` or its old name.
    var target: String { output ?? to ?? "" }

    @Flag(name: .dryRun, help: "Show what would be downloaded, without downloading it.")
    var dryRun = false

    @Option("Number of parallel downloads, 1 to 16 (default: 4).", value: "n", name: .jobs)
    var jobs: String?

    @OptionGroup(title: "Credentials") var key: KeyOptions
    @OptionGroup(title: "Connection options") var connection: ServerConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(output == nil || to == nil, "--to is the old name of --output.")
        try require(output != nil || to != nil, "Specify a directory with --output DIR.")
        try require(!target.isEmpty, "--output: the path is empty.")
        try require(ids.isEmpty || !(missing || since != nil), "IDs cannot be combined with --missing or --since.")
        try require(
            !ids.isEmpty || missing || since != nil || thumbnails,
            "Specify the photos: --missing, --since TIME, or their IDs."
        )
        try require(!ids.contains(""), "The ID is empty.")
    }

    func run(in console: Console) async throws -> ExitCode {
        let selection = try selection()
        // The setting with the same name is for uploads.
        let jobs = try FlagValue.read(jobs, "--jobs", SettingValue.jobs) ?? 4
        if to != nil { console.note(Deprecated.note("--to", use: "--output")) }
        let session = try await SyncSession.open(console, global, connection).waiting()
        let account = try await session.account(key)
        let run = DownloadRun(
            console: console,
            account: account,
            hashes: session.settings.hashCache(),
            options: Download.Options(jobs: jobs, isDryRun: dryRun, retry: session.retryPolicy),
            base: base(in: console.context),
            kind: thumbnails ? .thumbnails(includesPresent: !missing) : .photos
        )
        return try await run.run(selection, to: base(in: console.context) + RawArguments.bytes(of: target))
    }

    private func selection() throws(UserFacingError) -> Download.Selection {
        if let since { return .since(try PointInTime.parse(since, flag: "--since")) }
        return ids.isEmpty ? .missing : .ids(ids)
    }

    /// The base of a relative target; empty for an absolute target.
    private func base(in context: CommandContext) -> [UInt8] {
        target.hasPrefix("/") ? [] : Array("\(context.workingDirectory)/".utf8)
    }
}

/// Downloads photos or thumbnails and reports the result of each.
struct DownloadRun: Sendable {
    /// The kind of file to download for each photo.
    enum Kind: Equatable {
        case photos
        /// `includesPresent` also selects photos that have a copy on this machine.
        case thumbnails(includesPresent: Bool)
    }

    let console: Console
    let account: SyncAccount
    let hashes: HashCache
    let options: Download.Options
    /// The absolute path of the working directory if the target is relative to it; text output then shows relative
    /// paths.
    var base: [UInt8] = []
    /// Whether to omit a planned photo from the output.
    var isOmitted: @Sendable (String) -> Bool = { _ in false }
    var kind = Kind.photos

    /// - Throws: `PhotoSyncError` for errors that end the whole run, `UserFacingError`.
    func run(_ selection: Download.Selection, to directory: [UInt8]) async throws -> ExitCode {
        try console.start([
            "server": .string(account.server), "to": .path(directory),
            "dry_run": .bool(options.isDryRun), "thumbnails": .bool(kind != .photos),
            "jobs": JSONValue(options.jobs),
        ])
        let run = LongRun<DownloadProgress>(console)
        let statistics = ItemStatistics<DownloadItem.State>()
        return try await console.context.interruption.handling({ _ in }) {
            let download = Download(account, hashes: hashes, options: options)
            let result = try await run.run(reporting: { report($0, statistics) }) { dependencies in
                switch kind {
                case .photos:
                    try await download.run(
                        selection,
                        to: directory,
                        control: dependencies.control,
                        onItem: dependencies.onItem,
                        progress: dependencies.progress
                    )
                case .thumbnails(let includesPresent):
                    try await download.runThumbnails(
                        selection,
                        includesPresent: includesPresent,
                        to: directory,
                        control: dependencies.control,
                        onItem: dependencies.onItem,
                        progress: dependencies.progress
                    )
                }
            }
            let isStopped = result == nil || statistics.count(.cancelled) > 0
            let ending = console.ending(statistics.exitCode(isStopped: isStopped))
            conclude(statistics)
            let bytes = result?.bytesReceived ?? run.display.latest?.bytesReceived
            return ending.runSummary(summary(statistics, bytes), after: run.display.elapsed)
        }
    }

    private func report(_ item: DownloadItem, _ statistics: ItemStatistics<DownloadItem.State>) {
        if item.state == .planned, isOmitted(item.id) { return }
        statistics.add(item.state, item.exitCode)
        let isShown = ![.present, .unavailable].contains(item.state) || console.verbosity > 0
        console.result(item.json, isShown ? item.text(console.outputStyle, below: base) : [])
        // The error that ends the run is printed once, by the run.
        guard let error = item.error, !item.endsRun else { return }
        if item.exitCode != .success, item.state != .cancelled {
            let userFacingError = ErrorCatalog.userFacingError(of: error)
            let path = error.path == nil ? item.path : nil
            console.error(path.map { userFacingError.naming($0) } ?? userFacingError)
        } else if item.state == .present, let path = item.path {
            let changed = ErrorCatalog.userFacingError(of: error)
            console.note(
                error.code == .fileUnreadable
                    ? "cannot read \(ErrorCatalog.quoted(path))\(error.suffix); the photo is not downloaded again"
                    : [changed.message, changed.hint].compactMap { $0 }.joined(separator: "; ")
            )
        }
    }

    private func conclude(_ statistics: ItemStatistics<DownloadItem.State>) {
        let words: [(state: DownloadItem.State, words: String)] = [
            (.verified, "downloaded and verified"), (.rewritten, "rewritten by the server and verified"),
            (.thumbnail, "\(statistics.count(.thumbnail) == 1 ? "thumbnail" : "thumbnails") downloaded"),
            (.unverified, "not verified"), (.undeliverable, "missing on the server"),
            (.unavailable, "without a thumbnail on the server"), (.planned, "to be downloaded"),
            (.present, "already downloaded"), (.failed, "failed"), (.cancelled, "canceled"),
        ]
        let counts = statistics.words(words)
        console.note(counts.isEmpty ? "nothing to download" : counts)
        if statistics.count(.rewritten) > 0 {
            console.note(
                "the server rewrites photos after their upload: structure, dimensions, length and ID of these photos "
                    + "were verified"
            )
        }
        if statistics.count(.unverified) > 0 {
            console.note("the names of unverified files end in .unverified; the next run downloads them again")
        }
        if statistics.count(.undeliverable) > 0 {
            console.note("mediactl sync verify --server-files lists all photos that the server cannot deliver")
        }
    }

    private func summary(_ statistics: ItemStatistics<DownloadItem.State>, _ bytesReceived: Int64?) -> JSONObject {
        [
            "server": .string(account.server), "dry_run": .bool(options.isDryRun), "items": JSONValue(statistics.total),
        ] + statistics.json + ["bytes_received": .integer(bytesReceived ?? 0)]
    }
}

extension DownloadItem {
    var exitCode: ExitCode {
        switch state {
        case .verified, .rewritten, .thumbnail, .present, .planned: .success
        // A missing thumbnail is a failure only if the photo was specified by ID.
        case .unavailable: ExitCode(of: error) ?? .success
        case .failed, .unverified, .undeliverable: ExitCode(of: error) ?? .failure
        case .cancelled: ExitCode(of: error) ?? .interrupt
        }
    }

    var json: JSONObject {
        [
            "photo_id": .string(id), "file_name": JSONValue(originalFilename),
            "state": .string(state.rawValue), "path": .path(path),
            "size_bytes": JSONValue(sizeBytes), "checksum_sha256": JSONValue(sha256),
            "server_checksum_sha256": JSONValue(serverSHA256), "bytes_received": .integer(bytesReceived),
            "resumed": .bool(isResumed), "attempts": JSONValue(attempts),
            "exit_code": .exitCode(exitCode),
            "error": .error(error),
        ]
    }

    /// `base`, which ends with `/`, is omitted from paths.
    func text(_ style: Style, below base: [UInt8] = []) -> [String] {
        let name =
            path.map { TerminalText.escaped($0.starts(with: base) ? Array($0.dropFirst(base.count)) : $0) }
            ?? TerminalText.escaped(originalFilename ?? id)
        let size = sizeBytes.map { "\(Formats.bytes($0)), " } ?? ""
        return switch state {
        case .verified: ["\(style.green("downloaded")) \(name) (\(size)verified)"]
        case .rewritten: ["\(style.green("downloaded")) \(name) (\(size)rewritten by the server)"]
        case .thumbnail:
            [
                "\(style.green("thumbnail")) \(name) (\(size)of \(TerminalText.escaped(originalFilename ?? id)))"
            ]
        case .unavailable: error == nil ? ["\(name): no thumbnail on the server"] : []
        case .planned: ["\(name): would be downloaded"]
        case .present: ["\(name): already downloaded"]
        // Errors go to standard error. The summary contains the number of canceled photos; most were not started.
        case .failed, .unverified, .undeliverable, .cancelled: []
        }
    }
}

extension DownloadProgress: RunReading {
    var amount: Int64 { bytesReceived }
    /// Computed from bytes; files on a server may differ slightly in size from the uploaded files. The sizes of
    /// thumbnails are unknown.
    var percent: Int64? {
        bytes > 0
            ? Progress.percent(bytesReceived, of: bytes)
            : Progress.percent(photosDone, of: photos)
    }

    func line(rate: Double?) -> String {
        let count = max(photos, photosDone)
        var parts = ["\(photosDone) of \(Formats.count(count, "photo"))"]
        if bytes > 0 {
            let received = min(bytesReceived, bytes)
            parts.append("\(Formats.bytes(received)) of \(Formats.bytes(bytes))")
        }
        if let percent {
            parts.append("\(percent)%")
        }
        guard bytes > 0 else { return parts.joined(separator: "  ") }
        parts += Progress.rest(bytesReceived, of: bytes, rate: rate) { Formats.bytes($0) }
        return parts.joined(separator: "  ")
    }

    func record(elapsed: Duration) -> JSONObject {
        [
            "photos": .integer(photos), "photos_done": .integer(photosDone),
            "bytes": .integer(bytes), "bytes_received": .integer(bytesReceived),
            "elapsed_ms": .integer(Formats.milliseconds(elapsed)),
        ]
    }
}
