internal import MediaStore
internal import MediaTransport

/// Uploads many files, several at a time: goes on after failures, sends the same file once, and asks the server once
/// what it has.
public struct UploadBatch: Sendable {
    /// In which order files are begun.
    public enum Order: String, Sendable, CaseIterable {
        case asGiven = "given"
        case largestFirst = "largest-first"
    }

    /// Rules of a batch.
    public struct Options: Sendable {
        /// Transfers at a time, at least 1.
        public var jobs: Int
        /// In which order files are begun.
        public var order: Order
        /// Begin nothing more after the first failure: any end but `done`, `duplicate` and `cancelled`, refused items
        /// included.
        public var failFast: Bool

        /// Makes a set of rules.
        public init(jobs: Int = 1, order: Order = .asGiven, failFast: Bool = false) {
            self.jobs = jobs
            self.order = order
            self.failFast = failFast
        }
    }

    /// One input.
    public enum Item: Sendable {
        case ready(PreparedUpload)
        /// Refused before anything was sent; reported in its turn.
        case refused(UploadResult)
    }

    /// What is happening, always with the item's index in the order given.
    public enum Event: Sendable {
        /// A file is begun.
        case began(Int)
        /// Something happens to it.
        case upload(Int, UploadEvent)
        /// It has ended. Every begun item, and every refused one whose turn came, has exactly one end.
        case ended(Int, UploadResult)
    }

    /// Sends the files.
    public let uploader: Uploader
    /// Rules.
    public let options: Options

    /// Makes a batch.
    public init(uploader: Uploader, options: Options) {
        self.uploader = uploader
        self.options = options
    }

    /// Runs the batch.
    ///
    /// A file that is named more than once for the same event (the same device and inode, or the same digest where it is
    /// known) is sent once; the others end as the first did, `isSkipped`, and as `duplicate` when it is on the server.
    /// For different events its uploads follow each other. Cancelling the task is `control.stop()`.
    ///
    /// Ends when every begun item has ended. Items that were never begun have no event.
    ///
    /// - Parameters:
    ///   - items: The inputs.
    ///   - control: Stops it: nothing new is begun, and what is being sent stops as `BatchControl` says.
    ///   - onEvent: Called on any thread, one call at a time; must return quickly.
    public func run(
        _ items: [Item],
        control: BatchControl = BatchControl(),
        onEvent: @escaping @Sendable (Event) -> Void
    ) async {
        let queue = BatchQueue(items, order: options.order, digest: uploader.knownDigest)
        let events = BatchEvents(onEvent)
        await withTaskCancellationHandler {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<min(max(1, options.jobs), items.count) {
                    group.addTask { await work(queue, control, events) }
                }
            }
        } onCancel: {
            control.stop()
        }
    }

    /// One of the slots: takes items until none is left or nothing more is to be begun.
    private func work(_ queue: BatchQueue, _ control: BatchControl, _ events: BatchEvents) async {
        var last: Int?
        while true {
            guard let transfer = control.begin() else { return }
            defer { control.end(transfer) }
            guard let index = queue.next(after: last) else { return }
            let result = await end(of: index, queue, transfer, events)
            queue.note(result, of: index)
            if options.failFast, result.isFailure {
                control.drain()
            }
            events.ended(index, result)
            last = index
        }
    }

    private func end(
        of index: Int,
        _ queue: BatchQueue,
        _ transfer: TransferControl,
        _ events: BatchEvents
    ) async -> UploadResult {
        switch queue.items[index] {
        case .refused(let result):
            return result
        case .ready(let upload):
            events.began(index)
            if let first = queue.outcome(for: index) {
                return UploadResult(upload, endingLike: first)
            }
            return await uploader.upload(upload, control: transfer) { events.upload(index, $0) }
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
        guard [.done, .duplicate, .tokenLost].contains(first.state) else { return }
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
        case .done, .duplicate: error != nil
        case .cancelled: false
        case .planned, .sending, .sent, .finalized, .failed, .unknownOutcome, .tokenLost: true
        }
    }
}
