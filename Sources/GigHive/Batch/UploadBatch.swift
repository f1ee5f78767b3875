internal import MediaStore
internal import MediaSystem
internal import MediaTransport
internal import Synchronization

/// Uploads many files, several in parallel: continues after failures, sends a repeated file only once, and queries the
/// server's files once.
public struct UploadBatch: Sendable {
    /// The order in which files are started.
    public enum Order: String, Sendable, CaseIterable {
        case asGiven = "given"
        /// Largest first, to avoid leaving a large file to run alone at the end.
        case largestFirst = "largest-first"
    }

    /// Options of a batch.
    public struct Options: Sendable {
        /// Number of parallel transfers, at least 1.
        public var jobs: Int
        public var order: Order
        /// Stop after the first failure: any result except `cancelled`, and except `done`, `duplicate` and `linked`
        /// without an error. Refused items count as failures.
        public var failFast: Bool

        public init(jobs: Int = 1, order: Order = .asGiven, failFast: Bool = false) {
            self.jobs = jobs
            self.order = order
            self.failFast = failFast
        }
    }

    /// One input of a batch.
    public enum Item: Sendable {
        /// May be sent.
        case ready(PreparedUpload)
        /// Refused before anything was sent; reported in order.
        case refused(UploadResult)

        /// The source as given; `-` for standard input.
        public var path: [UInt8] {
            switch self {
            case .ready(let upload): upload.path
            case .refused(let result): result.path
            }
        }

        /// The details; nil if they are invalid.
        public var details: UploadDetails? {
            switch self {
            case .ready(let upload): upload.details
            case .refused(let result): result.details
            }
        }

        /// Length in bytes; 0 if it could not be determined.
        public var sizeBytes: Int64 {
            switch self {
            case .ready(let upload): upload.sizeBytes
            case .refused(let result): result.sizeBytes
            }
        }

        /// Why the item was refused.
        public var error: GigHiveError? {
            if case .refused(let result) = self { result.error } else { nil }
        }
    }

    /// An event of a batch, with the index of the item in the order given.
    public enum Event: Sendable {
        /// A file is started.
        case began(Int)
        case upload(Int, UploadEvent)
        /// The item was started but sent nothing before the run was stopped or the item was postponed: it counts as not
        /// started.
        case withdrew(Int)
        /// The item has finished. Occurs exactly once for every started item that was not withdrawn, and for every
        /// refused item that was reached.
        case ended(Int, UploadResult)
    }

    /// Sends the files.
    public let uploader: Uploader
    public let options: Options

    public init(uploader: Uploader, options: Options) {
        self.uploader = uploader
        self.options = options
    }

    /// Runs the batch.
    ///
    /// A file that is listed more than once for the same event (the same device and inode, or the same digest, if
    /// known) is sent once; the others get the result of the first with `isSkipped` set: `duplicate` if the file is on
    /// the server. If it is listed for different events, its uploads run one after another. A file that another process
    /// is sending comes last: that process will probably have finished by then. Canceling the task calls
    /// `control.stop()`.
    ///
    /// A failure that concerns the login, the connection or the server (`GigHiveError.endsRun`) ends the whole run;
    /// until an upload shows that the server works, only one upload runs.
    ///
    /// Returns when every started item has finished. Items that were never started have no event.
    ///
    /// - Parameters:
    ///   - items: The inputs.
    ///   - control: Stops the batch, and all batches with the same control: nothing new is started, and running
    ///     transfers stop as `BatchControl` specifies.
    ///   - onEvent: Called on any thread, one call at a time; must return quickly.
    public func run(
        _ items: [Item],
        control: BatchControl = BatchControl(),
        onEvent: @escaping @Sendable (Event) -> Void
    ) async {
        let run = BatchRun(self, items, control: control, onEvent: onEvent)
        await withTaskCancellationHandler {
            // In a separate task, so canceling cannot interrupt the bookkeeping after a last byte.
            await Task {
                await withBoundedTasks(0..<run.workerCount, limit: run.workerCount) { _ in await run.work() }
                run.rescueLog.close()
                uploader.hashes?.flush()
            }
            .value
        } onCancel: {
            control.stop()
        }
    }
}

