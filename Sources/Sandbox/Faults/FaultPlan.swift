/// What will go wrong with one request.
struct FaultPlan: Sendable {
    var faults: [Fault] = []
    /// Whether the request is for the tus endpoint in PHP.
    var isOfBlockTus = false
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

    /// The largest form that PHP takes, in bytes; nil is no limit.
    var postLimit: Int? {
        first { if case .postLimit(let bytes) = $0.effect { bytes } else { nil } }
    }

    /// The largest file that PHP takes, in bytes; nil is no limit.
    var fileLimit: Int? {
        first { if case .fileLimit(let bytes) = $0.effect { bytes } else { nil } }
    }

    /// The key on which the upload collides.
    var collision: CollidingKey? {
        first { if case .collision(let key) = $0.effect { key } else { nil } }
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
