internal import ArgumentParser
internal import GigHive
internal import MediaCore
internal import MediaStore
internal import MediaTransport
internal import Synchronization

struct UploadsResume: ServerFilterCommand {
    static let schema = "mediactl.uploads-resume/1"
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Resume interrupted uploads.",
        discussion: """
            The bytes on the server are compared with the file and not sent again. Details specified here replace the \
            details of the original upload, for example a label that the server refused.
            Without an ID, resumes the only resumable upload. With --server or --profile, considers only uploads to \
            that server.

            Examples:
              mediactl uploads resume --all
              mediactl uploads resume u-h6zfchyzwaq7c3fo --label "Second set"
            """
    )

    @Argument("IDs of uploads in mediactl uploads status, or unique prefixes.", value: "id")
    var ids: [String] = []

    @Flag(help: "Resume all resumable uploads.")
    var all = false

    @Flag(name: .dryRun, help: "Show what would be resumed, without resuming it.")
    var dryRun = false

    @OptionGroup(title: "Details to correct") var details: DetailOptions
    @OptionGroup(title: "Upload options") var transfer: TransferOptions
    @OptionGroup(title: "Guests with an event link") var guest: GuestOptions
    @OptionGroup(title: "Credentials") var credentials: CredentialOptions
    @OptionGroup(title: "Connection options") var connection: UploadConnectionOptions<ConnectionOptions>
    @OptionGroup(visibility: .hidden) var oldHost: OldHostOption
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(ids.isEmpty || !all, "--all cannot be combined with IDs.")
        try JournalSelection.check(ids)
    }

    func run(in console: Console) async throws -> ExitCode {
        let flags = connection.flags + details.flags + transfer.flags
        let settings = try await SettingsSession.open(console, global: global, connection: flags)
        let store = try await StoreSession.open(settings)
        let selection = JournalSelection(store: store, host: try oldHost.scope(connection.base.choice, settings))
        let records = try ids.isEmpty ? selection.resumable(all: all) : selection.named(ids)
        let servers = try ServerSession(settings, credentials: credentials)
        let run = ResumptionRun(
            console: console,
            settings: settings,
            uploaders: UploaderSource(
                settings: settings,
                store: store,
                servers: servers,
                guest: guest,
                parallelParts: transfer.parallelParts
            ),
            corrections: details.given,
            isDryRun: dryRun,
            hasEventLink: guest.eventLink.map { $0 != "ask" } ?? false
        )
        return try await run.run(records)
    }
}

/// Resumes uploads in the journal, one at a time.
struct ResumptionRun: Sendable {
    let console: Console
    let settings: SettingsSession
    let uploaders: UploaderSource
    /// Replaced details, keyed by field name.
    let corrections: [String: String]
    let isDryRun: Bool
    /// Whether the command line contains an event link.
    let hasEventLink: Bool

    /// - Throws: `UserFacingError` if the results cannot be written; `CredentialError` if the first prompt was
    ///   interrupted.
    func run(_ records: [UploadRecord]) async throws -> ExitCode {
        let began = console.context.elapsed()
        try console.start(["items": JSONValue(records.count), "dry_run": .bool(isDryRun)])
        if records.isEmpty {
            console.note("no resumable uploads")
        }
        let results = UploadResults(
            records.map { _ in nil },
            keepsLines: false,
            endsWithRunFailure: Set(records.map(\.host)).count == 1
        )
        let reporter = UploadReporter(
            console,
            contact: settings.settings.contact.value,
            fileCount: records.count,
            namesServer: { [settings] in settings.needsServerOption(for: $0) },
            continuation: Continuation(
                arguments: console.context.arguments,
                pathCount: records.count,
                isPrivate: hasEventLink
            )
        )
        return try await console.context.interruption.handling({ _ in }) {
            if isDryRun {
                for (index, record) in records.enumerated() {
                    let result = await rehearsed(record)
                    results.end(index, result)
                    reporter.report(result)
                }
            } else {
                let interruption = await resume(records, results, reporter)
                // Ctrl-C at the first prompt, as at every prompt, is not an error and does not require a summary.
                if let interruption, results.counts.ended == 0 { throw interruption }
                reporter.conclude(results.counts)
            }
            return console.ending(results.exitCode)
                .runSummary(JSONRenderer.counts(results.counts), after: console.context.elapsed() - began)
        }
    }

