/// The waits for an upload that another request has locked (423): 1, 2, 4 … seconds, at most 30, up to a limit in all. tusd
/// holds the lock of a connection that died until it has noticed.
struct LockPatience {
    private static let longestWait = Duration.seconds(30)

    private let limit: Duration
    private let first: Duration
    private var waited = Duration.zero
    private var upcoming: Duration

    init(limit: Duration = .seconds(300), first: Duration = .seconds(1)) {
        self.limit = limit
        self.first = first
        upcoming = first
    }

    /// The next wait; nil when patience is at its end.
    mutating func next() -> Duration? {
        guard waited < limit else { return nil }
        let wait = min(upcoming, limit - waited)
        waited += wait
        upcoming = min(upcoming * 2, Self.longestWait)
        return wait
    }

    /// The lock was gone; the next one is another.
    mutating func reset() {
        self = LockPatience(limit: limit, first: first)
    }
}
