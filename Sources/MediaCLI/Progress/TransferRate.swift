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
