internal import Foundation
internal import GigHive
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport
internal import Synchronization

/// The parallel uploads of one command.
struct UploadRun: Sendable {
    let settings: SettingsSession
    let plan: UploadPlan
    /// Creates an equivalent uploader without cached information about the server's files.
    let anotherUploader: @Sendable () -> Uploader
    let sending: SendingOptions
    let shard: ShardChoice?
    let continuation: Continuation
    let jobs: Int
    /// The file of `--report`.
    let reportFile: NewFile?
    var tape: UploadTape?

    private var console: Console { settings.console }
    private var uploader: Uploader { plan.uploader }

    /// `fileCount` is nil if unknown.
    private func reporter(fileCount: Int?) -> UploadReporter {
        UploadReporter(
            console,
            contact: settings.settings.contact.value,
            fileCount: fileCount,
            namesServer: { [settings] in settings.needsServerOption(for: $0) },
            continuation: continuation
        )
    }

    private func display(fileCount: Int?, byteCount: Int64 = 0) -> ProgressDisplay {
        ProgressDisplay(console, fileCount: fileCount, byteCount: byteCount)
    }

    /// Runs the batch and writes its records, text, report and summary.
    ///
    /// - Throws: `UserFacingError` if the results cannot be written.
    func run(_ items: [UploadBatch.Item]) async throws -> ExitCode {
        let began = console.context.elapsed()
        try begin(items: items.count)
        if items.isEmpty {
            console.note("nothing to upload")
        }
        let isVerified = !sending.dryRun && (sending.verify ?? (items.count > 1))
        let results = UploadResults(items, keepsLines: reportFile != nil, keepsStored: isVerified)
        let reporter = reporter(fileCount: items.count)
        // A signal between two files, or before a result is printed, ends the loop but not the program.
        return await console.context.interruption.handling({ _ in }) {
            if sending.dryRun {
                rehearse(items, results, reporter)
            } else {
                await send(items, results, reporter)
                await tape?.conclude()
                if isVerified { await verify(results) }
            }
            UploadPlan.release(items)
            return finish(results, reporter, began: began)
        }
    }

    /// Compares the files in the run with the server's listing, unless a signal was received.
    private func verify(_ results: UploadResults) async {
        let stored = results.stored
        guard !stored.isEmpty, console.context.interruption.signal == nil else { return }
        if let failure = results.runFailure { return report(.impossible(failure), results) }
        let client = uploader.client
        let verification =
            uploader.isGuest
            ? .impossible(.usage("an event link does not permit reading the listing"))
            : (try? await console.context.interruption.canceling { await UploadVerification.of(stored, client) })
        guard let verification, console.context.interruption.signal == nil else { return }
        report(verification, results)
    }

    private func report(_ verification: UploadVerification, _ results: UploadResults) {
        results.note(verification)
        console.report(verification)
    }

    // MARK: Start and end

    /// Checks that the results can be written and writes the start record. `items` is nil if unknown.
    ///
    /// - Throws: `UserFacingError` if the results cannot be written.
    func begin(items: Int?) throws(UserFacingError) {
        try console.start([
            "server": .string(uploader.client.server.description), "items": JSONValue(items),
            "dry_run": .bool(sending.dryRun), "jobs": JSONValue(jobs),
            "shard": JSONRenderer.shard(shard),
        ])
    }

    /// Writes the report and the summary. `failure` is the error that ended the run, even if every upload succeeded.
    func finish(
        _ results: UploadResults,
        _ reporter: UploadReporter,
        began: Duration,
        after failure: UserFacingError? = nil
    ) -> ExitCode {
        let counts = results.counts
        let duration = console.context.elapsed() - began
        let result = results.exitCode
        var ending = console.ending(result == .success ? failure?.exitCode ?? result : result)
        let members = JSONRenderer.counts(counts)
        do {
            try reportFile?.write(
                UploadReport(
                    server: uploader.client.server.description,
                    workingDirectory: console.context.workingDirectory,
                    createdAt: console.context.now(),
                    shard: shard,
                    summary: ending.members(members, after: duration),
                    lines: results.lines
                ).text
            )
        } catch let userFacingError {
            console.error(userFacingError)
            if ending.code == .success { ending.code = .failure }
        }
        if !sending.dryRun {
            reporter.conclude(counts, results.verification)
        }
        return ending.runSummary(members, after: duration)
    }

    // MARK: Dry run

    private func rehearse(_ items: [UploadBatch.Item], _ results: UploadResults, _ reporter: UploadReporter) {
        tape?.rehearse()
        for (index, item) in items.enumerated() {
            guard console.mayContinue else { return }
            var result: UploadResult
            switch item {
            case .refused(let refusal): result = refusal
            case .ready(let upload):
                reporter.warn(upload.warnings(over: uploader.plannedTransport(of: upload).transport), of: upload.path)
                result = UploadResult(
                    path: upload.path,
                    fileName: upload.fileName,
                    server: uploader.client.server.description
                )
                result.sizeBytes = upload.sizeBytes
                result.details = upload.details
                result.plannedTransport = uploader.plannedTransport(of: upload)
            }
            results.end(index, result)
            reporter.report(result)
        }
    }

