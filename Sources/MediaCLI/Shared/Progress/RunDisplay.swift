internal import MediaCore
internal import MediaTransport
internal import PhotoSync
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
        var throttle: Throttle
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
        state = Mutex(State(began: now, throttle: Throttle(at: now)))
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
        guard mode == .plain, state.throttle.isDue(at: now, percent: reading.percent ?? 0) else { return nil }
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

extension Console {
    /// Runs `body`, calls `tick` four times a second meanwhile, and `status` when SIGUSR1 asks for it.
    func ticking<Value>(
        _ tick: @escaping @Sendable () -> Void,
        status: @escaping @Sendable () -> Void,
        _ body: () async throws -> Value
    ) async rethrows -> Value {
        context.interruption.onStatusRequest(status)
        let ticker = Task {
            while !Task.isCancelled {
                try await Task.sleep(for: .milliseconds(250))
                tick()
            }
        }
        defer {
            ticker.cancel()
            context.interruption.onStatusRequest(nil)
        }
        return try await body()
    }
}

/// A run over many things: shows how it gets on, tells each thing as it comes, and stops on a signal, or when nobody
/// reads the results any more.
struct LongRun<Reading: RunReading>: Sendable {
    let console: Console
    let display: RunDisplay<Reading>

    init(_ console: Console, writesRecords: Bool) {
        self.console = console
        display = RunDisplay(console, writesRecords: writesRecords)
    }

    /// What the work is given.
    struct Surroundings<Item: Sendable>: Sendable {
        /// Stops it.
        var control: TransferControl
        /// Takes what is to be told.
        var onItem: @Sendable (Item) -> Void
        /// Takes where it stands.
        var progress: @Sendable (Reading) -> Void
    }

    /// Runs `work`; returns when all items have been told.
    ///
    /// Items are told by a task of their own: a reader of standard output that takes its time must not keep the
    /// transfers waiting.
    ///
    /// - Returns: nil when it was stopped before its end.
    /// - Throws: What `work` throws.
    func run<Item: Sendable, Outcome: Sendable>(
        telling tell: @escaping @Sendable (Item) -> Void,
        _ work: (Surroundings<Item>) async throws -> Outcome
    ) async throws -> Outcome? {
        let control = TransferControl()
        let output = console.context.output
        let (items, voice) = AsyncStream<Item>.makeStream()
        let telling = Task {
            for await item in items {
                tell(item)
                if output.failure != nil { control.stop() }
            }
        }
        let surroundings = Surroundings<Item>(
            control: control,
            onItem: { item in
                voice.yield(item)
                output.noticeClosedPipe()
                if output.failure != nil { control.stop() }
            },
            progress: { [display] in display.update($0) }
        )
        let end: Result<Outcome?, any Error>
        do {
            end = .success(
                try await console.context.interruption.handling({ control.heed($0) }) {
                    try await display.during { try await work(surroundings) }
                }
            )
        } catch let error as PhotoSyncError where error.code == .cancelled {
            end = .success(nil)
        } catch {
            end = .failure(error)
        }
        voice.finish()
        await telling.value
        return try end.get()
    }
}

extension TransferControl {
    /// What a signal does to a run whose requests may all be repeated: no other is begun, and an answer that is due gets
    /// a moment; a second signal gives up.
    func heed(_ request: Interruption.Request) {
        if request.isFinal {
            abandon()
        } else {
            stop(finishWithin: .seconds(1))
        }
    }
}

/// How the items of a run ended.
final class ItemTally<State: Hashable & Sendable>: Sendable {
    private let entries = Mutex<(counts: [State: Int], codes: Set<ExitCode>)>(([:], []))

    /// One item has ended.
    func add(_ state: State, _ code: ExitCode) {
        entries.withLock { entries in
            entries.counts[state, default: 0] += 1
            entries.codes.insert(code)
        }
    }

    /// How many items ended so.
    func count(_ state: State) -> Int { entries.withLock { $0.counts[state] ?? 0 } }

    /// All items.
    var total: Int { entries.withLock { $0.counts.values.reduce(0, +) } }

    /// The code of the run: that of its items when they all ended alike.
    ///
    /// - Parameter isStopped: Whether the run was stopped before its end.
    /// - Returns: `.partly` for a run that was stopped; a signal's own code comes before it.
    func exitCode(isStopped: Bool) -> ExitCode {
        let codes = entries.withLock { $0.codes }
        return isStopped ? .partly : ExitCode.batch(codes)
    }

    /// `3 uploaded, 1 failed`: what there is none of goes unsaid.
    func words(_ states: [(state: State, words: String)]) -> String {
        states.filter { count($0.state) > 0 }.map { "\(count($0.state)) \($0.words)" }.joined(separator: ", ")
    }
}
