/// One of several disjoint parts of the same inputs, so that many machines share one upload.
public struct Shard: Sendable, Equatable {
    /// Which part, from 0.
    public var index: Int
    /// How many parts.
    public var count: Int

    /// Makes a shard; nil unless 0 ≤ index < count.
    public init?(index: Int, count: Int) {
        guard count > 0, (0..<count).contains(index) else { return nil }
        self.index = index
        self.count = count
    }

    /// Reads `I/N`, I from 0 to N−1; nil for anything else.
    public init?(_ text: String) { return nil }

    /// What a scheduler says: `JOB_COMPLETION_INDEX` with the count given (Kubernetes indexed Job), or
    /// `SLURM_ARRAY_TASK_ID` with `SLURM_ARRAY_TASK_COUNT` and `SLURM_ARRAY_TASK_MIN`.
    ///
    /// - Parameters:
    ///   - environment: The process's environment.
    ///   - count: Number of parts where the scheduler does not tell it.
    /// - Returns: nil when no scheduler is there or what it says makes no sense.
    public init?(environment: [String: String], count: Int?) { return nil }

    /// Whether an input belongs to this part. The same path belongs to the same part on every machine and in every run,
    /// whatever the other inputs are.
    public func contains(_ path: [UInt8]) -> Bool { true }
}
