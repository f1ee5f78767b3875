internal import GigHive
internal import MediaCore
internal import MediaStore
internal import Synchronization

/// Reports the results of uploads. In a batch, repeated messages (hints, warnings, and skipped files) are printed once.
final class UploadReporter: Sendable {
    private struct State {
        var hints: Set<String> = []
        /// Number of warnings of each kind.
        var warnings: [String: Int] = [:]
        var unreportedSkips = 0
        /// Codes of failures that end the run; other files in progress fail in the same way.
        var runFailures: Set<String> = []
    }

    /// In a batch with more files than this, each file has one line, and skipped files are only counted.
    private static let largeBatchSize = 20

    private let console: Console
    private let contact: String
    /// nil if unknown, while a directory is watched.
    private let fileCount: Int?
    /// Whether printed commands need `--server`.
    private let namesServer: @Sendable (_ server: String) -> Bool
    private let continuation: Continuation
    private let state = Mutex(State())

    init(
        _ console: Console,
        contact: String,
        fileCount: Int?,
        namesServer: @escaping @Sendable (_ server: String) -> Bool = { _ in false },
        continuation: Continuation = Continuation(arguments: [])
    ) {
        self.namesServer = namesServer
        self.continuation = continuation
        self.console = console
        self.contact = contact
        self.fileCount = fileCount
    }

    private var isBatch: Bool { fileCount != 1 }
    private var isLargeBatch: Bool { fileCount ?? 0 > Self.largeBatchSize && console.verbosity == 0 }

    // MARK: Results

    /// Reports a result. The warnings in `reported` were already printed before the upload.
    func report(_ result: UploadResult, reported: [UploadWarning] = []) {
        let values = result.values
        let userFacingError = userFacingError(of: result)
        func record() -> JSONObject {
            JSONRenderer.upload(result, contact: contact, userFacingError: isBatch ? nil : userFacingError)
        }
        if values.isSkipped, isLargeBatch {
            console.record(.item, record())
            state.withLock { $0.unreportedSkips += 1 }
        } else if isLargeBatch {
            console.result(record(), TextRenderer.headline(of: result, console.outputStyle).map { [$0] } ?? [])
        } else {
            let namesServer = namesServer(values.server)
            console.result(record(), TextRenderer.upload(result, style: console.outputStyle, namesServer: namesServer))
        }
        if values.warnings.contains(.noDeleteToken), !values.isTokenlessByDesign, isFirst(.noDeleteToken) {
            let message = NoTokenMessage(contact: contact)
            console.warning(message.sentence)
            console.announce(message.fields(of: result))
        }
        warn(values.warnings.filter { $0 != .noDeleteToken && !reported.contains($0) }, of: values.path)
        if let userFacingError, !values.isCanceled {
            if values.error?.endsRun == true {
                reportFailure(endingRun: userFacingError)
            } else {
                reportFailure(userFacingError, of: values.path)
            }
        }
        showAsLastResort(values)
    }

    /// The hint to repeat the command line is printed with each upload, or, for a batch, only at its end.
    private func userFacingError(of result: UploadResult) -> UserFacingError? {
        var userFacingError = ErrorCatalog.userFacingError(of: result, isOneOfMany: isBatch)
        if let error = result.values.error, error.code == .serverUnavailable, error.field == nil {
            userFacingError?.hint = isBatch ? nil : "to continue: \(continuation.hint)"
        }
        let server = result.values.server
        return namesServer(server)
            ? userFacingError?.completed(by: console.hintOptions(naming: server)) : userFacingError
    }

    /// A failure that ends the run is reported once, not for each file.
    private func reportFailure(endingRun failure: UserFacingError) {
        guard state.withLock({ $0.runFailures.insert(failure.code).inserted }) else { return }
        console.error(failure)
    }

    private func reportFailure(_ userFacingError: UserFacingError, of path: [UInt8]) {
        var userFacingError = isBatch ? userFacingError.naming(path) : userFacingError
        if isBatch, let hint = userFacingError.hint, !state.withLock({ $0.hints.insert(hint).inserted }) {
            userFacingError.hint = nil
        }
        console.error(userFacingError)
    }

    /// A token that could be stored neither in the store nor in a rescue file is printed only on a terminal: the log of
    /// a CI run may be public.
    private func showAsLastResort(_ result: UploadResult.Values) {
        guard let token = result.unstoredToken, result.error?.rescuePath == nil,
            console.context.terminal.isErrorTerminal
        else { return }
        let id = result.fileID.map(String.init) ?? "this file"
        console.announce(["mediactl: keep this delete token of \(id); it could not be stored: \(token.secret)"])
    }

    // MARK: Warnings

    func warn(_ warnings: [UploadWarning], of path: [UInt8]) {
        for warning in warnings where isFirst(warning) {
            let name = isBatch ? "\(ErrorCatalog.quoted(path)): " : ""
            console.warning(name + TextRenderer.warning(warning))
        }
    }

