internal import CaptureSubmission
internal import HashCapture
internal import MediaCore
internal import MediaCrypto
internal import MediaStore
internal import MediaTransport
internal import Synchronization

/// Submits captures one at a time, since a server accepts a device's counters only in ascending order, and reports the
/// result of each.
final class CaptureRun: Sendable {
    /// The current job, and the state needed to stop it on a signal.
    private struct Stage {
        var work: Task<CaptureItem, any Error>
        var control: TransferControl
        /// Whether the media is still being read. Nothing is sent before reading is complete.
        var isReading: Bool
    }

    struct Job: Sendable {
        /// The path as entered by the user.
        var path: [UInt8]?
        /// Whether media is read before anything is sent.
        var readsMedia: Bool
        var work:
            @Sendable (TransferControl, _ progress: @escaping @Sendable (Int64, Int64) -> Void) async throws ->
                CaptureItem
    }

    let console: Console
    private let display: RunDisplay<CaptureReading>
    private let finishTimeout: Duration
    private let statistics = ItemStatistics<CaptureItem.State>()
    private let stage = Mutex<Stage?>(nil)

    init(_ settings: SettingsSession) {
        console = settings.console
        display = RunDisplay(settings.console)
        finishTimeout = settings.settings.finishTimeout.value
    }

    /// Runs one job at a time and returns whether all jobs ran. Further jobs do not start after a signal or once
    /// standard output is closed. `report` runs for each result before the next job starts.
    func run(_ jobs: [Job], report: (CaptureItem) -> Void) async -> Bool {
        let interruption = console.context.interruption
        return await interruption.handling({ [self] in handle($0) }) {
            await display.during {
                for job in jobs {
                    guard interruption.signal == nil, !isUnread else { return false }
                    let item = await item(of: job)
                    statistics.add(item.state, item.exitCode)
                    report(item)
                }
                return true
            }
        }
    }

    private func item(of job: Job) async -> CaptureItem {
        let control = TransferControl()
        let path = job.path ?? []
        let task = Task { [self] in
            try await job.work(control) { done, whole in
                self.display.update(CaptureReading(path: path, done: done, whole: whole))
                if done >= whole {
                    self.stage.withLock { $0?.isReading = false }
                }
            }
        }
        stage.withLock { $0 = Stage(work: task, control: control, isReading: job.readsMedia) }
        defer { stage.withLock { $0 = nil } }
        do {
            return try await task.value
        } catch {
            return CaptureItem(failure: error, path: job.path)
        }
    }

    private var isUnread: Bool {
        console.context.output.noticeClosedPipe()
        return console.context.output.failure != nil
    }

    /// A signal cancels reading immediately. If a request has already been sent, the run waits for its response; a
    /// second signal abandons the request, and its outcome stays unknown until `retry` queries the server.
    private func handle(_ request: Interruption.Request) {
        guard let stage = stage.withLock({ $0 }) else { return }
        if request.isFinal || stage.isReading {
            stage.control.abandon()
            stage.work.cancel()
        } else {
            stage.control.stop(finishWithin: request.signal == .interrupt ? nil : finishTimeout)
            console.outlast(request, for: "the server's response", finishTimeout: finishTimeout)
        }
    }

    // MARK: Result

    /// Prints the totals and writes the summary, which starts with `members`.
    func conclude(isDone: Bool, _ members: JSONObject) -> ExitCode {
        let ending = console.ending(statistics.exitCode(isStopped: !isDone))
        let words: [(state: CaptureItem.State, words: String)] = [
            (.accepted, "accepted"), (.planned, "planned"), (.pending, "not signed"), (.queued, "not sent"),
            (.submitted, "being sent"), (.unknownOutcome, "with unknown outcome"), (.rejected, "rejected"),
            (.failed, "failed"), (.cancelled, "canceled"),
        ]
        if statistics.total > 1 {
            console.note(statistics.words(words))
        }
        let counts = JSONObject(words.map { (name: $0.state.rawValue, value: JSONValue(statistics.count($0.state))) })
        return ending.runSummary(members + ["items": JSONValue(statistics.total)] + counts, after: display.elapsed)
    }
}

