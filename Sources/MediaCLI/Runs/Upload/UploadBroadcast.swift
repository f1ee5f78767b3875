internal import GigHive
internal import MediaStore

/// Brings what happens to uploads to display, ledger and teller.
///
/// Results are told by a task of their own: a reader of standard output that takes its time must not keep the transfers
/// waiting, which the server would cut off.
struct UploadBroadcast: Sendable {
    let console: Console
    let display: ProgressDisplay
    let ledger: UploadLedger
    let teller: UploadTeller
    /// Gets the files that the server has.
    var tape: UploadTape?
    /// Whether the album of the tape is brought up to date after each file, and not at the end.
    var isOpenEnded = false
    /// Called when nobody reads the results any more: nothing new is to be begun.
    let drain: @Sendable () -> Void

    /// What is said of a file while it is on its way.
    struct File: Sendable {
        var path: [UInt8]
        var sizeBytes: Int64
        /// What was noticed before anything is sent, and is said before.
        var warnings: [UploadWarning] = []
    }

    typealias Announce = @Sendable (UploadBatch.Event, File) -> Void

    private enum Saying: Sendable {
        case warnings([UploadWarning], path: [UInt8])
        case end(Int, UploadResult, said: [UploadWarning])
    }

    /// Runs `work`, which announces events with the files they are about. Returns when all of them have been told.
    func run(_ work: (_ announce: @escaping Announce) async -> Void) async {
        let (sayings, voice) = AsyncStream<Saying>.makeStream()
        let telling = Task {
            for await saying in sayings {
                await tell(saying)
            }
        }
        await console.ticking({ display.tick() }, status: { display.showStatus() }) {
            await work { event, file in take(event, file, voice) }
        }
        display.close()
        voice.finish()
        await telling.value
    }

    private func take(_ event: UploadBatch.Event, _ file: File, _ voice: AsyncStream<Saying>.Continuation) {
        switch event {
        case .began(let index):
            if !file.warnings.isEmpty {
                voice.yield(.warnings(file.warnings, path: file.path))
            }
            display.begin(index, path: file.path, byteCount: file.sizeBytes)
        case .upload(let index, let event): display.handle(index, event)
        case .withdrew(let index): display.withdraw(index)
        case .ended(let index, let result):
            ledger.end(index, result)
            display.end(index, byteCount: file.sizeBytes, isGood: result.exitCode == .success)
            voice.yield(.end(index, result, said: file.warnings))
            // At once, so that nothing is begun between this end and its telling.
            console.context.output.noticeClosedPipe()
            drainIfUnread()
        }
    }

    private func tell(_ saying: Saying) async {
        switch saying {
        case .warnings(let warnings, let path): teller.warn(warnings, of: path)
        case .end(let index, let result, let said):
            teller.tell(result, said: said)
            await tape?.take(index, result)
            if isOpenEnded { await tape?.conclude(showsProgress: false) }
        }
        drainIfUnread()
    }

    private func drainIfUnread() {
        if console.context.output.failure != nil {
            drain()
        }
    }
}

extension UploadBroadcast.File {
    init(_ entry: UploadPlan.Entry, _ uploader: Uploader) {
        path = entry.input.path
        sizeBytes = entry.sizeBytes
        if case .ready(let upload) = entry.item {
            warnings = upload.warnings(over: uploader.plannedTransport(of: upload).transport)
        }
    }
}
