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

    init(_ faults: [Fault]) {
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
            for index in state.faults.indices where state.faults[index].fault.place == place {
                if state.faults[index].strikesNext() { striking.append(state.faults[index].fault) }
            }
            state.faults.removeAll(where: \.isSpent)
            return FaultPlan(faults: striking, hold: state.hold)
        }
    }
}

/// What will go wrong with one request.
struct FaultPlan: Sendable {
    var faults: [Fault] = []
    /// Ends the wait of an answer that comes late.
    var hold = AnswerHold()

    /// The first non-nil answer of a question put to each fault.
    func first<Answer>(_ question: (Fault) -> Answer?) -> Answer? {
        faults.lazy.compactMap(question).first
    }

    func has(_ effect: Fault.Effect) -> Bool {
        faults.contains { $0.effect == effect }
    }

    /// The largest body that a proxy lets through, in bytes; nil is no limit.
    var bodyLimit: Int? {
        first { if case .limit(let bytes) = $0.effect { bytes } else { nil } }
    }

    /// Resets and stalls, in the order in which the body reaches them.
    var bodyBreaks: [(offset: Int, effect: Fault.Effect)] {
        faults.compactMap { fault in
            switch fault.effect {
            case .reset(.bodyBytes(let offset)), .stall(.bodyBytes(let offset), _): (offset, fault.effect)
            default: nil
            }
        }
        .sorted { $0.offset < $1.offset }
    }

    /// Resets and stalls, in the order in which the answer's body reaches them.
    var answerBreaks: [(offset: Int, effect: Fault.Effect)] {
        faults.compactMap { fault in
            switch fault.effect {
            case .reset(.responseBytes(let offset)), .stall(.responseBytes(let offset), _): (offset, fault.effect)
            default: nil
            }
        }
        .sorted { $0.offset < $1.offset }
    }

    /// Resets and stalls at one of the later moments.
    func breaks(at moment: Fault.Moment) -> [Fault.Effect] {
        faults.map(\.effect).filter { effect in
            switch effect {
            case .reset(moment), .stall(moment, _): true
            default: false
            }
        }
    }
}