struct CaptureItem: Sendable {
    /// The states of records, and of captures without a record.
    enum State: String, Sendable, CaseIterable {
        case pending, queued, submitted, accepted, rejected
        case unknownOutcome = "unknown_outcome"
        /// Dry run.
        case planned
        /// A record was not written.
        case failed
        /// Stopped before a record was written.
        case cancelled

        /// Every raw value of a record's state also exists here.
        init(_ state: CaptureRecord.State) { self = Self(rawValue: state.rawValue) ?? .failed }
    }

    /// The path as entered by the user or as stored in the record; nil if only a digest was given.
    var path: [UInt8]?
    var state: State
    var record: CaptureRecord?
    var preview: CapturePreview?
    var notices: [CaptureNotice] = []
    var error: UserFacingError?
    /// Source of the capture time; nil if the time is unknown or the file was not read.
    var timeSource: CaptureTimeSource?
    /// Whether the capture was already on the server, so nothing was sent; if there is an error, this was not
    /// confirmed.
    var isKnown = false
    private var isOfOtherDevice = false

    init(_ outcome: CaptureOutcome, path: [UInt8]?) {
        self.path = path
        record = outcome.record
        state = State(outcome.record.state)
        isKnown = outcome.isKnown
        isOfOtherDevice = outcome.needsResend
        timeSource = outcome.timeSource
        // If the capture was already on the server, nothing was disclosed in this run. A capture is not public if the
        // server does not have it, or has a different submission of the same media.
        let mayBePublic =
            [.accepted, .submitted, .unknownOutcome].contains(outcome.record.state)
            && !outcome.notices.contains(.acceptedEarlier)
        notices = outcome.notices.filter { notice in
            (!isKnown || notice.isAboutEarlierSubmission) && (mayBePublic || !notice.isAboutPublication)
        }.map(\.withoutLocation)
        error = state == .accepted && outcome.error == nil ? nil : userFacingError(of: outcome)
        if let reasonToRetry {
            let hint = "\(reasonToRetry): \(continuation)"
            error?.hint = hint
        } else if isUndecidable {
            error?.hint = "the server probably has the capture and cannot be queried; no third attempt is made"
        }
    }

    /// The reason to retry this record; nil if the error has its own hint.
    private var reasonToRetry: String? {
        switch state {
        case .pending where error?.code == OutcomeCode.signingFailed.rawValue:
            "when the key can be used again"
        case .unknownOutcome where isOfOtherDevice:
            "the server shows it only to the device that submitted it; to send it again as this device"
        case .unknownOutcome where needsResend: "the server probably has it and cannot be queried; to send it again"
        default: nil
        }
    }

    init(_ preview: CapturePreview, path: [UInt8]?) {
        self.path = path
        self.preview = preview
        state = .planned
        timeSource = preview.timeSource
        notices = preview.notices
    }

    /// A record that would be retried.
    init(planned record: CaptureRecord) {
        path = record.path
        self.record = record
        state = .planned
    }

    init(failure: any Error, path: [UInt8]?, record: CaptureRecord? = nil) {
        let userFacingError = ErrorCatalog.userFacingError(of: failure)
        self.path = path
        self.record = record
        state = record.map { State($0.state) } ?? (userFacingError.exitCode == .interrupt ? .cancelled : .failed)
        error = userFacingError
    }

    /// The error in this run, otherwise the error stored in the record.
    private func userFacingError(of outcome: CaptureOutcome) -> UserFacingError {
        let record = outcome.record
        let operation: CaptureOperation =
            record.state == .accepted ? .verification : record.mode == .full ? .upload(continuation) : .submission
        if let error = outcome.error { return ErrorCatalog.userFacingError(of: error, in: operation) }
        return ErrorCatalog.userFacingError(of: record.storedError, in: operation)
    }

    var exitCode: ExitCode { error?.exitCode ?? .success }

