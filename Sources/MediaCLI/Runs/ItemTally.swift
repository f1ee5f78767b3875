internal import Synchronization

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