/// The first failure that stopped a run.
final class RunFailure: Sendable {
    private let first = Mutex<(item: Int, error: GigHiveError)?>(nil)
    /// Items that found the server unavailable and were not retried, since the last item that found it available.
    private let outages = Mutex<Set<Int>>([])

    /// - Returns: The number of consecutive items that found the server unavailable.
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

/// A class, because every item's closures refer to it.
private final class BatchRun: Sendable {
    /// For each sending upload, the number of uploads that may wait to send, store their tokens, or query their
    /// outcome. Until its token is stored, a response is only in the rescue log, so this limits the loss if the disk is
    /// full.
    private static let companions = 6
    /// For each sending upload, the number of uploads that may query the server for earlier uploads.
    private static let lookups = 3

    private let uploader: Uploader
    private let options: UploadBatch.Options
    private let queue: BatchQueue
    /// The digest of each item's file, if it was known when the batch began.
    private let digests: [String?]
    private let control: BatchControl
    private let events: BatchEvents
    private let slots: TransferSlots
    private let lookups: TransferSlots
    /// The number of the first item among the items of all batches with this control.
    private let firstNumber: Int
    fileprivate let rescueLog: RescueLog

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
        lookups = TransferSlots(max(1, options.jobs) * Self.lookups)
        rescueLog = RescueLog(in: batch.uploader.directory, isOpen: true)
        var uploader = batch.uploader
        uploader.rescueLog = rescueLog
        uploader.events = control.gate
        uploader.groupsCommits = Self.overlapsUploads(options)
        uploader.lookups = lookups
        self.uploader = uploader
        self.control = control
        firstNumber = control.add(items.count)
        // Interrupts the waits of items that may no longer start.
        control.whenClosed { [slots, lookups] in
            lookups.close()
            slots.close()
        }
    }

    /// With one job, or if a failure must be known before the next file starts, each upload finishes before the
    /// next one begins.
    private static func overlapsUploads(_ options: UploadBatch.Options) -> Bool {
        options.jobs > 1 && !options.failFast
    }

    /// The number of items processed in parallel.
    fileprivate var workerCount: Int {
        let jobs = max(1, options.jobs)
        return min(queue.items.count, Self.overlapsUploads(options) ? jobs * (1 + Self.companions) : jobs)
    }

    /// Processes items until none is left or no further item may start.
    fileprivate func work() async {
        var last: Int?
        while let transfer = control.begin() {
            defer { control.end(transfer) }
            guard let index = queue.next(after: last) else { return }
            if let result = await end(of: index, transfer) {
                queue.note(result, of: index)
                if options.failFast && result.isFailure {
                    control.drain()
                }
                events.send(.ended(index, result))
            }
            last = index
        }
    }

    /// Stops the run: further items do not start. Without retries, a single 503 shows nothing about the server; three
    /// items in a row do. Returns whether the run stops.
    @discardableResult private func endRun(_ error: GigHiveError, of index: Int) -> Bool {
        let number = firstNumber + index
        if error.code == .serverUnavailable, uploader.options.retry.retries == 0,
            control.failure.noteOutage(of: number) < 3
        {
            return false
        }
        control.failure.note(error, of: number)
        control.drain()
        return true
    }

    private func otherFailure(than index: Int) -> GigHiveError? { control.failure.other(than: firstNumber + index) }