    /// The name used in messages.
    var name: String { (path ?? record?.path).map { ErrorCatalog.quoted($0) } ?? digestName }

    var resultName: String { (path ?? record?.path).map { TerminalText.escaped($0) } ?? digestName }

    private var digestName: String {
        let hash = preview?.payload.mediaHash.hex ?? record?.mediaHash
        return hash.map { "sha256:\($0.prefix(8))" } ?? "the digest"
    }
}

extension CaptureItem {
    /// The command that finishes an unfinished capture.
    var continuation: String {
        guard record?.isUnsentUpload != true else { return sendAgain }
        return "mediactl hash-only retry \(record.map { TextRenderer.brief($0.id) } ?? "--all")"
            + (needsResend ? " --resend" : "")
    }

    /// The command that submits a capture that the server no longer has.
    var submitAgain: String {
        guard let record, record.mode == .hashOnly else { return sendAgain }
        return "mediactl hash-only retry \(TextRenderer.brief(record.id)) --resend"
    }

    /// The command that uploads the media of this capture.
    var sendAgain: String {
        let file = (path ?? record?.path).map { ShellWord.quoted($0) } ?? "FILE"
        return "mediactl hash-only send \(file) --depth FILE --send-media"
    }

    /// Whether no command can determine whether the server has the capture: the server cannot be queried, and the one
    /// allowed resend has been used (hash-only contract 1.3).
    var isUndecidable: Bool {
        guard state == .unknownOutcome, let record else { return false }
        return record.profile == CaptureProfile.reference.rawValue && record.submissions > 1
    }

    /// Whether only an explicit resend can succeed: the server cannot be queried at all (hash-only contract 1.3), or
    /// not about a capture from another device, or signing has failed too often (section 8).
    var needsResend: Bool {
        switch state {
        case .unknownOutcome:
            isOfOtherDevice || (record?.profile == CaptureProfile.reference.rawValue && !isUndecidable)
        case .pending: (record?.signingFailures ?? 0) >= CaptureSession.signingLimit
        default: false
        }
    }
}

/// Progress of reading the media.
struct CaptureReading: RunReading {
    var path: [UInt8]
    var done: Int64
    var whole: Int64

    /// While this is true, nothing has been sent.
    var isReading: Bool { done < whole }
    var amount: Int64 { done }
    var percent: Int64? { Progress.percent(done, of: whole) }

    func line(rate: Double?) -> String {
        let name = ErrorCatalog.quoted(path)
        guard isReading, let percent else { return "\(name)  waiting for the server" }
        var parts = [name, "\(Formats.bytes(done)) of \(Formats.bytes(whole)) read", "\(percent)%"]
        parts += Progress.rest(done, of: whole, rate: rate) { Formats.bytes($0) }
        return parts.joined(separator: "  ")
    }

    func record(elapsed: Duration) -> JSONObject {
        [
            "path": .path(path), "bytes_read": .integer(done), "media_bytes": .integer(whole),
            "elapsed_ms": .integer(Formats.milliseconds(elapsed)),
        ]
    }
}

extension JSONRenderer {
    /// The keys are the same with and without `--dry-run`.
    static func captureItem(_ item: CaptureItem) -> JSONObject {
        let members: JSONObject
        if let preview = item.preview {
            members = planned(preview)
        } else {
            members = capture(item.record)
        }
        return [
            "path": .path(item.path ?? item.record?.path), "state": .string(item.state.rawValue),
        ] + members + [
            "known": .bool(item.isKnown), "time_source": JSONValue(item.timeSource?.rawValue),
            "earlier_id": JSONValue(item.preview?.earlierID),
            "body": item.preview.map { .verbatim(String(decoding: $0.body.bytes, as: UTF8.self)) } ?? .null,
            "location_candidates": PlaceChoice(item.preview)?.json ?? .null,
            "notices": notices(item.notices), "exit_code": .exitCode(item.exitCode),
            "error": .error(item.error),
        ]
    }

