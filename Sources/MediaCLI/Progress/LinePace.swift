/// When a plain line is due: every ten seconds, or every ten percent, but not more than one a second.
struct LinePace: Sendable {
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
