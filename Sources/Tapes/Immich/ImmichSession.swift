internal import Synchronization

/// What was learnt of a server in this run, so that it is asked once.
final class ImmichSession: Sendable {
    /// What is known.
    struct Knowledge {
        /// Major version.
        var majorVersion: Int?
        /// What the key may.
        var grant: ImmichGrant?
        /// Extensions that the server takes, lower case, with their dot.
        var extensions: Set<String>?
        /// The account is full: nothing is sent any more (tapes contract 6.4).
        var isFull = false
    }

    private let knowledge = Mutex(Knowledge())

    /// What is known now.
    var known: Knowledge { knowledge.withLock { $0 } }

    /// Adds to it.
    func learn(_ change: (inout Knowledge) -> Void) {
        knowledge.withLock { change(&$0) }
    }

    /// Forgets what the key may: the server has shown that it is otherwise, or the user asks for a new look.
    func forgetGrant() {
        learn { $0.grant = nil }
    }
}