    /// - Returns: nil if the item was not started (yet), or sent nothing before the run stopped.
    private func end(of index: Int, _ transfer: TransferControl) async -> UploadResult? {
        switch queue.items[index] {
        case .refused(let result):
            return result
        case .ready(let upload):
            if let first = queue.outcome(for: index) {
                events.send(.began(index))
                return UploadResult(upload, endingLike: first)
            }
            let pass = ContactPass(control.contact, firstNumber + index)
            var last: UploadResult?
            defer { pass.end(last) }
            guard await pass.enter() else { return nil }
            let permit = TransferPermit(slots, plansAhead: uploader.groupsCommits) { [events] in
                events.send(.began(index))
            }
            defer { permit.end() }
            var uploader = uploader
            uploader.permit = permit
            uploader.contact = pass
            uploader.onRunFailure = { [self] in endRun($0, of: index) }
            uploader.runFailure = { [self] in otherFailure(than: index) }
            // If several items have this file, another one may have computed its digest since the start.
            uploader.queriedDigest = queue.isNamedOnce(index) ? .some(digests[index]) : nil
            var result = await uploader.send(upload, control: transfer) { [events] event in
                pass.note(event)
                // Querying an earlier upload may take minutes: the query is shown even though the file has no slot yet.
                if case .resolving = event { events.send(.began(index)) }
                events.send(.upload(index, event))
            }
            if let error = result.error, error.endsRun {
                result.error?.isIsolated = !endRun(error, of: index)
            } else {
                control.failure.endOutage()
            }
            last = result
            if let other = otherFailure(than: index), !transfer.isStopRequested, result.isUnfinished {
                guard result.hasSentContent else {
                    events.send(.withdrew(index))
                    return nil
                }
                return result.failed(other)
            }
            if !permit.hasBegun {
                if result.state == .cancelled || result.error?.code == .uploadInProgress && queue.postpone(index) {
                    events.send(.withdrew(index))
                    return nil
                }
                events.send(.began(index))
            }
            return result
        }
    }
}

extension UploadResult {
    /// Whether the upload stopped only because the run did.
    fileprivate var isUnfinished: Bool {
        self.state == .cancelled || (self.state == .failed && self.error?.endsRun == true)
    }

    /// This result, with the failure that stopped the run. Its row in the journal is kept: an upload over tus can be
    /// resumed.
    fileprivate func failed(_ failure: GigHiveError) -> UploadResult {
        guard self.state == .cancelled else { return self }
        var result = self
        result.state = .failed
        result.error = failure
        return result
    }

    /// The result of an upload whose file was sent to the same event earlier in this run.
    fileprivate init(_ upload: PreparedUpload, endingLike first: UploadResult) {
        self = first
        self.path = upload.path
        self.fileName = upload.fileName
        self.details = upload.details
        self.warnings = upload.warnings
        self.isSkipped = true
        self.bytesSent = 0
        self.duration = .zero
        self.attempts = 0
        self.httpStatus = nil
        self.unstoredToken = nil
        guard first.state.isStored else { return }
        self.state = .duplicate
        self.error = nil
        self.isDeletableDuplicate = first.hasDeleteToken
        if first.state == .tokenLost {
            self.warnings.append(.tokenLostEarlier)
        }
    }

    /// Whether `failFast` stops the run at this result.
    fileprivate var isFailure: Bool {
        switch self.state {
        case .done, .duplicate, .linked: self.error != nil
        case .cancelled: false
        case .planned, .sending, .sent, .finalized, .failed, .refusedDuplicate, .unknownOutcome, .tokenLost: true
        }
    }
}

/// The items of a batch in starting order, and the items that have the same file.
///
/// Items of one file run one after another: while the first runs, the others wait without a slot.
final class BatchQueue: Sendable {
    let items: [UploadBatch.Item]
    private let order: [Int]
    /// The file of an item, if several items of the batch have that file.
    private let files: [Int: Int]
    private let state = Mutex(State())

    private struct State {
        var position = 0
        /// Items that are due while their file is being sent; no entry for a file that is not being sent.
        var waiting: [Int: [Int]] = [:]
        var outcomes: [Outcome: UploadResult] = [:]
        /// Number of items that have started but not finished.
        var running = 0
        /// Items that currently come after all others, and every item that was ever moved there.
        var postponed: [Int] = []
        var everPostponed: Set<Int> = []
    }

    /// The key of a file that is sent to an event only once (gighive contract section 3).
    private struct Outcome: Hashable {
        var file: Int
        var eventDate: String
        var orgName: String
    }

    /// `digests` contains the digests that are known without reading the files.
    init(_ items: [UploadBatch.Item], order: UploadBatch.Order, digests: [String?]) {
        self.items = items
        self.order =
            switch order {
            case .asGiven: Array(items.indices)
            case .largestFirst: items.indices.sorted { (-items[$0].sizeBytes, $0) < (-items[$1].sizeBytes, $1) }
            }
        files = Self.files(of: items, digests)
    }

