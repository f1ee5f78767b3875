internal import GigHive
internal import MediaCore
internal import MediaStore
internal import MediaTransport
internal import Synchronization

/// Shows the progress of uploads: redrawn on a terminal, as plain lines every few seconds elsewhere, or not at all. In
/// JSON mode with `--progress-events`, it also writes records.
///
/// A single file has one line. In a batch, each running upload has a line if the terminal has enough rows, and the
/// total follows; plain lines show only the total.
final class ProgressDisplay: Sendable {
    private struct State {
        var running: [Int: RunningUpload] = [:]
        var total: TotalProgress
        var rate = TransferRate()
        var passing = TransferRate()
        /// Bytes sent in this run, including failed attempts.
        var bytesSent: Int64 = 0
        /// Total size of the finished files in bytes.
        var bytesEnded: Int64 = 0
        var schedule: ProgressSchedule
        /// Time of the last check by `tick`.
        var lastLook: Duration?
        /// Maximum time that a stop waits for the token; nil for no limit.
        var waitLimit: Duration?
        var hasReportedWaiting = false

        var indices: [Int] { running.keys.sorted() }
    }

    private struct Due {
        var records: [UploadProgress] = []
        var output: ProgressSchedule.Output?
        var files: [UploadProgress] = []
        var total: TotalProgress?
    }

    private let console: Console
    private let fileCount: Int?
    private let state: Mutex<State>
    private let limitsNote = Once()

    /// Creates a display for `fileCount` files (nil if unknown) with `byteCount` bytes in total. If `mode` is nil, the
    /// console's mode is used.
    init(_ console: Console, mode: DisplayMode? = nil, fileCount: Int? = 1, byteCount: Int64 = 0) {
        self.console = console
        self.fileCount = fileCount
        state = Mutex(
            State(
                total: TotalProgress(fileCount: fileCount, byteCount: byteCount),
                schedule: ProgressSchedule(mode ?? DisplayMode(for: console), at: console.context.elapsed())
            )
        )
    }

    private var isBatch: Bool { fileCount != 1 }

    // MARK: Events

    /// `index` is the position in the run, from 0.
    func begin(_ index: Int, path: [UInt8], byteCount: Int64) {
        let now = console.context.elapsed()
        let progress = UploadProgress(path: path, byteCount: byteCount, position: index + 1, total: fileCount ?? 1)
        state.withLock { state in
            state.running[index] = RunningUpload(progress, at: now)
            if !isBatch {
                state.schedule.begin(at: now)
            }
        }
        tick()
    }

    /// An upload has finished or was refused.
    func end(_ index: Int, byteCount: Int64, isGood: Bool) {
        state.withLock { state in
            state.running[index] = nil
            state.total.ended += 1
            state.total.failed += isGood ? 0 : 1
            state.bytesEnded += byteCount
            if fileCount == nil {
                state.total.byteCount += byteCount
            }
        }
        tick()
    }

    func withdraw(_ index: Int) {
        state.withLock { $0.running[index] = nil }
        tick()
    }

    /// Clears the screen at the end of the run.
    func close() {
        state.withLock { $0.running = [:] }
        console.screen.above {}
    }

    func handle(_ index: Int, _ event: UploadEvent) {
        let now = console.context.elapsed()
        state.withLock { state in
            guard let phase = state.running[index]?.progress.phase else { return }
            defer {
                if !isBatch, state.running[index]?.progress.phase != phase {
                    state.schedule.redraw()
                }
            }
            switch event {
            case .progress(let transfer):
                state.bytesSent += state.running[index]?.take(transfer, at: now) ?? 0
                state.rate.add(bytes: state.bytesSent, at: now)
            case .retrying(let attempt, let delay, let cause):
                state.running[index]?.waitFor(attempt + 1, because: Self.reason(cause), at: now, limit: delay)
            case .resolving(let limit): state.running[index]?.enter(.resolving, at: now, limit: limit)
            case .resuming(let offset): state.running[index]?.begin(from: offset)
            case .verifying(let bytes, let count): state.running[index]?.verify(bytes, of: count, at: now)
            case .restarting: state.running[index]?.begin(from: 0)
            case .finalizing: state.running[index]?.enter(.finalizing, at: now)
            case .waitingForServer(let limit): state.running[index]?.enter(.waitingForServer, at: now, limit: limit)
            case .switching: state.running[index]?.begin(from: 0)
            case .limited(let limits): state.running[index]?.expect(token: !limits.isWithoutToken)
            case .waitingForToken, .leavingUnfinished: break
            }
        }
        report(index, event)
        tick()
    }

