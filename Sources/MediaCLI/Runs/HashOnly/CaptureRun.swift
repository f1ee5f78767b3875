internal import CaptureSubmission
internal import HashCapture
internal import MediaCore
internal import MediaStore
internal import MediaTransport
internal import Synchronization

/// Proves captures one after the other, since a server takes the counters of a device only in ascending order, and says
/// what came of each.
struct CaptureRun: Sendable {
    /// What is being done now.
    private final class StageHolder: Sendable {
        private let stage = Mutex<Stage?>(nil)

        func withLock<Value>(_ body: (inout sending Stage?) -> sending Value) -> Value { stage.withLock(body) }
    }

    /// What is being done, and how a signal reaches it.
    private struct Stage {
        var work: Task<CaptureItem, any Error>
        var control: TransferControl
        /// Whether the media is still being read: no request can be out before its end.
        var isReading: Bool
    }

    /// One thing to do.
    struct Job: Sendable {
        /// Path as it was named.
        var path: [UInt8]?
        /// Whether it begins with reading media.
        var readsMedia: Bool
        /// Does it.
        var work:
            @Sendable (TransferControl, _ progress: @escaping @Sendable (Int64, Int64) -> Void) async throws ->
                CaptureItem
    }

    let console: Console
    private let display: RunDisplay<CaptureReading>
    private let finishTimeout: Duration
    private let tally = ItemTally<CaptureItem.State>()
    private let stage = StageHolder()

    init(_ settings: SettingsSession, writesRecords: Bool) {
        console = settings.console
        display = RunDisplay(settings.console, writesRecords: writesRecords)
        finishTimeout = settings.settings.finishTimeout.value
    }

    /// Does one job after the other. After a signal, or when nobody reads the results any more, no other is begun.
    ///
    /// - Parameters:
    ///   - jobs: What to do.
    ///   - tell: Renders how one ended, before the next begins.
    /// - Returns: Whether all were done.
    func run(_ jobs: [Job], tell: (CaptureItem) -> Void) async -> Bool {
        let interruption = console.context.interruption
        return await interruption.handling({ heed($0) }) {
            await display.during {
                for job in jobs {
                    guard interruption.signal == nil, !isUnread else { return false }
                    let item = await item(of: job)
                    tally.add(item.state, item.exitCode)
                    tell(item)
                }
                return true
            }
        }
    }

    private func item(of job: Job) async -> CaptureItem {
        let control = TransferControl()
        let path = job.path ?? []
        let task = Task { [stage, display] in
            try await job.work(control) { done, whole in
                display.update(CaptureReading(path: path, done: done, whole: whole))
                if done >= whole {
                    stage.withLock { $0?.isReading = false }
                }
            }
        }
        stage.withLock { $0 = Stage(work: task, control: control, isReading: job.readsMedia) }
        defer { stage.withLock { $0 = nil } }
        do {
            return try await task.value
        } catch {
            return CaptureItem(failure: error, path: job.path)
        }
    }

    /// Nobody reads the results any more.
    private var isUnread: Bool {
        console.context.output.noticeClosedPipe()
        return console.context.output.failure != nil
    }

    /// What a signal does: reading ends at once; a request that is out waits for its answer, and a second signal gives it
    /// up, which leaves its outcome unknown until `retry` asks.
    private func heed(_ request: Interruption.Request) {
        guard let stage = stage.withLock({ $0 }) else { return }
        if request.isFinal || stage.isReading {
            stage.control.abandon()
            stage.work.cancel()
        } else {
            stage.control.stop(finishWithin: request.signal == .interrupt ? nil : finishTimeout)
            console.outlast(request, for: "the server's answer", finishTimeout: finishTimeout)
        }
    }

    // MARK: The end

    /// Says how many ended how, and ends the output.
    ///
    /// - Parameters:
    ///   - isDone: Whether all were done.
    ///   - members: The first members of the summary.
    /// - Returns: How the program ends.
    func conclude(isDone: Bool, _ members: JSONObject) -> ExitCode {
        let code = console.exitCode(tally.exitCode(isStopped: !isDone))
        let words: [(state: CaptureItem.State, words: String)] = [
            (.accepted, "accepted"), (.planned, "to be sent"), (.pending, "not signed"), (.queued, "to be sent again"),
            (.submitted, "on their way"), (.unknownOutcome, "of unknown outcome"), (.rejected, "rejected"),
            (.failed, "failed"), (.cancelled, "not done"),
        ]
        if tally.total > 1 {
            console.note(tally.words(words))
        }
        func count(_ state: CaptureItem.State) -> JSONValue { JSONValue(tally.count(state)) }
        let counts: JSONObject =
            [
                "items": JSONValue(tally.total), "accepted": count(.accepted), "planned": count(.planned),
                "pending": count(.pending), "queued": count(.queued), "submitted": count(.submitted),
                "unknown_outcome": count(.unknownOutcome), "rejected": count(.rejected), "failed": count(.failed),
                "cancelled": count(.cancelled),
            ] + console.ending(code, after: display.elapsed)
        console.summary(members + counts)
        return code
    }
}
