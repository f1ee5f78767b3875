import Synchronization

/// The faults in force, counted down as they strike.
final class FaultBook: Sendable {
    private struct State {
        var faults: [Fault]
        /// Of the requests that these faults strike.
        var hold = AnswerHold()
    }

    private let state: Mutex<State>

    init(_ faults: [Fault]) {
        state = Mutex(State(faults: faults))
    }

    func add(_ more: [Fault]) {
        state.withLock { $0.faults += more }
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
            let striking = state.faults.filter { $0.place == place }
            state.faults = state.faults.compactMap { fault in
                guard fault.place == place, let times = fault.times else { return fault }
                var rest = fault
                rest.times = times - 1
                return times > 1 ? rest : nil
            }
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
