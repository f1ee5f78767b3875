/// What progress lines have in common.
enum Progress {
    /// Whole percent, never over 100: a listing may grow while it is read, and a server rewrites files.
    static func percent(_ done: Int64, of whole: Int64?) -> Int64? {
        guard let whole, whole > 0 else { return nil }
        return min(100, max(0, Int64(Double(done) / Double(whole) * 100)))
    }

    /// The rate, and the time that the rest will take.
    static func rest(_ done: Int64, of whole: Int64?, rate: Double?, _ text: (Int64) -> String) -> [String] {
        guard let rate, rate >= 1 else { return [] }
        return ["\(text(Int64(rate)))/s"] + timeLeft(done, of: whole, rate: rate)
    }

    /// The time that the rest will take.
    static func timeLeft(_ done: Int64, of whole: Int64?, rate: Double?) -> [String] {
        guard let rate, rate >= 1, let whole, done < whole else { return [] }
        return ["ETA \(Formats.clock(.seconds(Double(whole - done) / rate)))"]
    }
}

/// How progress is shown.
enum DisplayMode: Sendable {
    /// Drawn again and again.
    case terminal
    /// A line now and then.
    case plain
    case silent

    /// The mode that suits the surroundings.
    init(for console: Console) {
        let isDumb = console.context.environment["TERM", default: "dumb"] == "dumb"
        self =
            console.isQuiet ? .silent : console.context.terminal.isErrorTerminal && !isDumb ? .terminal : .plain
    }
}

/// When a plain line is due: every ten seconds, or every ten percent, but not more than one a second.
struct Throttle: Sendable {
    private var last: Duration
    private var lastPercent: Int64 = 0

    /// - Parameter time: When the work began.
    init(at time: Duration) {
        last = time
    }

    /// The work begins only now.
    mutating func begin(at time: Duration) {
        last = time
    }

    /// Whether a line is due now, which then counts as written. Ten percent more are worth one if steps count.
    mutating func isDue(at time: Duration, percent: Int64, countsSteps: Bool = true) -> Bool {
        let silence = time - last
        let isStep = countsSteps && percent / 10 > lastPercent / 10
        guard silence >= .seconds(10) || (isStep && silence >= .seconds(1)) else { return false }
        last = time
        lastPercent = percent
        return true
    }
}

/// The rate of a transfer over its last ten seconds.
struct TransferRate: Sendable {
    private static let window = Duration.seconds(10)
    private var samples: [(time: Duration, bytes: Int64)] = []

    /// Takes a reading; readings come in order of time. A byte count that falls (a new try) starts afresh.
    mutating func add(bytes: Int64, at time: Duration) {
        if let last = samples.last, bytes < last.bytes {
            samples.removeAll()
        }
        // A hundred readings in a window are enough, however often they come.
        if samples.count > 1, time - samples[samples.count - 2].time < Self.window / 100 {
            samples.removeLast()
        }
        samples.append((time, bytes))
        while samples.count > 2, samples[1].time <= time - Self.window {
            samples.removeFirst()
        }
    }

    /// Bytes a second; nil before a quarter of a second has been seen.
    var bytesPerSecond: Double? {
        guard let first = samples.first, let last = samples.last else { return nil }
        let span = last.time - first.time
        guard span >= .milliseconds(250) else { return nil }
        return Double(last.bytes - first.bytes) / (span / .seconds(1))
    }
}