    /// Returns the error if a prompt was interrupted; the remaining files were not started.
    private func resume(
        _ records: [UploadRecord],
        _ results: UploadResults,
        _ reporter: UploadReporter
    ) async -> CredentialError? {
        let display = ProgressDisplay(
            console,
            fileCount: records.count,
            byteCount: records.reduce(0) { $0 + $1.sizeBytes }
        )
        let isDrained = Mutex(false)
        let events = UploadEvents(
            console: console,
            display: display,
            results: results,
            reporter: reporter,
            drain: { isDrained.withLock { $0 = true } }
        )
        var interruption: CredentialError?
        // After a failure that affects a whole server, its other uploads are not started.
        var unusable: Set<Access> = []
        await events.run { announce in
            for (index, record) in records.enumerated() {
                guard console.context.interruption.signal == nil, !isDrained.withLock({ $0 }) else { return }
                let access = Access(host: record.host, isGuest: record.isGuest)
                guard !unusable.contains(access) else { continue }
                let file = UploadEvents.File(path: record.path, sizeBytes: record.sizeBytes)
                let result: UploadResult
                do {
                    try Uploader.checkResumable(record, in: uploaders.store.store)
                    let details = try UploadDetails.replacing(corrections, of: record)
                    // Any login prompt must precede the output about the file.
                    let uploader = try await uploaders.uploader(for: record, needsTerms: true)
                    announce(.began(index), file)
                    result = await resume(record, uploader, details, display) { announce(.upload(index, $0), file) }
                } catch let error as CredentialError where error.exitCode == ExitCode.interrupt.rawValue {
                    interruption = error
                    return
                } catch let error as CredentialError {
                    skip(record, error, results)
                    continue
                } catch {
                    announce(.began(index), file)
                    result = Self.result(of: record, failing: error)
                }
                if result.error?.endsRun == true { unusable.insert(access) }
                announce(.ended(index, result), file)
            }
        }
        return interruption
    }

    /// Reports an upload that was not started because there are no credentials for its server. Other uploads continue.
    private func skip(_ record: UploadRecord, _ error: CredentialError, _ results: UploadResults) {
        let userFacingError = ErrorCatalog.userFacingError(of: error)
        console.record(
            .item,
            JSONRenderer.upload(
                Self.result(of: record, failing: error),
                contact: settings.settings.contact.value
            )
        )
        console.error(userFacingError.naming(record.path))
        results.skip(userFacingError.exitCode)
    }

    /// A server and the type of access to it.
    private struct Access: Hashable {
        var host: String
        var isGuest: Bool
    }

    /// The first signal stops an unfinished transfer, or waits for the token if the transfer is finished; the second
    /// signal abandons the upload.
    private func resume(
        _ record: UploadRecord,
        _ uploader: Uploader,
        _ details: UploadDetails?,
        _ display: ProgressDisplay,
        _ onEvent: @escaping @Sendable (UploadEvent) -> Void
    ) async -> UploadResult {
        let control = TransferControl()
        let limit = settings.settings.finishTimeout.value
        let onSignal = { @Sendable (request: Interruption.Request) in
            guard !request.isFinal else { return control.abandon() }
            let wait = request.signal == .interrupt ? nil : limit
            display.stop(waitingFor: wait)
            control.stop(finishWithin: wait)
        }
        return await console.context.interruption.handling(onSignal) {
            await uploader.resume(record, details: details, control: control, onEvent: onEvent)
        }
    }

    /// The result of a dry run.
    private func rehearsed(_ record: UploadRecord) async -> UploadResult {
        do {
            try Uploader.checkResumable(record, in: uploaders.store.store)
            _ = try UploadDetails.replacing(corrections, of: record)
            if record.isGuest { _ = try uploaders.guestOptions(for: record) }
            try await uploaders.anonymousUploader(for: record).rehearseResume(record)
            return UploadResult(of: record)
        } catch {
            return Self.result(of: record, failing: error)
        }
    }

    /// The result of an upload that could not be resumed, for example because a login or a valid address is missing.
    private static func result(of record: UploadRecord, failing error: any Error) -> UploadResult {
        var result = UploadResult(of: record)
        result.state = record.state
        result.error = error as? GigHiveError ?? failure(error, of: record)
        return result
    }

    private static func failure(_ error: any Error, of record: UploadRecord) -> GigHiveError {
        let userFacingError = ErrorCatalog.userFacingError(of: error)
        let code: OutcomeCode =
            userFacingError.exitCode == .unauthorized
            ? OutcomeCode(rawValue: userFacingError.code) ?? .unauthorized : .notResumable
        if [.loginRequired, .loginExpired].contains(code), let server = try? ServerURL(record.baseURL) {
            return .login(code, at: server.origin, path: record.path)
        }
        let detail = [userFacingError.message, userFacingError.hint].compactMap { $0 }.joined(separator: "; ")
        return GigHiveError(code, detail: detail, path: record.path)
    }
}

extension UploadDetails {
    /// The details of an upload in the journal, with some values replaced; nil if `corrections` is empty.
    ///
    /// - Throws: `.invalidDetail`.
    fileprivate static func replacing(
        _ corrections: [String: String],
        of record: UploadRecord
    ) throws(GigHiveError) -> UploadDetails? {
        guard !corrections.isEmpty else { return nil }
        let value = { (name: String) in corrections[name] ?? record.fields[name] }
        return try validated(
            eventDate: value("event_date") ?? "",
            orgName: value("org_name") ?? "",
            eventType: value("event_type") ?? "",
            label: value("label") ?? "",
            participants: value("participants"),
            keywords: value("keywords"),
            location: value("location"),
            rating: value("rating"),
            notes: value("notes")
        )
    }
}
