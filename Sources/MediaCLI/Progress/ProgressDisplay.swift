internal import GigHive
internal import MediaTransport
internal import Synchronization

/// Shows how uploads get on: drawn again and again on a terminal, a plain line now and then elsewhere, or not at all.
/// In JSON with `--progress-events` it writes records as well.
final class ProgressDisplay: Sendable {
    enum Mode: Sendable {
        case terminal
        case plain
        case silent
    }

    private struct Current {
        var progress: UploadProgress
        var began: Duration
        var phaseBegan: Duration
        var rate = TransferRate()
        /// When and at which percent a plain line was written last.
        var lastLine: Duration
        var lastPercent: Int64 = 0
        var lastRecord: Duration?
        var lastDrawing: Duration?
        /// How long a stop waits for the token; nil for as long as it takes.
        var waitLimit: Duration?
        var hasSaidWaiting = false

        mutating func enter(_ phase: UploadProgress.Phase, at time: Duration) {
            guard phase != progress.phase else { return }
            progress.phase = phase
            phaseBegan = time
            lastRecord = nil
            lastDrawing = nil
        }

        mutating func update(at time: Duration) {
            progress.elapsed = time - began
            progress.phaseElapsed = time - phaseBegan
            progress.bytesPerSecond = rate.bytesPerSecond
        }
    }

    private let console: Console
    private let mode: Mode
    private let writesRecords: Bool
    private let current = Mutex<Current?>(nil)

    init(_ console: Console, mode: Mode, writesRecords: Bool) {
        self.console = console
        self.mode = mode
        self.writesRecords = writesRecords
    }

    /// The mode that suits the surroundings.
    static func mode(for console: Console) -> Mode {
        if console.isQuiet {
            return .silent
        }
        let isDumb = console.context.environment["TERM", default: "dumb"] == "dumb"
        return console.context.terminal.isErrorTerminal && !isDumb ? .terminal : .plain
    }

    // MARK: One upload after the other

    func begin(path: [UInt8], byteCount: Int64, position: Int, total: Int) {
        let now = console.context.elapsed()
        current.withLock {
            $0 = Current(
                progress: UploadProgress(path: path, byteCount: byteCount, position: position, total: total),
                began: now,
                phaseBegan: now,
                lastLine: now
            )
        }
        tick()
    }

    func end() {
        current.withLock { $0 = nil }
        console.screen.above {}
    }

    /// Whether the last byte is out and the answer is due, so that a stop means waiting.
    var isPastLastByte: Bool {
        current.withLock { current in
            switch current?.progress.phase {
            case .processing, .receiving, .waiting: true
            default: false
            }
        }
    }

    func handle(_ event: UploadEvent) {
        let now = console.context.elapsed()
        switch event {
        case .progress(let transfer): take(transfer, at: now)
        case .retrying(let attempt, let delay, let cause):
            current.withLock { $0?.enter(.retrying, at: now) }
            let reason = ErrorCatalogue.diagnosis(of: cause).message
            console.warning("try \(attempt) failed: \(reason); trying again in \(Formats.span(delay))")
        case .resolving(let limit):
            current.withLock { $0?.enter(.resolving, at: now) }
            console.note(
                "the answer was lost; asking the server whether it has the file, for up to \(Formats.span(limit))"
            )
        case .waitingForToken: sayWaiting()
        case .resuming, .proving, .restarting, .finalizing, .waitingForQuiet: break
        }
        tick()
    }

    private func take(_ transfer: TransferProgress, at now: Duration) {
        current.withLock { current in
            let isWaiting = current?.progress.phase == .waiting
            let phase = UploadProgress.Phase(transfer.phase)
            current?.enter(isWaiting && phase != .sending ? .waiting : phase, at: now)
            current?.progress.bytesAcknowledged = transfer.bytesAcknowledged
            current?.progress.attempt = transfer.attempt
            if transfer.bodyByteCount > 0 {
                current?.progress.byteCount = transfer.bodyByteCount
            }
            current?.rate.add(bytes: transfer.bytesAcknowledged, at: now)
        }
    }

    /// A stop was heard.
    ///
    /// - Parameter limit: How long the token is waited for when the last byte is out; nil for as long as it takes.
    func stop(waitingFor limit: Duration?) {
        current.withLock { $0?.waitLimit = limit }
        if isPastLastByte {
            sayWaiting()
        }
    }

    /// Says once what is waited for. While the server is asked about a lost answer, no token can come any more.
    private func sayWaiting() {
        let now = console.context.elapsed()
        let message: String? = current.withLock { current in
            guard let state = current, !state.hasSaidWaiting, state.progress.phase != .resolving else { return nil }
            current?.hasSaidWaiting = true
            current?.enter(.waiting, at: now)
            return WaitingMessage.text(for: "the delete token", limit: state.waitLimit)
        }
        if let message {
            console.announce([message])
        }
    }

    // MARK: Showing

    /// Draws, writes a line or a record, when it is time. Called with each event and once a second.
    func tick() {
        let now = console.context.elapsed()
        let (record, drawing, line) = current.withLock { current in
            guard current != nil else { return (UploadProgress?.none, UploadProgress?.none, UploadProgress?.none) }
            current?.update(at: now)
            return (dueRecord(&current, now), dueDrawing(&current, now), dueLine(&current, now))
        }
        if let record {
            console.record(.progress, JSONRenderer.progress(record))
        }
        if let drawing {
            let columns = console.context.terminal.columns(console.context.errors.descriptor)
            console.screen.draw([ProgressLine.text(drawing, columns: columns - 1)])
        }
        if let line {
            console.announce([ProgressLine.text(line, columns: 200)])
        }
    }

    /// SIGUSR1: the status now, whatever the mode.
    func showStatus() {
        let now = console.context.elapsed()
        let progress = current.withLock { current in
            current?.update(at: now)
            return current?.progress
        }
        console.announce([progress.map { ProgressLine.text($0, columns: 200) } ?? "mediactl: no upload is running"])
    }

    /// One record a second, and one for each change of phase.
    private func dueRecord(_ current: inout Current?, _ now: Duration) -> UploadProgress? {
        guard writesRecords, let state = current, state.lastRecord.map({ now - $0 >= .seconds(1) }) ?? true else {
            return nil
        }
        current?.lastRecord = now
        return state.progress
    }

    private func dueDrawing(_ current: inout Current?, _ now: Duration) -> UploadProgress? {
        guard mode == .terminal, let state = current,
            state.lastDrawing.map({ now - $0 >= .milliseconds(100) }) ?? true
        else { return nil }
        current?.lastDrawing = now
        return state.progress
    }

    /// A line every ten seconds, or every ten percent of the bytes, but not more than one a second.
    private func dueLine(_ current: inout Current?, _ now: Duration) -> UploadProgress? {
        guard mode == .plain, let state = current else { return nil }
        let silence = now - state.lastLine
        let isStep = state.progress.phase == .sending && state.progress.percent / 10 > state.lastPercent / 10
        guard silence >= .seconds(10) || (isStep && silence >= .seconds(1)) else { return nil }
        current?.lastLine = now
        current?.lastPercent = state.progress.percent
        return state.progress
    }
}
