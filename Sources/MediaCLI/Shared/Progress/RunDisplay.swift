internal import MediaCore
internal import MediaTransport
internal import PhotoSync
internal import Synchronization

/// The progress of a long run, as text and as a record.
protocol RunReading: Sendable {
    /// Amount of finished work, in bytes or items, from which the rate is computed.
    var amount: Int64 { get }
    /// At most 100; nil until the total is known.
    var percent: Int64? { get }
    /// One line without a line break. `rate` is `amount` per second, averaged over the last few seconds; nil until it
    /// is known.
    func line(rate: Double?) -> String
    func record(elapsed: Duration) -> JSONObject
}

/// Shows the progress of a long run: a redrawn line on a terminal, plain lines every few seconds elsewhere, or nothing.
/// In JSON mode with `--progress-events`, it also writes one record per second.
final class RunDisplay<Reading: RunReading>: Sendable {
    private struct State {
        var reading: Reading?
        var rate = TransferRate()
        var began: Duration
        var schedule: ProgressSchedule
        var lastRecord: Duration?
    }

    let console: Console
    private let writesRecords: Bool
    private let state: Mutex<State>

    init(_ console: Console, writesRecords: Bool = true) {
        self.console = console
        self.writesRecords = writesRecords && console.writesProgress
        let now = console.context.elapsed()
        state = Mutex(State(began: now, schedule: ProgressSchedule(DisplayMode(for: console), at: now)))
    }

    /// May be called from any thread.
    func update(_ reading: Reading) {
        let now = console.context.elapsed()
        state.withLock { state in
            state.reading = reading
            state.rate.add(bytes: reading.amount, at: now)
        }
        tick()
    }

    var latest: Reading? { state.withLock { $0.reading } }

    var elapsed: Duration { console.context.elapsed() - state.withLock { $0.began } }

    /// Draws or writes the line, and writes a record, if they are due. Called for each reading and four times per
    /// second.
    func tick() {
        let now = console.context.elapsed()
        let (record, output, line) = state.withLock { state -> (JSONObject?, ProgressSchedule.Output?, String) in
            guard let reading = state.reading else { return (nil, nil, "") }
            let output = state.schedule.due(at: now, percent: reading.percent ?? 0)
            let line = output == nil ? "" : reading.line(rate: state.rate.bytesPerSecond)
            return (dueRecord(&state, reading, now), output, line)
        }
        if let record {
            console.record(.progress, record)
        }
        if let output {
            console.show(output) { columns, _, ellipsis in
                [output == .line ? line : TerminalText.truncated(line, to: max(1, columns), ellipsis: ellipsis)]
            }
        }
    }

    private func dueRecord(_ state: inout State, _ reading: Reading, _ now: Duration) -> JSONObject? {
        guard writesRecords, state.lastRecord.map({ now - $0 >= .seconds(1) }) ?? true else { return nil }
        state.lastRecord = now
        return reading.record(elapsed: now - state.began)
    }

    /// SIGUSR1: prints the status now, in any mode.
    func showStatus() {
        let line = state.withLock { state in state.reading.map { $0.line(rate: state.rate.bytesPerSecond) } }
        console.announce([line ?? "mediactl: no progress yet"])
    }

    /// Shows the progress while `body` runs and clears it afterwards.
    func during<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        defer { console.screen.above {} }
        return try await console.ticking({ [self] in tick() }, status: { [self] in showStatus() }, body)
    }
}

extension Console {
    /// Runs `body`. In the meantime, calls `tick` four times per second, and `status` on SIGUSR1.
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

/// A run over many items: shows its progress, reports each item, and stops on a signal or when standard output is
/// closed.
struct LongRun<Reading: RunReading>: Sendable {
    let console: Console
    let display: RunDisplay<Reading>

    init(_ console: Console) {
        self.console = console
        display = RunDisplay(console)
    }

    struct Dependencies<Item: Sendable>: Sendable {
        var control: TransferControl
        var onItem: @Sendable (Item) -> Void
        var progress: @Sendable (Reading) -> Void
    }

    /// Runs `work` and returns when all items are reported; nil if it was stopped early. Items are reported in a
    /// separate task, so a slow reader of standard output does not stall the transfers.
    func run<Item: Sendable, Outcome: Sendable>(
        reporting report: @escaping @Sendable (Item) -> Void,
        _ work: (Dependencies<Item>) async throws -> Outcome
    ) async throws -> Outcome? {
        let control = TransferControl()
        let output = console.context.output
        let (items, queue) = AsyncStream<Item>.makeStream()
        let reporting = Task {
            for await item in items {
                report(item)
                if output.failure != nil { control.stop() }
            }
        }
        let dependencies = Dependencies<Item>(
            control: control,
            onItem: { item in
                queue.yield(item)
                output.noticeClosedPipe()
                if output.failure != nil { control.stop() }
            },
            progress: { [display] in display.update($0) }
        )
        let end: Result<Outcome?, any Error>
        do {
            end = .success(
                try await console.context.interruption.handling({ control.handle($0) }) {
                    try await display.during { try await work(dependencies) }
                }
            )
        } catch let error as PhotoSyncError where error.code == .cancelled {
            end = .success(nil)
        } catch {
            end = .failure(error)
        }
        queue.finish()
        await reporting.value
        return try end.get()
    }
}

extension TransferControl {
    /// Handles a signal: further requests do not start, and the run waits up to `limit` for a pending response. The
    /// default of one second is sufficient if all requests in the run can be repeated. A second signal abandons the
    /// response.
    func handle(_ request: Interruption.Request, finishWithin limit: Duration = .seconds(1)) {
        if request.isFinal {
            abandon()
        } else {
            stop(finishWithin: limit)
        }
    }
}

/// Counts the outcomes of the items in a run.
final class ItemStatistics<State: Hashable & Sendable>: Sendable {
    private let entries = Mutex<(counts: [State: Int], codes: Set<ExitCode>)>(([:], []))

    func add(_ state: State, _ code: ExitCode) {
        entries.withLock { entries in
            entries.counts[state, default: 0] += 1
            entries.codes.insert(code)
        }
    }

    func count(_ state: State) -> Int { entries.withLock { $0.counts[state] ?? 0 } }

    var total: Int { entries.withLock { $0.counts.values.reduce(0, +) } }

    /// The code of the batch; `.partly` for a stopped run. The exit code of a signal takes precedence.
    func exitCode(isStopped: Bool) -> ExitCode {
        let codes = entries.withLock { $0.codes }
        return isStopped ? .partly : ExitCode.batch(codes)
    }

    /// `3 uploaded, 1 failed`; omits zero counts.
    func words(_ states: [(state: State, words: String)]) -> String {
        states.filter { count($0.state) > 0 }.map { "\(count($0.state)) \($0.words)" }.joined(separator: ", ")
    }
}

extension ItemStatistics where State: CaseIterable & RawRepresentable<String> {
    /// The count of each state.
    var json: JSONObject {
        JSONObject(State.allCases.map { (name: $0.rawValue, value: JSONValue(count($0))) })
    }
}
