/// Uploads many files, several at a time: goes on after failures, sends the same bytes once, and asks the server once
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
        /// Begin nothing more after the first failure.
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
        /// It has ended. Every begun or refused item has exactly one end.
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
    /// - Parameters:
    ///   - items: The inputs.
    ///   - control: Stops it: nothing new is begun, and what is being sent stops as `BatchControl` says.
    ///   - onEvent: Called on any thread, one call at a time; must return quickly.
    /// - Returns: When every begun item has ended. Items that were never begun have no event.
    public func run(
        _ items: [Item],
        control: BatchControl = BatchControl(),
        onEvent: @escaping @Sendable (Event) -> Void
    ) async {}
}

/// Stops a batch, gently or at once, from any thread; what it asks for is passed to every running transfer.
public final class BatchControl: Sendable {
    /// A control that has asked for nothing yet.
    public init() {}

    /// Begin nothing more; stop what is still being sent; wait for the answers of what is sent.
    ///
    /// - Parameter finishWithin: How long answers may still take; nil keeps the requests' own limits.
    public func stop(finishWithin: Duration? = nil) {}

    /// Stop everything at once.
    public func abandon() {}

    /// Begin nothing more, and let everything that is running come to its end.
    public func drain() {}
}
