internal import MediaStore
internal import Synchronization

/// The uploads that this machine has at a time on a server that allows five unfinished ones to all users together
/// (gighive-d4 contract 4.5): four, so that one remains for the server's own web page. Processes share them by locks.
final class TusPlaces: Sendable {
    static let limit = 4

    private struct State {
        var free = TusPlaces.limit
        /// Uploads that the server has created for this process, and that are being sent.
        var created = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
        var watching: [CheckedContinuation<Bool, Never>] = []
    }

    private let state = Mutex(State())

    /// Waits for a place, in order of asking. Every holder ends it when it is stopped, so this ends then as well.
    func take() async -> TusPlace {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.free > 0 else {
                    state.waiting.append(continuation)
                    return false
                }
                state.free -= 1
                return true
            }
            if isFree { continuation.resume() }
        }
        return TusPlace(self)
    }

    /// Waits until another upload of this process ends, which makes room on the server.
    ///
    /// - Returns: false if there is none to wait for.
    func waitForAnother() async -> Bool {
        await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
            let mayWait = state.withLock { state in
                guard state.created > 0 else { return false }
                state.watching.append(continuation)
                return true
            }
            if !mayWait { continuation.resume(returning: false) }
        }
    }

    fileprivate func noteCreated() {
        state.withLock { $0.created += 1 }
    }

    /// One of them is not sent any more, and its place is kept for the next.
    fileprivate func noteEnded() {
        let watching = state.withLock { state in
            state.created -= 1
            defer { state.watching = [] }
            return state.watching
        }
        for continuation in watching { continuation.resume(returning: true) }
    }

    fileprivate func giveBack(wasCreated: Bool) {
        let (next, watching) = state.withLock {
            state -> (CheckedContinuation<Void, Never>?, [CheckedContinuation<Bool, Never>]) in
            let next = state.waiting.isEmpty ? nil : state.waiting.removeFirst()
            if next == nil { state.free += 1 }
            guard wasCreated else { return (next, []) }
            state.created -= 1
            defer { state.watching = [] }
            return (next, state.watching)
        }
        next?.resume()
        for continuation in watching { continuation.resume(returning: true) }
    }
}

/// One upload's place.
final class TusPlace: Sendable {
    private let places: TusPlaces
    private let state = Mutex((isHeld: true, isCreated: false))
    private let lock = Mutex<UploadLock?>(nil)

    fileprivate init(_ places: TusPlaces) {
        self.places = places
    }

    /// Keeps a lock that other processes respect, until this place ends.
    func keep(_ lock: UploadLock) {
        self.lock.withLock { $0 = lock }
    }

    /// The server has created an upload; noted once.
    func noteCreated() {
        let isFirst = state.withLock { state in
            defer { state.isCreated = true }
            return state.isHeld && !state.isCreated
        }
        if isFirst { places.noteCreated() }
    }

    /// The upload that the server has created is not sent any more; another follows.
    func noteAbandoned() {
        let wasCreated = state.withLock { state in
            defer { state.isCreated = false }
            return state.isHeld && state.isCreated
        }
        if wasCreated { places.noteEnded() }
    }

    /// Waits until another upload of this process ends.
    ///
    /// - Returns: false if there is none to wait for.
    func waitForAnother() async -> Bool {
        noteAbandoned()
        return await places.waitForAnother()
    }

    /// The upload has ended, or is not sent any more; later calls have no effect.
    func end() {
        let (wasHeld, wasCreated) = state.withLock { state in
            defer { state.isHeld = false }
            return (state.isHeld, state.isCreated)
        }
        lock.withLock { lock in
            lock?.release()
            lock = nil
        }
        if wasHeld { places.giveBack(wasCreated: wasCreated) }
    }
}
