internal import MediaStore
internal import MediaTransport
internal import Synchronization

/// Counts consecutive events.
private final class ServerDownCount: Sendable {
    private let count = Mutex(0)

    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }

    func reset() { count.withLock { $0 = 0 } }
}

/// One run of a batch.
struct BatchRun: Sendable {
    /// Uploads that may store their tokens, or be looked up, beside each one that sends. Rescue files hold what they have
    /// not stored, so this bounds what a full disk could lose.
    private static let companions = 2

    private let uploader: Uploader
    private let options: UploadBatch.Options
    private let queue: BatchQueue
    /// What was known of each item's file when the batch began.
    private let digests: [String?]
    private let control: BatchControl
    private let events: BatchEvents
    private let slots: TransferSlots
    private let gate = EventGate()
    /// Consecutive uploads that failed because the server is down.
    private let serverDownCount = ServerDownCount()
    private let rescues: RescuePool

    init(
        _ batch: UploadBatch,
        _ items: [UploadBatch.Item],
        control: BatchControl,
        onEvent: @escaping @Sendable (UploadBatch.Event) -> Void
    ) {
        options = batch.options
        digests = batch.uploader.knownDigests(items)
        queue = BatchQueue(items, order: options.order, digests: digests)
        events = BatchEvents(onEvent)
        slots = TransferSlots(max(1, options.jobs))
        rescues = RescuePool(batch.uploader.directory)
        var uploader = batch.uploader
        uploader.rescues = rescues
        uploader.events = gate
        uploader.onRunFailure = { _ in control.drain() }
        self.uploader = uploader
        self.control = control
    }

    /// Items under way at a time. With one job, or when a failure has to be known before the next file is begun, each
    /// upload ends before the next one begins.
    private var workerCount: Int {
        let jobs = max(1, options.jobs)
        return min(queue.items.count, jobs == 1 || options.failFast ? jobs : jobs * (1 + Self.companions))
    }

    func perform() async {
        control.whenClosed { [slots, gate] in
            slots.close()
            gate.close()
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<workerCount {
                group.addTask { await work() }
            }
        }
        rescues.release()
        uploader.hashes?.flush()
    }

    /// Takes items until none is left or nothing more is to be begun.
    private func work() async {
        var last: Int?
        while let transfer = control.begin() {
            defer { control.end(transfer) }
            guard let index = queue.next(after: last) else { return }
            if let result = await end(of: index, transfer) {
                queue.note(result, of: index)
                if (options.failFast && result.isFailure) || isServerDown(after: result) {
                    control.drain()
                }
                events.ended(index, result)
            }
            last = index
        }
    }

    private func isServerDown(after result: UploadResult) -> Bool {
        guard result.error?.isServerDown == true else {
            if result.state.isStored { serverDownCount.reset() }
            return false
        }
        return serverDownCount.next() >= 3
    }

    /// - Returns: nil when the item was not begun after all, or not yet.
    private func end(of index: Int, _ transfer: TransferControl) async -> UploadResult? {
        switch queue.items[index] {
        case .refused(let result):
            return result
        case .ready(let upload):
            if let first = queue.outcome(for: index) {
                events.began(index)
                return UploadResult(upload, endingLike: first)
            }
            let turn = TransferTurn(slots) { events.began(index) }
            defer { turn.end() }
            var uploader = uploader
            uploader.turn = turn
            // An item of a file that others name too may meet the digest that one of them has found.
            uploader.askedDigest = queue.isNamedOnce(index) ? .some(digests[index]) : nil
            let result = await uploader.upload(upload, control: transfer) { events.upload(index, $0) }
            if !turn.hasBegun {
                guard result.state != .cancelled else { return nil }
                if result.error?.code == .uploadInProgress, queue.postpone(index) { return nil }
                events.began(index)
            }
            return result
        }
    }
}

extension UploadResult {
    /// The end of an upload whose file was sent to the same event before in this run.
    fileprivate init(_ upload: PreparedUpload, endingLike first: UploadResult) {
        self = first
        path = upload.path
        fileName = upload.fileName
        details = upload.details
        warnings = upload.warnings
        isSkipped = true
        bytesSent = 0
        duration = .zero
        attempts = 0
        httpStatus = nil
        unstoredToken = nil
        guard first.state.isStored else { return }
        state = .duplicate
        error = nil
        isDeletableDuplicate = first.hasDeleteToken
        if first.state == .tokenLost {
            warnings.append(.tokenLostEarlier)
        }
    }

    /// Whether it is what `failFast` stops at.
    fileprivate var isFailure: Bool {
        switch state {
        case .done, .duplicate, .linked: error != nil
        case .cancelled: false
        case .planned, .sending, .sent, .finalized, .failed, .refusedDuplicate, .unknownOutcome, .tokenLost: true
        }
    }
}