    /// Kept short, since the line also has a countdown.
    private static func reason(_ error: GigHiveError) -> String {
        error.code.rawValue.replacing("_", with: " ") + (error.httpStatus.map { ", \($0)" } ?? "")
    }

    /// Prints events that are reported on a separate line.
    private func report(_ index: Int, _ event: UploadEvent) {
        var name: String { isBatch ? self.name(index).map { "\($0): " } ?? "" : "" }
        switch event {
        case .retrying(let attempt, let delay, let cause):
            let reason = ErrorCatalog.userFacingError(of: cause).message
            console.warning("\(name)attempt \(attempt) failed: \(reason); retrying in \(Formats.pause(delay))")
        case .resolving(let limit):
            console.note(
                "\(name)the outcome of an upload is unknown; checking whether the server has the file"
                    + (limit > .zero ? ", for up to \(Formats.span(limit))" : "")
            )
        case .resuming(let offset):
            console.note("\(name)resuming at \(Formats.bytes(offset))")
        case .restarting(let cause):
            console.note("\(name)starting over: \(ErrorCatalog.userFacingError(of: cause).message)")
        case .leavingUnfinished:
            console.note("\(name)the server may count the earlier upload as unfinished for up to 24 hours")
        case .waitingForServer(let limit):
            console.note(
                "\(name)an earlier request may still be running on the server; retrying in at most \(Formats.span(limit))"
            )
        case .waitingForToken: reportWaiting()
        case .switching(let transport, let cause):
            let reason = ErrorCatalog.userFacingError(of: cause).message
            console.note("\(name)uploading with \(transport.rawValue) instead: \(reason)")
        case .limited(let limits):
            printOnce(limits)
            if !limits.ignoredDetails.isEmpty {
                console.warning("\(name)\(TextRenderer.warning(.detailsIgnored(limits.ignoredDetails)))")
            }
        case .progress, .verifying, .finalizing: break
        }
    }

    /// Prints, once and before the first upload, which features a tus server does not support.
    private func printOnce(_ limits: TusLimits) {
        guard limitsNote.begin() else { return }
        if limits.isWithoutToken {
            console.note(
                "uploads over tus do not get a delete token from this server: only an administrator can delete them"
            )
        }
        if let size = limits.reducedChunkBytes {
            console.note("chunks are reduced to \(Formats.bytes(size)), the largest size that this server accepts")
        }
        if limits.isInOnePart {
            console.note("this server does not accept parallel parts; each file is uploaded in one part")
        }
    }

    private func name(_ index: Int) -> String? {
        state.withLock { $0.running[index].map { ErrorCatalog.quoted($0.progress.path) } }
    }

    // MARK: Stopping

    /// Whether an upload has sent its last byte and is waiting for the response; a stop then waits as well.
    var isPastLastByte: Bool {
        state.withLock { $0.running.values.contains { $0.progress.phase.isPastLastByte } }
    }

    /// Handles a stop. After the last byte, the stop waits up to `limit` for the token; nil for no limit.
    func stop(waitingFor limit: Duration?) {
        state.withLock { $0.waitLimit = limit }
        if isPastLastByte {
            reportWaiting()
        }
    }

