internal import Synchronization

/// One upload's use of the slots: held from before the intent until the answer has arrived, and again for each further
/// try. Bringing an answer or a token to the disk, or asking after a lost answer, holds none.
final class TransferTurn: Sendable {
    private struct State {
        var isHeld = false
        var hasBegun = false
    }

    private let slots: TransferSlots
    private let onBegin: @Sendable () -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - slots: Where to get one.
    ///   - onBegin: Called once, when the first one is had.
    init(_ slots: TransferSlots, onBegin: @escaping @Sendable () -> Void) {
        self.slots = slots
        self.onBegin = onBegin
    }

    /// Whether it ever had a slot.
    var hasBegun: Bool { state.withLock { $0.hasBegun } }

    /// Waits for a slot unless it has one.
    ///
    /// - Returns: false when nothing more is to be begun.
    func begin() async -> Bool {
        guard !state.withLock({ $0.isHeld }) else { return true }
        guard await slots.take() else { return false }
        let isFirst = state.withLock { state in
            state.isHeld = true
            defer { state.hasBegun = true }
            return !state.hasBegun
        }
        if isFirst {
            onBegin()
        }
        return true
    }

    /// Gives the slot back, if it has one.
    func end() {
        let wasHeld = state.withLock { state in
            defer { state.isHeld = false }
            return state.isHeld
        }
        if wasHeld {
            slots.giveBack()
        }
    }
}