    private static func planned(_ preview: CapturePreview) -> JSONObject {
        capture(nil).replacing([
            "media_hash": .string(preview.payload.mediaHash.hex),
            "media_type": .string(preview.payload.mediaType.rawValue), "media_bytes": JSONValue(preview.mediaBytes),
            "observed": .bool(preview.mediaBytes != nil), "payload_bytes": JSONValue(preview.body.bytes.count),
            "analysis_ms": .integer(preview.analysisMilliseconds),
        ])
    }

    static func notices(_ notices: [CaptureNotice]) -> JSONValue {
        .array(notices.map { .object(["code": .string($0.code), "message": .string($0.words)]) })
    }

    static func capture(_ record: CaptureRecord?) -> JSONObject {
        [
            "capture_id": JSONValue(record?.id), "server": JSONValue(record?.server),
            "profile": JSONValue(record?.profile), "mode": JSONValue(record?.mode?.rawValue),
            "media_hash": JSONValue(record?.mediaHash), "media_type": JSONValue(record?.mediaType),
            "media_bytes": JSONValue(record?.mediaBytes), "observed": JSONValue(record?.isObserved),
            "has_depth": JSONValue(record?.hasDepth), "level": JSONValue(record?.keyLevel),
            "device_id": JSONValue(record?.deviceID), "counter": JSONValue(record?.counter.map { Int64($0) }),
            "submissions": JSONValue(record?.submissions), "signing_failures": JSONValue(record?.signingFailures),
            "payload_bytes": JSONValue((record?.body ?? record?.unsignedBody)?.count),
            "analysis_ms": JSONValue(record?.analysisMilliseconds),
            "created_at": .time(record?.createdAt),
            "submitted_at": .time(record?.submittedAt),
            "server_capture_id": JSONValue(record?.serverCaptureID),
            "verification_url": JSONValue(record?.verificationURL), "http_status": JSONValue(record?.httpStatus),
        ]
    }
}

/// Failures go to standard error. Assertions, places and full hashes appear only in JSON (hash-only contract, trap 25).
extension TextRenderer {
    /// Name of a key, derived from the level that the server assigned to it.
    static func key(level: String) -> String {
        switch level {
        case "software": "software key"
        case "tpm2": "TPM key"
        default: "key of level \(TerminalText.escaped(level))"
        }
    }

    static func capture(_ item: CaptureItem, style: Style) -> [String] {
        guard let record = item.record else {
            return item.state == .cancelled ? ["\(item.resultName): canceled"] : []
        }
        let id = brief(record.id)
        switch item.state {
        case .accepted where item.error != nil:
            return ["\(item.resultName): accepted earlier, as \(id); not confirmed in this run"]
        case .accepted where item.isKnown:
            return ["\(item.resultName): already on the server, as \(id)"] + address(of: record)
        case .accepted:
            let level = record.keyLevel.map { ", " + Self.key(level: $0) } ?? ""
            return ["\(style.green("accepted")) \(item.resultName) as \(id) (hash \(brief(record.mediaHash))\(level))"]
                + address(of: record)
        case .unknownOutcome where item.isUndecidable:
            return ["\(item.resultName): \(words(for: record.state)); stored as \(id)"]
        case .pending, .queued, .submitted, .unknownOutcome:
            return [
                "\(item.resultName): \(words(for: record.state))",
                "  \(record.isUnsentUpload ? "send again" : "resume") with: \(item.continuation)",
            ]
        case .rejected: return ["\(item.resultName): rejected; stored as \(id)"]
        case .planned: return ["\(item.resultName): \(words(for: record.state)); \(id) would be retried"]
        case .failed, .cancelled: return []
        }
    }

    private static func address(of record: CaptureRecord) -> [String] {
        record.verificationURL.map { ["  \(TerminalText.escaped($0))"] } ?? []
    }

    static func words(for state: CaptureRecord.State) -> String {
        switch state {
        case .pending: "not signed"
        case .queued: "not sent"
        case .submitted: "being sent"
        case .accepted: "accepted"
        case .rejected: "rejected"
        case .unknownOutcome: "unknown outcome"
        }
    }
}
