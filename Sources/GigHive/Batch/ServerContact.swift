internal import MediaStore
internal import MediaTransport
internal import Synchronization

/// Lets one upload at a time test whether the server works; the others continue once it does. A server that is down, or
/// that refuses the login, then costs the retries of only one file.
///
/// The server counts as working once it has responded to an upload or evidently does not refuse one (`ContactPass`),
/// until an upload has a failure that ends a run.
final class ServerContact: Sendable {
    private struct State {
        var isEstablished = false
        var isClosed = false
        /// The item that tests the server.
        var holder: Int?
        var waiting: [(item: Int, continuation: CheckedContinuation<Bool, Never>)] = []
    }

    private let state = Mutex(State())

    /// Waits until the item may send requests. Returns false if no further request may be sent.
    func enter(_ item: Int) async -> Bool {
        await withCheckedContinuation { continuation in
            let response: Bool? = state.withLock { state in
                guard !state.isClosed else { return false }
                guard !state.isEstablished, state.holder != item else { return true }
                guard state.holder != nil else {
                    state.holder = item
                    return true
                }
                state.waiting.append((item, continuation))
                return nil
            }
            if let response { continuation.resume(returning: response) }
        }
    }

    /// Whether the others wait for the item.
    func isHeld(by item: Int) -> Bool { state.withLock { $0.holder == item } }

    func isOpen(for item: Int) -> Bool { state.withLock { $0.isEstablished || $0.holder == item } }

    /// The server has responded to the item.
    func establish(by item: Int, onlyIfHeld: Bool = false) {
        let waiting = state.withLock { state in
            guard !onlyIfHeld || state.holder == item else { return [] as [CheckedContinuation<Bool, Never>] }
            state.isEstablished = true
            state.holder = nil
            return exchange(&state.waiting, with: []).map(\.continuation)
        }
        for continuation in waiting { continuation.resume(returning: true) }
    }

    /// The item had a failure that ends a run and is being retried: the others wait for the result.
    func lose(by item: Int) {
        state.withLock { state in
            state.isEstablished = false
            state.holder = state.holder ?? item
        }
    }

    /// The item waits for something else, or has finished: the next one tests the server.
    func leave(_ item: Int) {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard state.holder == item else { return nil }
            guard !state.waiting.isEmpty else {
                state.holder = nil
                return nil
            }
            let next = state.waiting.removeFirst()
            state.holder = next.item
            return next.continuation
        }
        next?.resume(returning: true)
    }

    /// Rejects queued and new items.
    func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            return exchange(&state.waiting, with: []).map(\.continuation)
        }
        for continuation in waiting { continuation.resume(returning: false) }
    }
}

/// What one item of a batch shows about the server.
final class ContactPass: Sendable {
    /// A server that has accepted this much of a body refuses neither the login nor the connection.
    private static let acceptedBytes: Int64 = 1 << 20
    /// A refusal arrives within this time. A server that takes longer is processing the request or reading slowly.
    private static let longestRefusal = Duration.seconds(1)

    private let contact: ServerContact
    private let item: Int
    private let timer = Mutex<Task<Void, Never>?>(nil)

    init(_ contact: ServerContact, _ item: Int) {
        self.contact = contact
        self.item = item
    }

    /// Waits until the item may send requests. Returns false if no further request may be sent.
    func enter() async -> Bool { await contact.enter(item) }

    var isOpen: Bool { contact.isOpen(for: item) }

    func note(_ event: UploadEvent) {
        switch event {
        case .progress(let progress) where progress.bytesAcknowledged >= Self.acceptedBytes:
            contact.establish(by: item, onlyIfHeld: true)
        case .progress(let progress) where progress.phase == .sending || progress.phase == .processing:
            startTimer()
        case .retrying(_, _, let error) where error.endsRun:
            stopTimer()
            contact.lose(by: item)
        case .retrying(_, _, let error) where error.httpStatus != nil:
            contact.establish(by: item)
        // These concern an earlier request, and may take minutes.
        case .resolving, .waitingForServer, .verifying:
            stopTimer()
            contact.leave(item)
        case .progress, .retrying, .resuming, .restarting, .finalizing, .waitingForToken, .limited, .switching,
            .leavingUnfinished:
            break
        }
    }

    func end(_ result: UploadResult?) {
        stopTimer()
        if let result, result.state.isStored || (result.httpStatus != nil && result.error?.endsRun != true) {
            contact.establish(by: item)
        } else {
            contact.leave(item)
        }
    }

    /// Starts with the first byte of a request.
    private func startTimer() {
        timer.withLock { timer in
            guard timer == nil, contact.isHeld(by: item) else { return }
            timer = Task { [contact, item] in
                guard (try? await Task.sleep(for: Self.longestRefusal)) != nil else { return }
                contact.establish(by: item, onlyIfHeld: true)
            }
        }
    }

    private func stopTimer() {
        timer.withLock { timer in
            timer?.cancel()
            timer = nil
        }
    }
}
