internal import Synchronization

/// Decides which uploads of one event may be stored at the same time.
///
/// Servers lose files whose uploads create the same event simultaneously, and D1 and D2 also lose files that are
/// assigned the same number in an event (gighive contract section 3, trap T19). So the first upload of an event is
/// stored alone; after its response, uploads to D3 and later pass freely, and uploads to older servers pass one after
/// another per event.
final class EventGate: Sendable {
    /// How an upload may proceed.
    enum Admission: Sendable {
        /// In parallel with others.
        case free
        /// Exclusive: `leave` must be called afterwards.
        case alone
        /// Refused: no further upload may start.
        case refused
    }

    private struct Event {
        /// Whether the server has confirmed a file of the event.
        var isKnown = false
        var isHeld = false
        var waiting: [CheckedContinuation<Admission, Never>] = []
    }

    private struct State {
        var isClosed = false
        var dialect: UploadResponse.Dialect?
        var events: [InventoryEvent: Event] = [:]

        /// Returns nil if the upload must wait.
        mutating func admission(to event: InventoryEvent) -> Admission? {
            guard !isClosed else { return .refused }
            var entry = events[event] ?? Event()
            guard !(entry.isKnown && dialect == .assets) else { return .free }
            guard !entry.isHeld else { return nil }
            entry.isHeld = true
            events[event] = entry
            return .alone
        }
    }

    private let state = Mutex(State())

    /// Waits until an upload may be stored.
    func enter(_ event: InventoryEvent) async -> Admission {
        // Nearly all uploads pass without waiting.
        if let admission = state.withLock({ $0.admission(to: event) }) { return admission }
        return await withCheckedContinuation { continuation in
            let admission = state.withLock { state -> Admission? in
                // The event may have become free in the meantime.
                if let admission = state.admission(to: event) { return admission }
                state.events[event, default: Event()].waiting.append(continuation)
                return nil
            }
            if let admission { continuation.resume(returning: admission) }
        }
    }

    /// Ends an exclusive upload. `dialect` is the server's release, if the response is known to be about a file of the
    /// event.
    func leave(_ event: InventoryEvent, _ dialect: UploadResponse.Dialect?) {
        let (next, admission) = state.withLock { state -> ([CheckedContinuation<Admission, Never>], Admission) in
            state.dialect = dialect ?? state.dialect
            guard var entry = state.events[event] else { return ([], .refused) }
            defer { state.events[event] = entry }
            entry.isKnown = entry.isKnown || dialect != nil
            if entry.isKnown, state.dialect == .assets {
                let waiting = entry.waiting
                entry = Event(isKnown: true)
                return (waiting, .free)
            }
            entry.isHeld = !entry.waiting.isEmpty
            return (entry.isHeld ? [entry.waiting.removeFirst()] : [], .alone)
        }
        for continuation in next { continuation.resume(returning: admission) }
    }

    /// Rejects queued and new uploads.
    func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            let waiting = state.events.values.flatMap(\.waiting)
            for event in state.events.keys { state.events[event]?.waiting = [] }
            return waiting
        }
        for continuation in waiting { continuation.resume(returning: .refused) }
    }
}

/// One upload's passage through the gate of its event.
final class EventPass: Sendable {
    private let gate: EventGate
    private let event: InventoryEvent
    private let isAlone = Mutex(false)

    init(_ gate: EventGate, _ details: UploadDetails) {
        self.gate = gate
        event = InventoryEvent(details)
    }

    /// Waits until the upload may be stored. Returns false if no further upload may start.
    func enter() async -> Bool {
        guard !isAlone.withLock({ $0 }) else { return true }
        switch await gate.enter(event) {
        case .refused: return false
        case .free: return true
        case .alone:
            isAlone.withLock { $0 = true }
            return true
        }
    }

    /// Ends the upload, with or without a response; later calls have no effect.
    func leave(_ dialect: UploadResponse.Dialect? = nil) {
        let wasAlone = isAlone.withLock { exchange(&$0, with: false) }
        if wasAlone {
            gate.leave(event, dialect)
        }
    }
}

/// Estimates how many uploads will begin soon: as many as began in the last 20 ms, at most 64.
///
/// This limits the number of intents that are written ahead: a killed process leaves them as uploads that may have been
/// sent, so there must not be more of them than a slow connection can send in a moment.
struct TransferPace {
    static let limit = 64

    private let window: Duration
    /// Oldest first.
    private var begins: [ContinuousClock.Instant] = []