    /// Prints once which response a stop waits for. While a lost response is being resolved, a token can no longer
    /// arrive.
    private func reportWaiting() {
        let now = console.context.elapsed()
        let message: String? = state.withLock { state in
            guard !state.hasReportedWaiting else { return nil }
            let concerned = state.running.filter { $0.value.progress.phase != .resolving }
            guard !concerned.isEmpty else { return nil }
            state.hasReportedWaiting = true
            for index in concerned.keys where !isBatch || concerned[index]?.progress.phase.isPastLastByte == true {
                state.running[index]?.enter(.waiting, at: now)
            }
            let isWithoutToken = concerned.values.allSatisfy(\.progress.isWithoutToken)
            return WaitingMessage.text(
                for: ProgressLine.awaited(isWithoutToken: isWithoutToken),
                limit: state.waitLimit
            )
        }
        if let message {
            console.announce([message])
        }
    }

    // MARK: Drawing

    /// Draws or writes the lines, and writes records, if they are due. Called for each event and four times per second.
    func tick() {
        let now = console.context.elapsed()
        let due: Due = state.withLock { state in
            // In a batch of many small files, most events follow the last check too quickly to be shown.
            if isBatch, !console.writesProgress, let last = state.lastLook, now - last < .milliseconds(100) {
                return Due()
            }
            state.lastLook = now
            return self.due(&state, at: now)
        }
        for record in due.records {
            console.record(.progress, JSONRenderer.progress(record))
        }
        if let output = due.output, let total = due.total {
            console.show(output) { lines(due.files, total, columns: $0, rows: $1, ellipsis: $2) }
        }
    }

    private func due(_ state: inout State, at now: Duration) -> Due {
        var due = Due()
        let files = state.indices.compactMap { state.running[$0]?.reading(at: now) }
        update(&state, at: now)
        guard isBatch || !files.isEmpty else { return due }
        if console.writesProgress {
            due.records = dueRecords(&state, now)
        }
        let isSending = isBatch || files.first?.phase == .sending
        let percent = isBatch ? state.total.percent : files.first?.percent ?? 0
        (due.files, due.total) = (files, state.total)
        due.output = state.schedule.due(at: now, percent: percent, countsSteps: isSending)
        return due
    }

    private func update(_ state: inout State, at now: Duration) {
        state.total.bytesPassed = state.bytesEnded + state.running.values.reduce(0) { $0 + $1.fileBytesAcknowledged }
        state.total.bytesPerSecond = state.rate.bytesPerSecond
        state.passing.add(bytes: state.total.bytesPassed, at: now)
        state.total.passedPerSecond = state.passing.bytesPerSecond
    }

    private func lines(
        _ files: [UploadProgress],
        _ total: TotalProgress,
        columns: Int,
        rows: Int = .max,
        ellipsis: Character = "…"
    ) -> [String] {
        // One row is reserved for the cursor, and one for the total.
        let room = max(1, rows - 2)
        let lines = files.prefix(isBatch ? room : 1).map { ProgressLine.text($0, columns: columns, ellipsis: ellipsis) }
        return lines + (isBatch ? [ProgressLine.total(total, columns: columns, ellipsis: ellipsis)] : [])
    }

    /// SIGUSR1: prints the status now, in any mode.
    func showStatus() {
        let now = console.context.elapsed()
        let (files, total) = state.withLock { state in
            let files = state.indices.compactMap { state.running[$0]?.reading(at: now) }
            update(&state, at: now)
            return (files, state.total)
        }
        let lines = lines(files, total, columns: 200)
        console.announce(lines.isEmpty ? ["mediactl: no upload is running"] : lines)
    }

    /// One record per second for each upload, and one for each change of phase.
    private func dueRecords(_ state: inout State, _ now: Duration) -> [UploadProgress] {
        var records: [UploadProgress] = []
        for index in state.indices where state.running[index]?.lastRecord.map({ now - $0 >= .seconds(1) }) ?? true {
            state.running[index]?.lastRecord = now
            if let reading = state.running[index]?.reading(at: now) {
                records.append(reading)
            }
        }
        return records
    }
}
