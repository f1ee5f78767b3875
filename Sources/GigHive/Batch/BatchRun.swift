internal import MediaStore
internal import MediaTransport
internal import Synchronization

/// The first failure that ended a run.
private final class RunFailure: Sendable {
    private let first = Mutex<(item: Int, error: GigHiveError)?>(nil)
    /// Items that met an unavailable server and were not retried, since the last item that did not.
    private let outages = Mutex<Set<Int>>([])

    /// - Returns: How many items in a row met an unavailable server.
    func noteOutage(of item: Int) -> Int {
        outages.withLock { outages in
            outages.insert(item)
            return outages.count
        }
    }

    func endOutage() { outages.withLock { $0 = [] } }

    func note(_ error: GigHiveError, of item: Int) {
        first.withLock { $0 = $0 ?? (item, error) }
    }

    /// The failure, unless it is the item's own.
    func other(than item: Int) -> GigHiveError? {
        first.withLock { $0.flatMap { $0.item == item ? nil : $0.error } }
    }
}

/// One run of a batch.
struct BatchRun: Sendable {
    /// Uploads that may store their tokens, or be queried, for each one that sends. Until then their responses are only
    /// in the rescue log, so this limits what a full disk could lose.
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
    private let contact = ServerContact()
    private let failure = RunFailure()
    private let rescueLog: RescueLog

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
        rescueLog = RescueLog(in: batch.uploader.directory, isOpen: true)
        var uploader = batch.uploader
        uploader.rescueLog = rescueLog
        uploader.events = gate
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
        control.whenClosed { [slots, gate, contact] in
            contact.close()
            slots.close()
            gate.close()
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<workerCount {
                group.addTask { await work() }
            }
        }
        rescueLog.close()
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
                if options.failFast && result.isFailure {
                    control.drain()
                }
                events.ended(index, result)
            }
            last = index
        }
    }

    /// Ends the run: nothing more is begun. Without retries, a single 503 shows nothing about the server; three items in a
    /// row do.
    ///
    /// - Returns: Whether the run ends.
    @discardableResult private func endRun(_ error: GigHiveError, of index: Int) -> Bool {
        if error.code == .serverUnavailable, uploader.options.retry.retries == 0, failure.noteOutage(of: index) < 3 {
            return false
        }
        failure.note(error, of: index)
        control.drain()
        return true
    }

    /// - Returns: nil when the item was not begun after all, or not yet, or sent nothing before the run ended.
    private func end(of index: Int, _ transfer: TransferControl) async -> UploadResult? {
        switch queue.items[index] {
        case .refused(let result):
            return result
        case .ready(let upload):
            if let first = queue.outcome(for: index) {
                events.began(index)
                return UploadResult(upload, endingLike: first)
            }
            let pass = ContactPass(contact, index)
            var last: UploadResult?
            defer { pass.end(last) }
            guard await pass.enter() else { return nil }
            let turn = TransferTurn(slots) { events.began(index) }
            defer { turn.end() }
            var uploader = uploader
            uploader.turn = turn
            uploader.contact = pass
            uploader.onRunFailure = { endRun($0, of: index) }
            uploader.runFailure = { [failure] in failure.other(than: index) }
            // An item of a file that others name too may meet the digest that one of them has found.
            uploader.askedDigest = queue.isNamedOnce(index) ? .some(digests[index]) : nil
            var result = await uploader.upload(upload, control: transfer) { event in
                pass.note(event)
                events.upload(index, event)
            }
            if let error = result.error, error.endsRun {
                result.error?.isIsolated = !endRun(error, of: index)
            } else {
                failure.endOutage()
            }
            last = result
            if let other = failure.other(than: index), !transfer.isStopRequested, result.isUnfinished {
                guard result.hasSentContent else {
                    if turn.hasBegun { events.withdrew(index) }
                    return nil
                }
                return result.failed(other)
            }
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
    /// Whether it ended only because the run did.
    fileprivate var isUnfinished: Bool { state == .cancelled || (state == .failed && error?.endsRun == true) }

    /// The same, ended by the failure of the run. Its row in the journal stays: an upload over tus can be resumed.
    fileprivate func failed(_ failure: GigHiveError) -> UploadResult {
        guard state == .cancelled else { return self }
        var result = self
        result.state = .failed
        result.error = failure
        return result
    }

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
