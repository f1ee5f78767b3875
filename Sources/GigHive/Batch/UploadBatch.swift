/// Uploads many files, several at a time: goes on after failures, sends the same file once, and asks the server once
/// what it has.
public struct UploadBatch: Sendable {
    /// In which order files are begun.
    public enum Order: String, Sendable, CaseIterable {
        /// As they were named.
        case asGiven = "given"
        /// By size, so that no large file is begun last and alone.
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
        /// May be sent.
        case ready(PreparedUpload)
        /// Refused before anything was sent; reported in its turn. Indirect, or each of many that may be sent would take as
        /// much memory.
        indirect case refused(UploadResult)
    }

    /// What is happening, always with the item's index in the order given.
    public enum Event: Sendable {
        /// A file is begun.
        case began(Int)
        /// Something happens to it.
        case upload(Int, UploadEvent)
        /// It was begun and has sent nothing when a failure of another item ended the run: it counts as not started.
        case withdrew(Int)
        /// It has ended. Every begun item that was not withdrawn, and every refused one whose turn came, has exactly one end.
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
    /// For different events its uploads follow each other. A file that another process is sending comes last, when that has
    /// probably ended. Cancelling the task is `control.stop()`.
    ///
    /// A failure that concerns the login, the connection or the server (`GigHiveError.endsRun`) ends the run with one item;
    /// until the server has responded to an upload, one is under way at a time.
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
        let run = BatchRun(self, items, control: control, onEvent: onEvent)
        await withTaskCancellationHandler {
            // In a task of its own, so that cancelling cannot tear the bookkeeping after a last byte.
            await Task { await run.perform() }.value
        } onCancel: {
            control.stop()
        }
    }
}
