import Synchronization

/// The faults in force, counted down as they strike.
final class FaultBook: Sendable {
    private struct State {
        var faults: [Counter]
        /// Of the requests that these faults strike.
        var hold = AnswerHold()
    }

    /// A fault with what it has seen so far.
    private struct Counter {
        let fault: Fault
        /// Requests of its place.
        private var seen = 0
        private var struck = 0

        init(_ fault: Fault) { self.fault = fault }

        var isSpent: Bool { fault.times.map { struck >= $0 } ?? false }

        /// Counts a request of its place; whether the fault strikes it.
        mutating func strikesNext() -> Bool {
            seen += 1
            // The last of every so many, once those to be skipped are by.
            let isItsTurn = seen > fault.skip && (seen - fault.skip).isMultiple(of: fault.every)
            guard isItsTurn, !isSpent else { return false }
            struck += 1
            return true
        }
    }

    private let state: Mutex<State>
    private let dialect: Dialect

    init(_ faults: [Fault], _ dialect: Dialect) {
        self.dialect = dialect
        state = Mutex(State(faults: faults.map(Counter.init)))
    }

    func add(_ more: [Fault]) {
        state.withLock { $0.faults += more.map(Counter.init) }
    }

    /// Removes all and lets the answers go that they hold back.
    func clear() {
        let old = state.withLock { state in
            defer { state = State(faults: []) }
            return state.hold
        }
        old.release()
    }

    /// The faults that strike one request; each counts it.
    func take(for place: Fault.Place) -> FaultPlan {
        state.withLock { state in
            var striking: [Fault] = []
            for index in state.faults.indices where state.faults[index].fault.place.covers(place, in: dialect) {
                if state.faults[index].strikesNext() { striking.append(state.faults[index].fault) }
            }
            state.faults.removeAll(where: \.isSpent)
            return FaultPlan(faults: striking, isOfBlockTus: dialect == .d4 && place.isTus, hold: state.hold)
        }
    }
}
