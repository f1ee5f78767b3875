internal import GigHive
internal import MediaStore

/// Brings what happens in a batch to display, ledger and teller.
///
/// Results are told by a task of their own: a reader of standard output that takes its time must not keep the transfers
/// waiting, which the server would cut off.
struct UploadBroadcast: Sendable {
    let console: Console
    let display: ProgressDisplay
    let ledger: UploadLedger
    let teller: UploadTeller
    let control: BatchControl

    private enum Saying: Sendable {
        case warnings([UploadWarning], path: [UInt8])
        case end(UploadResult, said: [UploadWarning])
    }

    /// Runs `work`, which announces events with the entries they are about. Returns when all of them have been told.
    func run(
        _ work: (_ announce: @escaping @Sendable (UploadBatch.Event, UploadPlan.Entry) -> Void) async -> Void
    ) async {
        let (sayings, voice) = AsyncStream<Saying>.makeStream()
        let telling = Task {
            for await saying in sayings {
                tell(saying)
            }
        }
        console.context.interruption.onStatusRequest { display.showStatus() }
        let ticker = Task {
            while !Task.isCancelled {
                try await Task.sleep(for: .milliseconds(250))
                display.tick()
            }
        }
        await work { event, entry in take(event, entry, voice) }
        ticker.cancel()
        display.close()
        console.context.interruption.onStatusRequest(nil)
        voice.finish()
        await telling.value
    }

    private func take(
        _ event: UploadBatch.Event,
        _ entry: UploadPlan.Entry,
        _ voice: AsyncStream<Saying>.Continuation
    ) {
        switch event {
        case .began(let index):
            if case .ready(let upload) = entry.item, !upload.warnings.isEmpty {
                voice.yield(.warnings(upload.warnings, path: upload.path))
            }
            display.begin(index, path: entry.input.shownPath, byteCount: entry.sizeBytes)
        case .upload(let index, let event): display.handle(index, event)
        case .ended(let index, let result):
            ledger.end(index, result)
            display.end(index, byteCount: entry.sizeBytes, isGood: result.exitCode == .success)
            voice.yield(.end(result, said: entry.warnings))
        }
    }

    private func tell(_ saying: Saying) {
        switch saying {
        case .warnings(let warnings, let path): teller.warn(warnings, of: path)
        case .end(let result, let said): teller.tell(result, said: said)
        }
        // A reader that has closed the pipe: nothing new is begun.
        if console.context.output.failure != nil {
            control.drain()
        }
    }
}

extension UploadPlan.Entry {
    /// What was noticed before anything is sent, and is said before.
    fileprivate var warnings: [UploadWarning] {
        if case .ready(let upload) = item { upload.warnings } else { [] }
    }
}

extension UploadInput {
    /// What a progress line calls it.
    fileprivate var shownPath: [UInt8] {
        switch source {
        case .file(let path): path
        case .standardInput(let name): Array(name.utf8)
        }
    }
}
