internal import GigHive
internal import MediaCore
internal import MediaStore
internal import Synchronization

/// Tells the ends of uploads. In a run of many files what is alike is said once: hints, warnings, and files that were
/// not sent because the server has them.
final class UploadTeller: Sendable {
    private struct State {
        var hints: Set<String> = []
        /// How often each kind of warning came.
        var warnings: [String: Int] = [:]
        var unsaidSkips = 0
        /// Codes of failures that end the run: the other files in progress fail the same way.
        var runFailures: Set<String> = []
    }

    /// In a run of more files each has one line, and those that were skipped are only counted.
    private static let crowd = 20

    private let console: Console
    private let contact: String
    /// Files of the run; nil when nobody knows, as long as a directory is watched.
    private let fileCount: Int?
    /// Whether the command line specified the server.
    private let namesServer: Bool
    private let continuation: Continuation
    private let state = Mutex(State())

    init(
        _ console: Console,
        contact: String,
        fileCount: Int?,
        namesServer: Bool = false,
        continuation: Continuation = Continuation(arguments: [])
    ) {
        self.namesServer = namesServer
        self.continuation = continuation
        self.console = console
        self.contact = contact
        self.fileCount = fileCount
    }

    private var isBatch: Bool { fileCount != 1 }
    private var isCrowd: Bool { fileCount ?? 0 > Self.crowd && console.verbosity == 0 }

    // MARK: Ends

    /// One upload has ended; the warnings that were `said` were told before it began.
    func tell(_ result: UploadResult, said: [UploadWarning] = []) {
        let diagnosis = diagnosis(of: result)
        func record() -> JSONObject {
            JSONRenderer.upload(result, contact: contact, diagnosis: isBatch ? nil : diagnosis)
        }
        if result.isSkipped, isCrowd {
            console.record(.item, record())
            state.withLock { $0.unsaidSkips += 1 }
        } else {
            let lines = TextRenderer.upload(result, style: console.outputStyle, namesServer: namesServer)
            console.result(record(), isCrowd ? Array(lines.prefix(1)) : lines)
        }
        if result.warnings.contains(.noDeleteToken), !result.isTokenlessByDesign, isNews(.noDeleteToken) {
            let message = NoTokenMessage(contact: contact)
            console.warning(message.sentence)
            console.announce(message.fields(of: result))
        }
        warn(result.warnings.filter { $0 != .noDeleteToken && !said.contains($0) }, of: result.path)
        if let diagnosis, result.state != .cancelled {
            if result.error?.endsRun == true {
                complain(endingRun: diagnosis)
            } else {
                complain(diagnosis, of: result.path)
            }
        }
        showAsLastResort(result)
    }

    /// What went wrong with an upload. A run continues with the command line itself: a batch says so at its end.
    private func diagnosis(of result: UploadResult) -> Diagnosis? {
        var diagnosis = ErrorCatalogue.diagnosis(of: result, isOneOfMany: isBatch)
        if result.error?.code == .serverUnavailable, result.error?.field == nil {
            diagnosis?.hint = isBatch ? nil : "to continue: \(continuation.hint)"
        }
        return diagnosis
    }

    /// A failure that ends the run is reported once, and not as one of a file.
    private func complain(endingRun failure: Diagnosis) {
        guard state.withLock({ $0.runFailures.insert(failure.code).inserted }) else { return }
        console.error(failure)
    }

    private func complain(_ diagnosis: Diagnosis, of path: [UInt8]) {
        var diagnosis = isBatch ? diagnosis.naming(path) : diagnosis
        if isBatch, let hint = diagnosis.hint, !state.withLock({ $0.hints.insert(hint).inserted }) {
            diagnosis.hint = nil
        }
        console.error(diagnosis)
    }

    /// A token that neither the store nor a rescue file holds is shown to the person at the terminal, and to nobody
    /// else: the log of a CI run is public.
    private func showAsLastResort(_ result: UploadResult) {
        guard let token = result.unstoredToken, result.error?.rescuePath == nil,
            console.context.terminal.isErrorTerminal
        else { return }
        let id = result.fileID.map(String.init) ?? "this file"
        console.announce(["mediactl: keep this delete token of \(id); it could not be stored: \(token.secret)"])
    }

    // MARK: Warnings

    func warn(_ warnings: [UploadWarning], of path: [UInt8]) {
        for warning in warnings where isNews(warning) {
            let name = isBatch ? "\(ErrorCatalogue.quoted(path)): " : ""
            console.warning(name + TextRenderer.warning(warning))
        }
    }