    /// Whether to print a warning: always if it requires action, otherwise only for the first few files.
    private func isFirst(_ warning: UploadWarning) -> Bool {
        switch warning {
        case .rescued, .tokenKept, .responseKept, .unusableToken, .tokenLostEarlier, .tokenMayBeLost, .keptByServer,
            .guestReceiptLost:
            return true
        // This warning is reported before the upload.
        case .detailsIgnored: return false
        case .noDeleteToken, .notVerified, .oddToken, .respondedInHTML, .aboveDirectLimit, .typeMismatch:
            let count = state.withLock { state in
                state.warnings[warning.code, default: 0] += 1
                return state.warnings[warning.code, default: 0]
            }
            return !isBatch || count <= Self.sameWarnings || console.verbosity > 0
        }
    }

    /// Maximum number of printed warnings of the same kind.
    private static let sameWarnings = 3

    // MARK: End of the run

    /// Prints the counts and the number of files on the server.
    func conclude(_ counts: UploadCounts, _ verification: UploadVerification? = nil) {
        let (skips, warnings) = state.withLock { ($0.unreportedSkips, $0.warnings) }
        for (code, count) in warnings.sorted(by: { $0.key < $1.key })
        where isBatch && count > Self.sameWarnings && console.verbosity == 0 {
            let files = Formats.count(count - Self.sameWarnings, "more file")
            console.warning("\(code.replacing("_", with: " ")): \(files); use -v to list them")
        }
        if skips > 0 {
            console.text(["\(Formats.count(skips, "file")) skipped: already on the server"])
        }
        // With --watch, the number of files is known only at the end.
        guard counts.items > 1 || fileCount == nil else { return }
        let hasFailed = state.withLock { !$0.runFailures.isEmpty }
        if counts.notStarted > 0, !hasFailed, console.context.interruption.signal == nil {
            console.note("to upload the files that were not started, run the same command again")
        }
        let comparison = verification.flatMap { $0.failure == nil ? $0 : nil }
        let confirmed = comparison.map { ", \($0.confirmed.count) verified by its listing" } ?? ""
        // The listing overrides the responses for files that it does not contain.
        let present = max(0, counts.present - (comparison?.missing.count ?? 0))
        let elsewhere = counts.count(.refusedDuplicate)
        console.note(
            "\(present) of \(Formats.count(counts.items, "file")) on the server\(confirmed), "
                + (elsewhere > 0 ? "\(elsewhere) outside the event, " : "")
                + "\(Formats.bytes(counts.bytesSent)) sent"
                + (counts.notStarted > 0 ? ", \(counts.notStarted) not started" : "")
        )
        if hasFailed, console.context.interruption.signal == nil {
            console.hint("to continue: \(continuation.hint)")
        }
    }
}

/// Passes upload events to the display, the results and the reporter.
///
/// Results are reported in a separate task, so a slow reader of standard output does not stall the transfers, which the
/// server would then abort.
struct UploadEvents: Sendable {
    let console: Console
    let display: ProgressDisplay
    let results: UploadResults
    let reporter: UploadReporter
    /// Receives the uploaded files.
    var tape: UploadTape?
    /// Whether to update the tape's album after each file, instead of at the end.
    var isOpenEnded = false
    /// Called when standard output is closed: nothing new may start.
    let drain: @Sendable () -> Void

    /// Report data of a running upload.
    struct File: Sendable {
        var path: [UInt8]
        var sizeBytes: Int64
        /// Warnings from before the upload, which are also printed before it.
        var warnings: [UploadWarning] = []
    }

    typealias Announce = @Sendable (UploadBatch.Event, File) -> Void

    private typealias Message = @Sendable () async -> Void

    /// Runs `work`, which announces the events of files. Returns after all of them are reported.
    func run(_ work: (_ announce: @escaping Announce) async -> Void) async {
        let (messages, queue) = AsyncStream<Message>.makeStream()
        let reporting = Task {
            for await message in messages {
                await message()
                drainIfUnread()
            }
        }
        await console.ticking({ display.tick() }, status: { display.showStatus() }) {
            await work { event, file in take(event, file, queue) }
        }
        display.close()
        queue.finish()
        await reporting.value
    }

    private func take(_ event: UploadBatch.Event, _ file: File, _ queue: AsyncStream<Message>.Continuation) {
        switch event {
        case .began(let index):
            if !file.warnings.isEmpty {
                queue.yield { reporter.warn(file.warnings, of: file.path) }
            }
            display.begin(index, path: file.path, byteCount: file.sizeBytes)
        case .upload(let index, let event): display.handle(index, event)
        case .withdrew(let index): display.withdraw(index)
        case .ended(let index, let result):
            results.end(index, result)
            display.end(index, byteCount: file.sizeBytes, isGood: result.exitCode == .success)
            queue.yield {
                reporter.report(result, reported: file.warnings)
                await tape?.take(index, result)
                if isOpenEnded { await tape?.conclude(showsProgress: false) }
            }
            // Checked immediately, so nothing starts between this event and its report.
            console.context.output.noticeClosedPipe()
            drainIfUnread()
        }
    }

    private func drainIfUnread() {
        if console.context.output.failure != nil {
            drain()
        }
    }
}

extension UploadEvents.File {
    init(_ item: UploadBatch.Item, _ uploader: Uploader) {
        path = item.path
        sizeBytes = item.sizeBytes
        if case .ready(let upload) = item {
            warnings = upload.warnings(over: uploader.plannedTransport(of: upload).transport)
        }
    }
}
