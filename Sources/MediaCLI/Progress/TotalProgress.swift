/// Where a run of many files stands.
struct TotalProgress: Sendable, Equatable {
    /// Files of the run; nil as long as more may come.
    var fileCount: Int?
    var ended = 0
    var failed = 0
    /// Bytes of all files; those that are known so far when more may come.
    var byteCount: Int64
    /// Bytes of the files that have ended, and what the running ones have sent.
    var bytesPassed: Int64 = 0
    /// What was sent over the last seconds; nil as long as too little is known.
    var bytesPerSecond: Double?
    /// What was passed over the last seconds, with the files that needed no sending.
    var passedPerSecond: Double?

    /// Whole percent of the bytes.
    var percent: Int64 { Progress.percent(bytesPassed, of: byteCount) ?? 0 }

    /// Time until the last byte at the present rate; nil when it is out.
    var remaining: Duration? {
        guard fileCount != nil, bytesPassed < byteCount, let passedPerSecond, passedPerSecond >= 1 else { return nil }
        return .seconds(Double(byteCount - bytesPassed) / passedPerSecond)
    }
}
