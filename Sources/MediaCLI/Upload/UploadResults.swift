internal import GigHive
internal import MediaCore
internal import MediaStore
internal import Synchronization

/// Results of the files in a run.
final class UploadResults: Sendable {
    private struct State {
        var items: [Int: UploadBatch.Item] = [:]
        /// Report lines, kept instead of the results.
        var lines: [Int: String] = [:]
        var counts = UploadCounts()
        var codes: Set<ExitCode> = []
        var stored: [StoredFile] = []
        var verification: UploadVerification?
        var runFailure: UserFacingError?
    }

    /// A file in the run that the server confirmed.
    struct StoredFile: Sendable {
        var index: Int
        var path: [UInt8]
        var upload: StoredUpload
    }

    private let keepsLines: Bool
    private let keepsStored: Bool
    private let endsWithRunFailure: Bool
    private let state: Mutex<State>

    /// `keepsLines` enables `lines`, which would grow without limit while a directory is watched; `keepsStored` does
    /// the same for `stored`. `endsWithRunFailure` means that all files are for one server, whose failure determines
    /// the exit code.
    init(
        _ items: [UploadBatch.Item?] = [],
        keepsLines: Bool = true,
        keepsStored: Bool = false,
        endsWithRunFailure: Bool = true
    ) {
        self.endsWithRunFailure = endsWithRunFailure
        self.keepsLines = keepsLines
        self.keepsStored = keepsStored
        state = Mutex(State())
        for item in items { _ = add(item) }
    }

    /// Returns the index of the file.
    func add(_ item: UploadBatch.Item?) -> Int {
        state.withLock { state in
            let index = state.counts.items
            state.counts.items += 1
            if keepsLines {
                state.items[index] = item
            }
            return index
        }
    }

    func end(_ index: Int, _ result: UploadResult) {
        state.withLock { state in
            let values = result.values
            state.counts.add(values)
            state.codes.insert(values.exitCode)
            if let error = values.error, error.endsRun, state.runFailure == nil {
                state.runFailure = ErrorCatalog.userFacingError(of: error)
            }
            if keepsStored, let upload = StoredUpload(result) {
                state.stored.append(StoredFile(index: index, path: result.path, upload: upload))
            }
            if let item = state.items[index] {
                state.lines[index] = UploadReport.line(item, result)
            }
        }
    }

    /// Adds the exit code of a file that was not started.
    func skip(_ code: ExitCode) {
        state.withLock { _ = $0.codes.insert(code) }
    }

    /// The report line of each file in the given order, including files that were not started.
    var lines: [String] {
        state.withLock { state in
            let listed = state.verification.flatMap { $0.failure == nil ? $0.confirmed : nil }
            let compared = Set(state.stored.map(\.index))
            return state.items.sorted { $0.key < $1.key }.map { index, item in
                let line = state.lines[index] ?? UploadReport.line(item, nil)
                return UploadReport.line(line, isVerified: compared.contains(index) ? listed?.contains(index) : nil)
            }
        }
    }

    /// The files that the server confirmed; empty unless `keepsStored`.
    var stored: [StoredFile] { state.withLock { $0.stored } }

    /// The result of comparing these files with the server's listing; nil until the listing has been read.
    var verification: UploadVerification? { state.withLock { $0.verification } }

    func note(_ verification: UploadVerification) {
        state.withLock { $0.verification = verification }
    }

    var counts: UploadCounts { state.withLock { $0.counts } }

    var runFailure: UserFacingError? { state.withLock { $0.runFailure } }

    /// `.partly` if files are missing from the listing; otherwise the exit code for the failure that stopped the run,
    /// or for the files as a batch.
    var exitCode: ExitCode {
        state.withLock { state in
            guard state.verification?.missing.isEmpty ?? true else { return .partly }
            if let failure = state.runFailure, endsWithRunFailure { return failure.exitCode }
            return ExitCode.batch(state.codes, isWhole: state.counts.notStarted == 0)
        }
    }
}

/// The number of files by result.
struct UploadCounts: Sendable, Equatable {
    var items = 0
    var ended = 0
    var states: [UploadState: Int] = [:]
    /// Number of files on the server for which nothing was sent.
    var skipped = 0
    /// Number of files whose upload was resumed from an earlier run.
    var resumed = 0
    var bytesSent: Int64 = 0

    mutating func add(_ result: UploadResult.Values) {
        ended += 1
        // The state of an upload that cannot be resumed comes from an earlier run.
        let state = result.error?.code == .notResumable ? UploadState.failed : result.state
        states[state, default: 0] += 1
        skipped += result.isSkipped ? 1 : 0
        resumed += result.isResumed ? 1 : 0
        bytesSent += result.bytesSent
    }

    var notStarted: Int { items - ended }

    func count(_ state: UploadState) -> Int { states[state, default: 0] }

    /// Number of files that the server confirmed, including those without a stored delete token.
    var present: Int { UploadState.allCases.filter { $0.isStored || $0 == .finalized }.reduce(0) { $0 + count($1) } }
}

extension JSONRenderer {
    static func counts(_ counts: UploadCounts) -> JSONObject {
        let states: [UploadState] = [
            .planned, .done, .linked, .duplicate, .refusedDuplicate, .failed, .cancelled, .unknownOutcome, .tokenLost,
            .finalized,
        ]
        let byState = JSONObject(states.map { ($0.rawValue, JSONValue(counts.count($0))) })
        return ["items": JSONValue(counts.items)] + byState + [
            "not_started": JSONValue(counts.notStarted), "skipped": JSONValue(counts.skipped),
            "resumed": JSONValue(counts.resumed), "bytes_sent": .integer(counts.bytesSent),
        ]
    }
}