    /// Whether a warning is said: those that name something to look after always are, others for the first few files.
    private func isNews(_ warning: UploadWarning) -> Bool {
        switch warning {
        case .rescued, .tokenKept, .responseKept, .unusableToken, .tokenLostEarlier, .tokenMayBeLost, .keptByServer,
            .guestReceiptLost:
            return true
        // Reported before the upload.
        case .detailsIgnored: return false
        case .noDeleteToken, .notVerified, .oddToken, .answeredInHTML, .aboveDirectLimit, .typeMismatch:
            let count = state.withLock { state in
                state.warnings[warning.code, default: 0] += 1
                return state.warnings[warning.code, default: 0]
            }
            return !isBatch || count <= Self.sameWarnings || console.verbosity > 0
        }
    }

    /// How often the same kind of warning is said.
    private static let sameWarnings = 3

    // MARK: The end of the run

    /// What was only counted, and how many files are on the server.
    func conclude(_ counts: UploadCounts, _ verification: UploadVerification? = nil) {
        let (skips, warnings) = state.withLock { ($0.unsaidSkips, $0.warnings) }
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
        let confirmed = comparison.map { ", \($0.confirmedCount) verified by its listing" } ?? ""
        // The listing contradicts the responses about those that it does not have.
        let present = max(0, counts.good - (comparison?.missing.count ?? 0))
        console.note(
            "\(present) of \(Formats.count(counts.items, "file")) on the server\(confirmed), "
                + "\(Formats.bytes(counts.bytesSent)) sent"
                + (counts.notStarted > 0 ? ", \(counts.notStarted) not started" : "")
        )
        if hasFailed, console.context.interruption.signal == nil {
            console.hint("to continue: \(continuation.hint)")
        }
    }
}

/// Passes the events of uploads to display, ledger and teller.
///
/// Results are told by a task of their own: a reader of standard output that takes its time must not keep the transfers
/// waiting, which the server would cut off.
struct UploadEvents: Sendable {
    let console: Console
    let display: ProgressDisplay
    let ledger: UploadLedger
    let teller: UploadTeller
    /// Gets the files that the server has.
    var tape: UploadTape?
    /// Whether the album of the tape is brought up to date after each file, and not at the end.
    var isOpenEnded = false
    /// Called when nobody reads the results any more: nothing new is to be begun.
    let drain: @Sendable () -> Void

    /// What is said of a file while it is on its way.
    struct File: Sendable {
        var path: [UInt8]
        var sizeBytes: Int64
        /// What was noticed before anything is sent, and is said before.
        var warnings: [UploadWarning] = []
    }

    typealias Announce = @Sendable (UploadBatch.Event, File) -> Void

    private enum Saying: Sendable {
        case warnings([UploadWarning], path: [UInt8])
        case end(Int, UploadResult, said: [UploadWarning])
    }

    /// Runs `work`, which announces events with the files they are about. Returns when all of them have been told.
    func run(_ work: (_ announce: @escaping Announce) async -> Void) async {
        let (sayings, voice) = AsyncStream<Saying>.makeStream()
        let telling = Task {
            for await saying in sayings {
                await tell(saying)
            }
        }
        await console.ticking({ display.tick() }, status: { display.showStatus() }) {
            await work { event, file in take(event, file, voice) }
        }
        display.close()
        voice.finish()
        await telling.value
    }

    private func take(_ event: UploadBatch.Event, _ file: File, _ voice: AsyncStream<Saying>.Continuation) {
        switch event {
        case .began(let index):
            if !file.warnings.isEmpty {
                voice.yield(.warnings(file.warnings, path: file.path))
            }
            display.begin(index, path: file.path, byteCount: file.sizeBytes)
        case .upload(let index, let event): display.handle(index, event)
        case .withdrew(let index): display.withdraw(index)
        case .ended(let index, let result):
            ledger.end(index, result)
            display.end(index, byteCount: file.sizeBytes, isGood: result.exitCode == .success)
            voice.yield(.end(index, result, said: file.warnings))
            // At once, so that nothing is begun between this end and its telling.
            console.context.output.noticeClosedPipe()
            drainIfUnread()
        }
    }

    private func tell(_ saying: Saying) async {
        switch saying {
        case .warnings(let warnings, let path): teller.warn(warnings, of: path)
        case .end(let index, let result, let said):
            teller.tell(result, said: said)
            await tape?.take(index, result)
            if isOpenEnded { await tape?.conclude(showsProgress: false) }
        }
        drainIfUnread()
    }

    private func drainIfUnread() {
        if console.context.output.failure != nil {
            drain()
        }
    }
}

extension UploadEvents.File {
    init(_ entry: UploadPlan.Entry, _ uploader: Uploader) {
        path = entry.input.path
        sizeBytes = entry.sizeBytes
        if case .ready(let upload) = entry.item {
            warnings = upload.warnings(over: uploader.plannedTransport(of: upload).transport)
        }
    }
}
