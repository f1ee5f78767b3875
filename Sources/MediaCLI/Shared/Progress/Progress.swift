enum Progress {
    /// The percentage, at most 100: a listing may grow while it is read, and a server may rewrite files.
    static func percent(_ done: Int64, of whole: Int64?) -> Int64? {
        guard let whole, whole > 0 else { return nil }
        return min(100, max(0, Int64(Double(done) / Double(whole) * 100)))
    }

    /// The rate and the remaining time.
    static func rest(_ done: Int64, of whole: Int64?, rate: Double?, _ text: (Int64) -> String) -> [String] {
        guard let rate, rate >= 1 else { return [] }
        return ["\(text(Int64(rate)))/s"] + timeLeft(done, of: whole, rate: rate)
    }

    static func timeLeft(_ done: Int64, of whole: Int64?, rate: Double?) -> [String] {
        guard let rate, rate >= 1, let whole, done < whole else { return [] }
        return ["ETA \(Formats.clock(.seconds(Double(whole - done) / rate)))"]
    }
}

enum DisplayMode: Sendable {
    /// Redrawn in place.
    case terminal
    /// One line every few seconds.
    case plain
    case silent

    init(for console: Console) {
        let isDumb = console.context.environment["TERM", default: "dumb"] == "dumb"
        self =
            console.isQuiet ? .silent : console.context.terminal.isErrorTerminal && !isDumb ? .terminal : .plain
    }
}

/// Determines when the progress of a run is shown: on a terminal at most ten times per second; elsewhere one line every
/// ten seconds or every ten percent, at most one per second.
struct ProgressSchedule: Sendable {
    enum Output: Sendable {
        /// Lines at the bottom of the terminal.
        case drawing
        case line
    }

    private let mode: DisplayMode
    private var lastDrawing: Duration?
    private var lastLine: Duration
    private var lastPercent: Int64 = 0

    init(_ mode: DisplayMode, at time: Duration) {
        self.mode = mode
        lastLine = time
    }

    /// Restarts the clock of plain lines when the work starts.
    mutating func begin(at time: Duration) { lastLine = time }

    /// Makes the next drawing due immediately.
    mutating func redraw() { lastDrawing = nil }

    /// The output that is due now; it is then considered shown. `countsSteps` allows a line for each ten percent.
    mutating func due(at time: Duration, percent: Int64, countsSteps: Bool = true) -> Output? {
        switch mode {
        case .silent: return nil
        case .terminal:
            guard lastDrawing.map({ time - $0 >= .milliseconds(100) }) ?? true else { return nil }
            lastDrawing = time
            return .drawing
        case .plain:
            let silence = time - lastLine
            let isStep = countsSteps && percent / 10 > lastPercent / 10
            guard silence >= .seconds(10) || (isStep && silence >= .seconds(1)) else { return nil }
            lastLine = time
            lastPercent = percent
            return .line
        }
    }
}

extension Console {
    /// Shows progress. `text` receives the columns and rows of the terminal. For plain lines, it receives 200 columns,
    /// and only its last line is shown.
    func show(
        _ output: ProgressSchedule.Output,
        _ text: (_ columns: Int, _ rows: Int, _ ellipsis: Character) -> [String]
    ) {
        switch output {
        case .drawing:
            let descriptor = context.errors.descriptor
            let columns = context.terminal.columns(descriptor) - 1
            screen.draw(text(columns, context.terminal.rows(descriptor), errorStyle.ellipsis))
        case .line: announce(text(200, 1, "…").suffix(1))
        }
    }
}

/// The transfer rate over the last ten seconds.
struct TransferRate: Sendable {
    private static let window = Duration.seconds(10)
    private var samples: [(time: Duration, bytes: Int64)] = []

    /// Adds a sample; times must not decrease. A lower byte count (a new attempt) resets the samples.
    mutating func add(bytes: Int64, at time: Duration) {
        if let last = samples.last, bytes < last.bytes {
            samples.removeAll()
        }
        // A hundred samples per window are sufficient.
        if samples.count > 1, time - samples[samples.count - 2].time < Self.window / 100 {
            samples.removeLast()
        }
        samples.append((time, bytes))
        while samples.count > 2, samples[1].time <= time - Self.window {
            samples.removeFirst()
        }
    }

    /// Bytes per second; nil until the samples cover a quarter of a second.
    var bytesPerSecond: Double? {
        guard let first = samples.first, let last = samples.last else { return nil }
        let span = last.time - first.time
        guard span >= .milliseconds(250) else { return nil }
        return Double(last.bytes - first.bytes) / (span / .seconds(1))
    }
}
