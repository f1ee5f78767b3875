internal import ArgumentParser
internal import CaptureSubmission
internal import HashCapture
internal import MediaCore
internal import MediaStore
internal import MediaTransport

struct HashOnlyRetry: ServerFilterCommand {
    static let schema = "mediactl.hash-only-retry/1"
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Resume unfinished captures: sign, submit, or query the server.",
        discussion: """
            Unsigned captures are signed, at most three times; unsent captures are sent; where a response was lost, the \
            server is queried. Each capture is sent only to its own server.
            Media is not uploaded: --send-media requires running mediactl hash-only send again.
            A reference server cannot be queried, and other servers show a capture only to the device that submitted \
            it, not to a device that replaced it. --resend sends such a capture again with a new signature, which at \
            worst is refused.

            Examples:
              mediactl hash-only retry --all
              mediactl hash-only retry 5f0c2a91 --resend
            """,
        aliases: ["resume"]
    )

    @Argument("IDs of captures, or unique prefixes of them.", value: "id")
    var ids: [String] = []

    @Flag(help: "Retry all unfinished captures.")
    var all = false

    @Flag(help: "Resend captures whose outcome cannot be queried; sign again after the third failure.")
    var resend = false

    @Flag(help: "Submit the hash of a capture made before modes existed.")
    var asHashOnly = false

    @Flag(name: .dryRun, help: "Show what would be retried, without retrying it.")
    var dryRun = false

    @OptionGroup(title: "Connection options") var connection: ServerConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(ids.isEmpty == all, all ? "--all cannot be combined with IDs." : "Specify an ID, or --all.")
        try require(!ids.contains(""), "The ID is empty.")
        try require(!all || (!resend && !asHashOnly), "--resend and --as-hash-only require IDs.")
        try require(!resend || !asHashOnly, "--resend cannot be combined with --as-hash-only.")
    }

    func run(in console: Console) async throws -> ExitCode {
        let context = try await CaptureContext.open(console, global, connection)
        let choice: CaptureSession.RetryChoice = resend ? .resend : asHashOnly ? .adoptAsHashOnly : .ordinary
        let records = try records(context)
        try console.start(["items": JSONValue(records.count), "dry_run": .bool(dryRun)])
        if records.isEmpty {
            console.note("no unfinished captures")
        }
        let origins = Set(records.compactMap { try? ServerURL($0.server, allowingPath: true).origin })
        let isOneServer = origins.count == 1
        // Other servers are not contacted, so the connection options can only be for this one.
        if isOneServer, let origin = origins.first { context.settings.trusts.name(origin) }
        let run = CaptureRun(context.settings)
        let jobs = records.map { record in
            CaptureRun.Job(path: record.path, readsMedia: false) { [dryRun] control, _ in
                guard !dryRun else { return CaptureItem(planned: record) }
                var item: CaptureItem
                do {
                    let session = try context.confidential(try context.session(for: record))
                    item = CaptureItem(try await session.retry(record.id, choice, control: control), path: record.path)
                } catch {
                    item = CaptureItem(failure: error, path: record.path, record: record)
                }
                if !isOneServer, item.error?.code == OutcomeCode.certificateUntrusted.rawValue {
                    item.error?.hint = "to trust its CA: mediactl hash-only retry \(record.id.prefix(8)) --cacert FILE"
                }
                return item
            }
        }
        let isDone = await run.run(jobs) { report($0, isBatch: records.count > 1, in: context) }
        return run.conclude(isDone: isDone, [:])
    }

    private func records(_ context: CaptureContext) throws -> [CaptureRecord] {
        let scope = try connection.choice.scope(context.settings, of: .captureURL)
        guard all else {
            return try ids.map { id in
                let record = try context.record(id)
                guard record.isAt(scope) else { throw CaptureError(.captureUnknown, value: id) }
                return record
            }
        }
        let records = try context.library.captures().filter { $0.isAt(scope) }
        let silent = records.count { $0.mode == nil }
        if silent > 0 {
            context.console.note(
                "skipped \(Formats.count(silent, "capture")) made before modes existed; to submit: mediactl hash-only retry ID --as-hash-only"
            )
        }
        for record in records where record.isUnsentUpload {
            let command = context.hintOptions(for: record).addingPlaces(to: CaptureItem(planned: record).sendAgain)
            context.console.note(
                "skipped capture \(TextRenderer.brief(record.id)), an upload of the media itself; to send it again: "
                    + command
            )
        }
        // Captures that may be on the server come first, since their outcome determines the outcome of other captures
        // of the same media. Otherwise, the oldest comes first.
        let unfinished: [CaptureRecord] = records.filter(\.isOpen).reversed()
        return unfinished.filter { !$0.state.isUnsent } + unfinished.filter(\.state.isUnsent)
    }

    private func report(_ item: CaptureItem, isBatch: Bool, in context: CaptureContext) {
        let console = context.console
        var item = item
        let options = item.record.map { context.hintOptions(for: $0) } ?? HintOptions()
        item.error = item.error?.reaching(options)
        console.result(
            JSONRenderer.captureItem(item),
            TextRenderer.capture(item, style: console.outputStyle).map { options.addingPlaces(to: $0) }
        )
        for notice in item.notices where notice.isWarning {
            console.warning(isBatch ? "\(item.name): \(notice.words)" : notice.words)
        }
        if let error = item.error, item.state != .cancelled {
            console.error(isBatch ? item.path.map { error.naming($0) } ?? error : error)
        }
    }
}