    private static func files(of items: [UploadBatch.Item], _ digests: [String?]) -> [Int: Int] {
        var firstByInode: [FileIdentity.Key: Int] = [:]
        var firstByDigest: [String: Int] = [:]
        var files: [Int: Int] = [:]
        for index in items.indices {
            guard case .ready(let upload) = items[index], let identity = upload.identity else { continue }
            let inode = FileIdentity.Key(identity)
            let digest = digests[index]
            guard let first = firstByInode[inode] ?? digest.flatMap({ firstByDigest[$0] }) else {
                firstByInode[inode] = index
                if let digest {
                    firstByDigest[digest] = index
                }
                continue
            }
            let file = files[first] ?? first
            firstByInode[inode] = file
            files[first] = file
            files[index] = file
        }
        return files
    }

    /// Whether no other item has the same file.
    func isNamedOnce(_ index: Int) -> Bool { files[index] == nil }

    /// The next item to start in the slot of `last`, which has finished; nil if there is none.
    func next(after last: Int?) -> Int? {
        state.withLock { state in
            if last != nil {
                state.running -= 1
            }
            let index = waiting(for: last, &state) ?? firstThatMayBegin(&state)
            if index != nil {
                state.running += 1
            }
            return index
        }
    }

    /// The next item of the file that has just finished.
    private func waiting(for last: Int?, _ state: inout State) -> Int? {
        guard let file = last.flatMap({ files[$0] }), var waiting = state.waiting[file] else { return nil }
        guard !waiting.isEmpty else {
            state.waiting[file] = nil
            return nil
        }
        let index = waiting.removeFirst()
        state.waiting[file] = waiting
        return index
    }

    /// The next item whose file is not being sent by this batch.
    private func firstThatMayBegin(_ state: inout State) -> Int? {
        while let index = nextInOrder(&state) {
            guard let file = files[index] else { return index }
            if state.waiting[file] == nil {
                state.waiting[file] = []
                return index
            }
            state.waiting[file]?.append(index)
        }
        return nil
    }

    /// Postponed items start when nothing else is running: the last item that finishes starts them.
    private func nextInOrder(_ state: inout State) -> Int? {
        guard state.position < order.count else {
            return state.running > 0 || state.postponed.isEmpty ? nil : state.postponed.removeFirst()
        }
        defer { state.position += 1 }
        return order[state.position]
    }

    /// Moves an item after all others, once: another process is sending its file, and will probably have finished by
    /// then. Returns false for an item that was postponed before.
    func postpone(_ index: Int) -> Bool {
        state.withLock { state in
            guard state.everPostponed.insert(index).inserted else { return false }
            state.postponed.append(index)
            return true
        }
    }

    /// The earlier result of the same file in the same event; nil if it was not sent.
    func outcome(for index: Int) -> UploadResult? {
        guard let key = key(index) else { return nil }
        return state.withLock { $0.outcomes[key] }
    }

    /// Keeps a result for other items with the same file.
    func note(_ result: UploadResult, of index: Int) {
        guard result.state != .cancelled, let key = key(index) else { return }
        state.withLock { state in
            if state.outcomes[key] == nil {
                state.outcomes[key] = result
            }
        }
    }

    private func key(_ index: Int) -> Outcome? {
        guard let file = files[index], case .ready(let upload) = items[index] else { return nil }
        return Outcome(file: file, eventDate: upload.details.eventDate, orgName: upload.details.orgName)
    }
}

/// Forwards the events from many transfers serially; drops events for items that have finished.
final class BatchEvents: Sendable {
    private let running = Mutex<Set<Int>>([])
    private let onEvent: @Sendable (UploadBatch.Event) -> Void

    init(_ onEvent: @escaping @Sendable (UploadBatch.Event) -> Void) {
        self.onEvent = onEvent
    }

    /// Forwards only the first `began` of an item, and nothing else of an item that was not started except `ended`.
    func send(_ event: UploadBatch.Event) {
        running.withLock { running in
            let isForwarded =
                switch event {
                case .began(let index): running.insert(index).inserted
                case .upload(let index, _): running.contains(index)
                case .withdrew(let index): running.remove(index) != nil
                case .ended: true
                }
            if case .ended(let index, _) = event { running.remove(index) }
            if isForwarded { onEvent(event) }
        }
    }
}
