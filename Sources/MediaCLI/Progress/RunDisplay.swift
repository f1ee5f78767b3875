internal import MediaCore
internal import MediaFiles
internal import Synchronization

/// Where a long run stands, in words and as a record.
protocol RunReading: Sendable {
    /// What its rate is made of: bytes, or things.
    var amount: Int64 { get }
    /// Whole percent, never over 100; nil as long as nobody knows the whole.
    var percent: Int64? { get }
    /// One line.
    ///
    /// - Parameter rate: `amount` a second over the last seconds; nil as long as too little is known.
    /// - Returns: Words without a line break.
    func line(rate: Double?) -> String
    /// The members of its JSON record.
    func record(elapsed: Duration) -> JSONObject
}

/// Shows how a long run gets on: one line drawn again and again on a terminal, a plain line now and then elsewhere, or
/// nothing. In JSON with `--progress-events` it writes a record a second as well.
final class RunDisplay<Reading: RunReading>: Sendable {
    private struct State {
        var reading: Reading?
        var rate = TransferRate()
        var began: Duration
        var linePace: LinePace
        var lastDrawing: Duration?
        var lastRecord: Duration?
    }

    private let console: Console
    private let mode: DisplayMode
    private let writesRecords: Bool
    private let state: Mutex<State>

    init(_ console: Console, writesRecords: Bool) {
        self.console = console
        mode = DisplayMode(for: console)
        self.writesRecords = writesRecords
        let now = console.context.elapsed()
        state = Mutex(State(began: now, linePace: LinePace(at: now)))
    }

    /// Takes a reading; from any thread.
    func update(_ reading: Reading) {
        let now = console.context.elapsed()
        state.withLock { state in
            state.reading = reading
            state.rate.add(bytes: reading.amount, at: now)
        }
        tick()
    }

    /// The latest reading.
    var latest: Reading? { state.withLock { $0.reading } }

    /// Since the display was made.
    var elapsed: Duration { console.context.elapsed() - state.withLock { $0.began } }

    /// Draws, writes a line or a record, when it is time. Called with each reading and four times a second.
    func tick() {
        let now = console.context.elapsed()
        let (record, drawing, line) = state.withLock { state -> (JSONObject?, String?, String?) in
            guard let reading = state.reading else { return (nil, nil, nil) }
            return (
                dueRecord(&state, reading, now), dueDrawing(&state, reading, now), dueLine(&state, reading, now)
            )
        }
        if let record {
            console.record(.progress, record)
        }
        if let drawing {
            let columns = console.context.terminal.columns(console.context.errors.descriptor) - 1
            let ellipsis = console.errorStyle.ellipsis
            console.screen.draw([TerminalText.truncated(drawing, to: max(1, columns), ellipsis: ellipsis)])
        }
        if let line {
            console.announce([line])
        }
    }

    private func dueRecord(_ state: inout State, _ reading: Reading, _ now: Duration) -> JSONObject? {
        guard writesRecords, state.lastRecord.map({ now - $0 >= .seconds(1) }) ?? true else { return nil }
        state.lastRecord = now
        return reading.record(elapsed: now - state.began)
    }

    private func dueDrawing(_ state: inout State, _ reading: Reading, _ now: Duration) -> String? {
        guard mode == .terminal, state.lastDrawing.map({ now - $0 >= .milliseconds(100) }) ?? true else { return nil }
        state.lastDrawing = now
        return reading.line(rate: state.rate.bytesPerSecond)
    }

    private func dueLine(_ state: inout State, _ reading: Reading, _ now: Duration) -> String? {
        guard mode == .plain, state.linePace.isDue(at: now, percent: reading.percent ?? 0) else { return nil }
        return reading.line(rate: state.rate.bytesPerSecond)
    }

    /// SIGUSR1: the status now, whatever the mode.
    func showStatus() {
        let line = state.withLock { state in state.reading.map { $0.line(rate: state.rate.bytesPerSecond) } }
        console.announce([line ?? "mediactl: no progress yet"])
    }

    /// Shows the run as long as `body` lasts; nothing is left on the screen.
    func during<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        defer { console.screen.above {} }
        return try await console.ticking({ [self] in tick() }, status: { [self] in showStatus() }, body)
    }
}
