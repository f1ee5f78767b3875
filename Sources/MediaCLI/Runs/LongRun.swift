internal import MediaTransport
internal import PhotoSync

/// A run over many things: shows how it gets on, tells each thing as it comes, and stops on a signal, or when nobody
/// reads the results any more.
struct LongRun<Reading: RunReading>: Sendable {
    let console: Console
    let display: RunDisplay<Reading>

    init(_ console: Console, writesRecords: Bool) {
        self.console = console
        display = RunDisplay(console, writesRecords: writesRecords)
    }

    /// What the work is given.
    struct Surroundings<Item: Sendable>: Sendable {
        /// Stops it.
        var control: TransferControl
        /// Takes what is to be told.
        var onItem: @Sendable (Item) -> Void
        /// Takes where it stands.
        var progress: @Sendable (Reading) -> Void
    }

    /// Runs `work`; returns when all items have been told.
    ///
    /// Items are told by a task of their own: a reader of standard output that takes its time must not keep the
    /// transfers waiting.
    ///
    /// - Returns: nil when it was stopped before its end.
    /// - Throws: What `work` throws.
    func run<Item: Sendable, Outcome: Sendable>(
        telling tell: @escaping @Sendable (Item) -> Void,
        _ work: (Surroundings<Item>) async throws -> Outcome
    ) async throws -> Outcome? {
        let control = TransferControl()
        let output = console.context.output
        let (items, voice) = AsyncStream<Item>.makeStream()
        let telling = Task {
            for await item in items {
                tell(item)
                if output.failure != nil { control.stop() }
            }
        }
        let surroundings = Surroundings<Item>(
            control: control,
            onItem: { item in
                voice.yield(item)
                output.noticeClosedPipe()
                if output.failure != nil { control.stop() }
            },
            progress: { [display] in display.update($0) }
        )
        let end: Result<Outcome?, any Error>
        do {
            end = .success(
                try await console.context.interruption.handling({ control.heed($0) }) {
                    try await display.during { try await work(surroundings) }
                }
            )
        } catch let error as PhotoSyncError where error.code == .cancelled {
            end = .success(nil)
        } catch {
            end = .failure(error)
        }
        voice.finish()
        await telling.value
        return try end.get()
    }
}

extension TransferControl {
    /// What a signal does to a run whose requests may all be repeated: no other is begun, and an answer that is due gets
    /// a moment; a second signal gives up.
    func heed(_ request: Interruption.Request) {
        if request.isFinal {
            abandon()
        } else {
            stop(finishWithin: .seconds(1))
        }
    }
}
