internal import GigHive
internal import MediaCore
internal import MediaStore
internal import Synchronization

/// What became of each file of a run.
final class UploadLedger: Sendable {
    private struct State {
        var entries: [Int: UploadPlan.Entry] = [:]
        /// Lines of the report, so that the results need not be kept.
        var lines: [Int: String] = [:]
        var counts = UploadCounts()
        var codes: Set<ExitCode> = []
        var stored: [StoredFile] = []
        var verification: UploadVerification?
        var runFailure: Diagnosis?
    }

    /// A file of the run that the server confirmed.
    struct StoredFile: Sendable {
        var index: Int
        var path: [UInt8]
        var upload: StoredUpload
    }

    private let keepsLines: Bool
    private let keepsStored: Bool
    private let endsWithRunFailure: Bool
    private let state: Mutex<State>

    /// - Parameters:
    ///   - entries: The files.
    ///   - keepsLines: Whether `lines` is used; a directory may be watched for months.
    ///   - keepsStored: Whether `stored` is used.
    ///   - endsWithRunFailure: Whether all files are for one server, whose failure decides how the program ends.
    init(
        _ entries: [UploadPlan.Entry?] = [],
        keepsLines: Bool = true,
        keepsStored: Bool = false,
        endsWithRunFailure: Bool = true
    ) {
        self.endsWithRunFailure = endsWithRunFailure
        self.keepsLines = keepsLines
        self.keepsStored = keepsStored
        state = Mutex(State())
        for entry in entries {
            _ = add(entry)
        }
    }

    /// A file more.
    ///
    /// - Returns: Its index.
    func add(_ entry: UploadPlan.Entry?) -> Int {
        state.withLock { state in
            let index = state.counts.items
            state.counts.items += 1
            if keepsLines {
                state.entries[index] = entry
            }
            return index
        }
    }

    /// A file has ended.
    func end(_ index: Int, _ result: UploadResult) {
        state.withLock { state in
            state.counts.add(result)
            state.codes.insert(result.exitCode)
            if let error = result.error, error.endsRun, state.runFailure == nil {
                state.runFailure = ErrorCatalogue.diagnosis(of: error)
            }
            if keepsStored, let upload = StoredUpload(result) {
                state.stored.append(StoredFile(index: index, path: result.path, upload: upload))
            }
            if let entry = state.entries[index] {
                state.lines[index] = UploadReport.line(entry, result)
            }
        }
    }

    /// A file was not started; `code` is the reason.
    func skip(_ code: ExitCode) {
        state.withLock { _ = $0.codes.insert(code) }
    }

    /// Every file's line of the report in the order given, also of those that were never begun.
    var lines: [String] {
        state.withLock { state in
            state.entries.sorted { $0.key < $1.key }.map { index, entry in
                let line = state.lines[index] ?? UploadReport.line(entry, nil)
                return UploadReport.line(line, isVerified: state.verification?.isConfirmed(index))
            }
        }
    }

    /// The files that the server confirmed, if they were kept.
    var stored: [StoredFile] { state.withLock { $0.stored } }

    /// The result of verifying them against the server's listing, once it was read.
    var verification: UploadVerification? { state.withLock { $0.verification } }

    /// The run was compared with the server's listing.
    func note(_ verification: UploadVerification) {
        state.withLock { $0.verification = verification }
    }

    var counts: UploadCounts { state.withLock { $0.counts } }

    /// The failure that ended the run.
    var runFailure: Diagnosis? { state.withLock { $0.runFailure } }

    /// How the program ends: as the failure that ended the run, otherwise as its files, when they ended alike.
    var exitCode: ExitCode {
        state.withLock { state in
            guard state.verification?.missing.isEmpty ?? true else { return .partly }
            if let failure = state.runFailure, endsWithRunFailure { return failure.exitCode }
            return ExitCode.batch(state.codes, isWhole: state.counts.notStarted == 0)
        }
    }
}

/// How many files of a run ended how.
struct UploadCounts: Sendable, Equatable {
    var items = 0
    var ended = 0
    var states: [UploadState: Int] = [:]
    /// Of those that are on the server: those that nothing was sent of.
    var skipped = 0
    /// Those that went on from an earlier run.
    var resumed = 0
    var bytesSent: Int64 = 0

    mutating func add(_ result: UploadResult) {
        ended += 1
        states[result.state, default: 0] += 1
        skipped += result.isSkipped ? 1 : 0
        resumed += result.isResumed ? 1 : 0
        bytesSent += result.bytesSent
    }

    var notStarted: Int { items - ended }

    func count(_ state: UploadState) -> Int { states[state, default: 0] }

    /// Those that are on the server with nothing left to do.
    var good: Int { count(.done) + count(.linked) + count(.duplicate) }
}

extension JSONRenderer {
    static func counts(_ counts: UploadCounts, duration: Duration, signal: StopSignal?, _ code: ExitCode) -> JSONObject
    {
        func count(_ state: UploadState) -> JSONValue { JSONValue(counts.count(state)) }
        return [
            "items": JSONValue(counts.items), "planned": count(.planned), "done": count(.done),
            "linked": count(.linked),
            "duplicate": count(.duplicate), "refused_duplicate": count(.refusedDuplicate), "failed": count(.failed),
            "cancelled": count(.cancelled),
            "unknown_outcome": count(.unknownOutcome), "token_lost": count(.tokenLost),
            "finalized": count(.finalized), "not_started": JSONValue(counts.notStarted),
            "skipped": JSONValue(counts.skipped),
            "resumed": JSONValue(counts.resumed), "bytes_sent": .integer(counts.bytesSent),
            "duration_ms": .integer(Formats.milliseconds(duration)), "signal": JSONValue(signal?.name),
            "exit_code": exitCode(code),
        ]
    }
}