    // MARK: Uploading

    private func send(_ items: [UploadBatch.Item], _ results: UploadResults, _ reporter: UploadReporter) async {
        let control = BatchControl()
        let events = UploadEvents(
            console: console,
            display: display(fileCount: items.count, byteCount: items.reduce(0) { $0 + $1.sizeBytes }),
            results: results,
            reporter: reporter,
            tape: tape,
            drain: { control.drain() }
        )
        let files = items.map { UploadEvents.File($0, uploader) }
        let order: UploadBatch.Order = sending.order == .given ? .asGiven : .largestFirst
        let batch = UploadBatch(
            uploader: uploader,
            options: .init(jobs: jobs, order: order, failFast: sending.failFast)
        )
        await console.context.interruption.handling({ stop(control, events.display, $0) }) {
            await events.run { announce in
                await batch.run(items, control: control) { event in
                    announce(event, files[event.index])
                }
            }
        }
    }

    /// The first signal stops uploads that have not been fully sent, and waits for the tokens of the others; the second
    /// signal abandons them.
    func stop(_ control: BatchControl, _ display: ProgressDisplay, _ request: Interruption.Request) {
        guard !request.isFinal else { return control.abandon() }
        let limit = request.signal == .interrupt ? nil : settings.settings.finishTimeout.value
        display.stop(waitingFor: limit)
        control.stop(finishWithin: limit)
    }
}

extension UploadBatch.Event {
    /// Position in the batch.
    var index: Int {
        switch self {
        case .began(let index), .upload(let index, _), .withdrew(let index), .ended(let index, _): index
        }
    }

    /// This event for a different item.
    func at(_ index: Int) -> UploadBatch.Event {
        switch self {
        case .began: .began(index)
        case .upload(_, let event): .upload(index, event)
        case .withdrew: .withdrew(index)
        case .ended(_, let result): .ended(index, result)
        }
    }
}

extension UploadRun {
    /// Uploads each file in a directory once it is complete, until a signal is received or the directory disappears.
    ///
    /// If the directory disappears, the run fails after the uploads in progress are complete.
    ///
    /// - Throws: `UserFacingError` if the directory cannot be watched; otherwise as for `run`.
    func watch(_ directory: [UInt8], filter: PathFilter) async throws -> ExitCode {
        let began = console.context.elapsed()
        let watch: DirectoryWatch
        do {
            watch = try DirectoryWatch(directory, filter: filter)
        } catch {
            throw ErrorCatalog.userFacingError(ofWatching: error)
        }
        try begin(items: nil)
        console.note("watching \(ErrorCatalog.quoted(directory)); press Ctrl-C to stop")
        let results = UploadResults(keepsLines: reportFile != nil)
        let reporter = reporter(fileCount: nil)
        return await console.context.interruption.handling({ _ in }) {
            let isGone = await send(watch, results, reporter) && console.context.interruption.signal == nil
            let failure = isGone ? ErrorCatalog.userFacingError(ofLostDirectory: directory) : nil
            if let failure { console.error(failure) }
            return finish(results, reporter, began: began, after: failure)
        }
    }

    /// Returns whether the directory disappeared.
    private func send(_ watch: DirectoryWatch, _ results: UploadResults, _ reporter: UploadReporter) async -> Bool {
        let control = BatchControl()
        let display = display(fileCount: nil)
        let (arrivals, door) = AsyncStream<[UInt8]>.makeStream()
        let watching = Task {
            for await path in watch.files {
                door.yield(path)
            }
            // Determined before the consumer ends and cancels this task.
            let isGone = !Task.isCancelled
            door.finish()
            return isGone
        }
        let close = { @Sendable in
            watching.cancel()
            door.finish()
        }
        let events = UploadEvents(
            console: console,
            display: display,
            results: results,
            reporter: reporter,
            tape: tape,
            isOpenEnded: true,
            drain: {
                // Results can no longer be printed.
                control.drain()
                close()
            }
        )
        let onSignal = { @Sendable (request: Interruption.Request) in
            close()
            stop(control, display, request)
        }
        await console.context.interruption.handling(onSignal) {
            await events.run { announce in
                await send(arrivals, again: { door.yield($0) }, results, control) { event, file in
                    announce(event, file)
                    if case .ended(_, let result) = event, result.error?.endsRun == true { close() }
                }
            }
        }
        watching.cancel()
        return await watching.value
    }

