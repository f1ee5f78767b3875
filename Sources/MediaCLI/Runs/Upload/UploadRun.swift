internal import GigHive
internal import MediaCore
internal import MediaStore
internal import MediaTransport

/// Uploads of one command: several at a time.
struct UploadRun: Sendable {
    let console: Console
    let settings: SettingsSession
    let store: StoreSession
    let uploader: Uploader
    /// Makes another of the same kind, which knows nothing yet of what the server has.
    let anotherUploader: @Sendable () -> Uploader
    let request: UploadRequest
    /// Number of parallel uploads.
    let jobs: Int
    /// The tape that is filled.
    var tape: UploadTape?

    var sending: SendingOptions { request.sending }
    var contact: String { settings.settings.contact.value }

    var plan: UploadPlan {
        UploadPlan(
            console: console,
            store: store,
            uploader: uploader,
            details: request.details,
            maximumBytes: settings.settings.maxBytes.value
        )
    }

    /// Runs the batch and writes every record, text, report and summary of it.
    ///
    /// - Parameter entries: The files, checked.
    /// - Returns: How the program ends.
    /// - Throws: `Diagnosis` for a report that cannot be written, and when results cannot be written.
    func run(_ entries: [UploadPlan.Entry]) async throws -> ExitCode {
        let began = console.context.elapsed()
        let report = try begin(items: entries.count)
        if entries.isEmpty {
            console.note("there is nothing to upload")
        }
        let isVerified = !sending.dryRun && (sending.verify ?? (entries.count > 1))
        let ledger = UploadLedger(entries, keepsLines: sending.report != nil, keepsStored: isVerified)
        let teller = UploadTeller(
            console,
            contact: contact,
            fileCount: entries.count,
            namesServer: settings.flags.server != nil,
            continuation: request.continuation(console.context.arguments)
        )
        // A signal between two files, or before a result is told, ends the loop and not the program.
        return await console.context.interruption.handling({ _ in }) {
            if sending.dryRun {
                rehearse(entries, ledger, teller)
            } else {
                await send(entries, ledger, teller)
                await tape?.conclude()
                if isVerified { await verify(ledger) }
            }
            UploadPlan.release(entries)
            return finish(ledger, teller, report, began: began)
        }
    }

    /// Compares the files of the run with the server's listing, unless a signal asks for the end.
    private func verify(_ ledger: UploadLedger) async {
        let stored = ledger.stored
        guard !stored.isEmpty, console.context.interruption.signal == nil else { return }
        if let failure = ledger.runFailure { return tell(.impossible(failure), ledger) }
        let verifier = UploadVerifier(client: uploader.client)
        let verification =
            uploader.isGuest
            ? .impossible(.usage("an event link cannot read the listing"))
            : (try? await console.context.interruption.cancelling { await UploadVerification.of(stored, verifier) })
        guard let verification, console.context.interruption.signal == nil else { return }
        tell(verification, ledger)
    }

    private func tell(_ verification: UploadVerification, _ ledger: UploadLedger) {
        ledger.note(verification)
        console.tell(verification)
    }

    // MARK: The frame of a run

    /// Writes the start record, after what must be known before the first byte.
    ///
    /// - Parameter items: Number of files; nil when nobody knows.
    /// - Returns: Where the report goes.
    /// - Throws: `Diagnosis` when neither results nor report could be written.
    func begin(items: Int?) throws(Diagnosis) -> NewFile? {
        console.record(
            .start,
            [
                "server": .string(uploader.client.server.description), "items": JSONValue(items),
                "dry_run": .bool(sending.dryRun), "jobs": JSONValue(jobs),
                "shard": JSONRenderer.shard(request.shard),
            ]
        )
        try console.requireOutput()
        guard let path = sending.report else { return nil }
        return try NewFile(replacing: RawArguments.bytes(of: path))
    }

    /// Writes report and summary.
    func finish(_ ledger: UploadLedger, _ teller: UploadTeller, _ report: NewFile?, began: Duration) -> ExitCode {
        let counts = ledger.counts
        let duration = console.context.elapsed() - began
        var code = console.exitCode(ledger.exitCode)
        func summary() -> JSONObject {
            JSONRenderer.counts(counts, duration: duration, signal: console.context.interruption.signal, code)
        }
        do {
            try report?.write(
                UploadReport(
                    server: uploader.client.server.description,
                    workingDirectory: console.context.workingDirectory,
                    createdAt: console.context.now(),
                    shard: request.shard,
                    summary: summary(),
                    lines: ledger.lines
                ).text
            )
        } catch let diagnosis {
            console.error(diagnosis)
            code = code == .success ? .failure : code
        }
        if !sending.dryRun {
            teller.conclude(counts, ledger.verification)
        }
        console.summary(summary())
        return code
    }

    // MARK: Without sending

    private func rehearse(_ entries: [UploadPlan.Entry], _ ledger: UploadLedger, _ teller: UploadTeller) {
        tape?.rehearse()
        for (index, entry) in entries.enumerated() {
            guard console.mayGoOn else { return }
            var result: UploadResult
            switch entry.item {
            case .refused(let refusal): result = refusal
            case .ready(let upload):
                teller.warn(upload.warnings(over: uploader.plannedTransport(of: upload).transport), of: upload.path)
                result = UploadResult(
                    path: upload.path,
                    fileName: upload.fileName,
                    server: uploader.client.server.description
                )
                result.sizeBytes = upload.sizeBytes
                result.details = upload.details
                result.plannedTransport = uploader.plannedTransport(of: upload)
            }
            ledger.end(index, result)
            teller.tell(result)
        }
    }

    // MARK: Sending

    private func send(_ entries: [UploadPlan.Entry], _ ledger: UploadLedger, _ teller: UploadTeller) async {
        let control = BatchControl()
        let broadcast = UploadBroadcast(
            console: console,
            display: ProgressDisplay(
                console,
                mode: DisplayMode(for: console),
                writesRecords: request.writesProgressRecords,
                fileCount: entries.count,
                byteCount: entries.reduce(0) { $0 + $1.sizeBytes }
            ),
            ledger: ledger,
            teller: teller,
            tape: tape,
            drain: { control.drain() }
        )
        let files = entries.map { UploadBroadcast.File($0, uploader) }
        let batch = UploadBatch(
            uploader: uploader,
            options: .init(jobs: jobs, order: sending.batchOrder, failFast: sending.failFast)
        )
        await console.context.interruption.handling({ stop(control, broadcast.display, $0) }) {
            await broadcast.run { announce in
                await batch.run(entries.map(\.item), control: control) { event in
                    announce(event, files[event.index])
                }
            }
        }
    }

    /// The first signal stops what is being sent, and waits for the tokens of what is sent; the second gives up.
    func stop(_ control: BatchControl, _ display: ProgressDisplay, _ request: Interruption.Request) {
        guard !request.isFinal else { return control.abandon() }
        let limit = request.signal == .interrupt ? nil : settings.settings.finishTimeout.value
        display.stop(waitingFor: limit)
        control.stop(finishWithin: limit)
    }
}

extension UploadBatch.Event {
    /// The item's place in the batch.
    var index: Int {
        switch self {
        case .began(let index), .upload(let index, _), .withdrew(let index), .ended(let index, _): index
        }
    }

    /// The same about an item of another number.
    func at(_ index: Int) -> UploadBatch.Event {
        switch self {
        case .began: .began(index)
        case .upload(_, let event): .upload(index, event)
        case .withdrew: .withdrew(index)
        case .ended(_, let result): .ended(index, result)
        }
    }
}