    /// Only tests pass a window.
    init(window: Duration = .milliseconds(20)) {
        self.window = window
    }

    mutating func noteBegin(at now: ContinuousClock.Instant) {
        if begins.count == Self.limit { begins.removeFirst() }
        begins.append(now)
    }

    func expectedCount(at now: ContinuousClock.Instant) -> Int {
        begins.count { now - $0 <= window }
    }
}

/// Limits the number of concurrent transfers of a batch.
final class TransferSlots: Sendable {
    private struct State {
        var free: Int
        var isClosed = false
        var waiting: [CheckedContinuation<Bool, Never>] = []
        var pace = TransferPace()
        /// Uploads without a slot whose intents are in the journal, or about to be.
        var plannedCount = 0

        /// Tries to take a slot: true if one was free, false if no more slots are granted, nil if the caller must wait.
        mutating func takeFree() -> Bool? {
            guard !isClosed else { return false }
            guard free > 0 else { return nil }
            free -= 1
            pace.noteBegin(at: .now)
            return true
        }
    }

    private let state: Mutex<State>

    init(_ count: Int, pace: TransferPace = TransferPace()) {
        state = Mutex(State(free: count, pace: pace))
    }

    /// Waits for a slot, first come, first served. Returns false if no further upload may start.
    func take() async -> Bool {
        if let response = state.withLock({ $0.takeFree() }) { return response }
        return await withCheckedContinuation { continuation in
            let response: Bool? = state.withLock { state in
                // A slot may have become free in the meantime.
                if let response = state.takeFree() { return response }
                state.waiting.append(continuation)
                return nil
            }
            if let response { continuation.resume(returning: response) }
        }
    }

    var waitingCount: Int { state.withLock { $0.waiting.count } }

    func giveBack() {
        let next: CheckedContinuation<Bool, Never>? = state.withLock { state in
            guard state.waiting.isEmpty else {
                state.pace.noteBegin(at: .now)
                return state.waiting.removeFirst()
            }
            state.free += 1
            return nil
        }
        next?.resume(returning: true)
    }

    /// Whether an upload may write its intent before it has a slot: only if all slots are taken and one will be free
    /// soon. `endPlanning` must be called when the upload gets its slot or gives up.
    func planAhead(at now: ContinuousClock.Instant = .now) -> Bool {
        state.withLock { state in
            guard !state.isClosed, state.free == 0, state.plannedCount < state.pace.expectedCount(at: now) else {
                return false
            }
            state.plannedCount += 1
            return true
        }
    }

    func endPlanning() {
        state.withLock { $0.plannedCount -= 1 }
    }

    /// Rejects queued and new callers.
    func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            return exchange(&state.waiting, with: [])
        }
        for continuation in waiting { continuation.resume(returning: false) }
    }
}

/// One upload's use of the slots: held from before the intent until the response has arrived, and again for each retry.
/// Storing a response or a token, or querying the outcome of a lost response, does not need a slot.
final class TransferPermit: Sendable {
    private struct State {
        var isHeld = false
        var hasBegun = false
        var isPlanned = false
    }

    private let slots: TransferSlots
    private let plansAhead: Bool
    private let onBegin: @Sendable () -> Void
    private let state = Mutex(State())

    /// `onBegin` is called once, when the first slot is taken.
    init(_ slots: TransferSlots, plansAhead: Bool = false, onBegin: @escaping @Sendable () -> Void) {
        self.slots = slots
        self.plansAhead = plansAhead
        self.onBegin = onBegin
    }

    var hasBegun: Bool { state.withLock { $0.hasBegun } }

    /// Whether the upload may write its intent before it has a slot.
    func planAhead() -> Bool {
        guard plansAhead, slots.planAhead() else { return false }
        state.withLock { $0.isPlanned = true }
        return true
    }

    private func endPlanning() {
        let wasPlanned = state.withLock { exchange(&$0.isPlanned, with: false) }
        if wasPlanned {
            slots.endPlanning()
        }
    }

    /// Waits for a slot unless the upload has one. Returns false if no further upload may start.
    func begin() async -> Bool {
        guard !state.withLock({ $0.isHeld }) else { return true }
        defer { endPlanning() }
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

    /// Releases the upload's slot, if any.
    func end() {
        endPlanning()
        let wasHeld = state.withLock { exchange(&$0.isHeld, with: false) }
        if wasHeld {
            slots.giveBack()
        }
    }
}