    /// Uploads files as they arrive, at most `jobs` in parallel. A file that is rewritten, renamed or linked during its
    /// upload is queued again through `again` afterwards.
    private func send(
        _ arrivals: AsyncStream<[UInt8]>,
        again: @escaping @Sendable ([UInt8]) -> Void,
        _ results: UploadResults,
        _ control: BatchControl,
        _ announce: @escaping UploadEvents.Announce
    ) async {
        var arrivals = arrivals.makeAsyncIterator()
        var number = 0
        let uploading = FilesInProgress()
        await withBoundedTasks(
            limit: jobs,
            next: { () -> (path: [UInt8], item: UploadBatch.Item, index: Int)? in
                while let path = await arrivals.next(), console.mayContinue {
                    guard uploading.begin(path) else { continue }
                    number += 1
                    if let item = await item(for: path, number: number) {
                        return (path, item, results.add(item))
                    }
                    uploading.end(path).forEach(again)
                }
                return nil
            },
            ended: { (_: Void) in }
        ) { path, item, index in
            let file = UploadEvents.File(item, uploader)
            // Files that were on the server when the last file arrived may have been deleted since then.
            let batch = UploadBatch(uploader: anotherUploader(), options: .init())
            await batch.run([item], control: control) { announce($0.at(index), file) }
            uploading.end(path).forEach(again)
        }
    }

    /// A checked new file; nil if it is to be ignored.
    private func item(for path: [UInt8], number: Int) async -> UploadBatch.Item? {
        let input = UploadInput(path: path, origin: .found, number: number)
        if let shard, !shard.shard.contains(path) {
            return nil
        }
        // Only standard input can throw, and this is a path.
        guard let item = try? await plan.item(for: input) else { return nil }
        // A file that was already removed, or that is not a media file, is ignored in a watched directory.
        switch item.error?.code {
        case .unknownExtension, .fileNotFound:
            console.trace("skipped \(ErrorCatalog.quoted(path))")
            return nil
        default: return item
        }
    }
}

/// Files that are being uploaded, and paths that have arrived for them in the meantime: a file may have been rewritten,
/// renamed or linked.
private final class FilesInProgress: Sendable {
    private struct File {
        var path: [UInt8]
        var key: FileIdentity.Key?
        var arrivals: [[UInt8]] = []
    }

    private let files = Mutex<[File]>([])

    /// Returns whether to upload the file now. If it is already being uploaded, `end` returns this path.
    func begin(_ path: [UInt8]) -> Bool {
        let key = FileIdentity(ofRegularFile: path).map(FileIdentity.Key.init)
        return files.withLock { files in
            guard let index = files.firstIndex(where: { $0.path == path || (key != nil && $0.key == key) }) else {
                files.append(File(path: path, key: key))
                return true
            }
            if !files[index].arrivals.contains(path) { files[index].arrivals.append(path) }
            return false
        }
    }

    /// Returns the paths that arrived since `begin`.
    func end(_ path: [UInt8]) -> [[UInt8]] {
        files.withLock { files in
            files.firstIndex { $0.path == path }.map { files.remove(at: $0).arrivals } ?? []
        }
    }
}

/// File descriptors for parallel uploads. Without this check, an upload could fail in the middle of a run because its
/// file, lock or connection cannot be opened.
private enum DescriptorBudget {
    /// The soft limit is not raised above this value, since child processes inherit it.
    static let highestLimit: rlim_t = 4096
    /// Descriptors used by a run in addition to those of its uploads: databases, connections for queries, host names
    /// and certificates.
    static let baseCount = 16
    /// Descriptors used by an upload without parallel uploads: file, locks, rescue log, connection.
    static let singleCount = 6
    /// Descriptors used by each parallel upload, including uploads that wait for their tokens while the next files are
    /// sent.
    static let parallelCount = 15
    /// Descriptors used by one part of a tus upload: connection and file.
    static let partCount = 3

    /// Raises the soft limit as far as allowed. Returns it, and the number of free descriptors.
    static func raised() -> (limit: Int, free: Int) {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0 else { return (1024, 1024) }
        let wanted = min(limit.rlim_max, highestLimit)
        if limit.rlim_cur < wanted {
            var raised = limit
            raised.rlim_cur = wanted
            if setrlimit(resource, &raised) == 0 { limit = raised }
        }
        let count = Int(clamping: limit.rlim_cur)
        // Listing the directory uses one descriptor itself.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return (count, count - max(0, names.count - 1))
    }

    static func need(jobs: Int, parts: Int) -> Int {
        let each = jobs == 1 ? singleCount : parallelCount
        return baseCount + jobs * (each + (parts - 1) * partCount)
    }
}

extension Console {
    /// The number of parallel uploads for a command, at most `wanted`; prints a note if it is reduced. `parts` is per
    /// upload.
    ///
    /// - Throws: `UserFacingError` if not even one upload is possible.
    func affordableJobs(_ wanted: Int, parts: Int) throws(UserFacingError) -> Int {
        let (limit, free) = DescriptorBudget.raised()
        let need = { DescriptorBudget.need(jobs: $0, parts: parts) }
        guard let jobs = stride(from: wanted, through: 1, by: -1).first(where: { need($0) <= free }) else {
            throw UserFacingError(
                .resourcesExhausted,
                "not enough file descriptors for an upload: \(max(0, free)) of \(limit) are free, "
                    + "\(need(1)) are required",
                hint: "raise the limit with: ulimit -n 1024"
            )
        }
        if jobs < wanted {
            note(
                "not enough file descriptors for \(wanted) parallel uploads (ulimit -n \(limit)); "
                    + "using --jobs \(jobs)"
            )
        }
        return jobs
    }
}
