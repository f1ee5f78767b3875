internal import Foundation
internal import GigHive
internal import MediaStore
internal import MediaTransport
internal import Synchronization

/// Uploads of one command: checks all files first, then sends one after the other.
struct UploadRun: Sendable {
    let console: Console
    let settings: SettingsSession
    let store: StoreSession
    let client: GigHiveClient
    let request: UploadRequest

    private enum Item: Sendable {
        case ready(PreparedUpload)
        /// Refused before anything was sent.
        case refused(UploadResult)

        /// What was noticed before anything is sent, and is said before.
        var warnings: [UploadWarning] {
            switch self {
            case .ready(let upload): upload.warnings
            case .refused: []
            }
        }
    }

    private var uploader: Uploader {
        Uploader(
            client: client,
            store: store.store,
            directory: store.directory,
            options: UploadOptions(
                maximumBytes: settings.settings.maxBytes.value,
                force: request.isForced,
                retry: settings.retryPolicy,
                timeouts: settings.timeouts,
                settleTime: settings.settings.settleTimeout.value
            )
        )
    }

    private var contact: String { settings.settings.contact.value }

    /// Runs the batch and writes every record, text and summary of it.
    ///
    /// - Throws: `SpoolError`, `StoreError` when standard input cannot be kept; `Diagnosis` when nothing can be reported.
    func run() async throws -> ExitCode {
        SpoolFile.sweep(in: store.directory) { Uploader.needsSpool($0, in: store.store) }
        let began = console.context.elapsed()
        var items: [Item] = []
        for source in request.sources {
            items.append(try await prepare(source))
        }
        console.record(
            .start,
            [
                "server": .string(client.server.description), "items": JSONValue(items.count),
                "dry_run": .bool(request.isDryRun),
            ]
        )
        try console.requireOutput()
        // A signal between two files, or before a result is told, ends the loop and not the program.
        return await console.context.interruption.handling({ _ in }) {
            let results = await process(items)
            let notStarted = items.count - results.count
            var code = ExitCode.batch(results.map(\.exitCode))
            if notStarted > 0, code == .success {
                code = .partly
            }
            code = console.exitCode(code)
            summarize(results, notStarted: notStarted, duration: console.context.elapsed() - began, code)
            return code
        }
    }

    // MARK: Checks

    private func prepare(_ source: UploadRequest.Source) async throws -> Item {
        var details: UploadDetails?
        do {
            let checked = try request.details.details(
                fileName: source.fileName,
                today: Formats.localDay(console.context.now()),
                settings: settings.settings
            )
            details = checked
            return .ready(try uploader.prepare(try await uploadSource(source), details: checked))
        } catch let error as GigHiveError {
            var result = UploadResult(
                path: source.path,
                fileName: source.fileName,
                server: client.server.description,
                state: .failed
            )
            result.details = details
            result.error = error
            return .refused(result)
        }
    }

    private func uploadSource(_ source: UploadRequest.Source) async throws -> UploadSource {
        switch source {
        case .file(let path): .file(path: path)
        case .standardInput(let name): .spooled(try await spool(), name: name)
        }
    }

    /// Copies standard input to the data directory, on a thread of its own, since a pipe may be slow.
    private func spool() async throws -> SpoolFile {
        let input = console.context.standardInput
        let directory = store.directory
        let limit = settings.settings.maxBytes.value
        let isCancelled = Mutex(false)
        return try await console.context.interruption.handling({ _ in isCancelled.withLock { $0 = true } }) {
            try await withCheckedThrowingContinuation { continuation in
                DispatchQueue.global().async {
                    continuation.resume(
                        with: Result {
                            try SpoolFile(
                                copying: input,
                                to: directory,
                                limit: limit,
                                isCancelled: { isCancelled.withLock { $0 } }
                            )
                        }
                    )
                }
            }
        }
    }

    // MARK: Sending

    private func process(_ items: [Item]) async -> [UploadResult] {
        let display = ProgressDisplay(
            console,
            mode: ProgressDisplay.mode(for: console),
            writesRecords: request.writesProgressRecords
        )
        console.context.interruption.onStatusRequest { display.showStatus() }
        let ticker = Task {
            while !Task.isCancelled {
                try await Task.sleep(for: .seconds(1))
                display.tick()
            }
        }
        defer {
            ticker.cancel()
            console.context.interruption.onStatusRequest(nil)
        }
        var results: [UploadResult] = []
        for (index, item) in items.enumerated() {
            // A reader that has closed the pipe, or a signal: nothing new is begun.
            guard console.context.interruption.signal == nil, console.context.output.failure == nil else { break }
            let result = await process(item, position: index + 1, total: items.count, display)
            report(result, of: item)
            results.append(result)
        }
        return results
    }

    private func process(
        _ item: Item,
        position: Int,
        total: Int,
        _ display: ProgressDisplay
    ) async -> UploadResult {
        switch item {
        case .refused(let result): return result
        case .ready(let upload) where request.isDryRun:
            warn(upload.warnings)
            var result = UploadResult(path: upload.path, fileName: upload.fileName, server: client.server.description)
            result.sizeBytes = upload.sizeBytes
            result.details = upload.details
            result.warnings = upload.warnings
            return result
        case .ready(let upload):
            warn(upload.warnings)
            display.begin(path: upload.path, byteCount: upload.sizeBytes, position: position, total: total)
            defer { display.end() }
            return await send(upload, display)
        }
    }

    /// Sends one file. The first signal stops it while bytes are being sent, and waits for the token afterwards; the
    /// second gives up.
    private func send(_ upload: PreparedUpload, _ display: ProgressDisplay) async -> UploadResult {
        let control = TransferControl()
        let finishTimeout = settings.settings.finishTimeout.value
        let onSignal = { @Sendable (request: Interruption.Request) in
            if request.isFinal {
                control.abandon()
            } else {
                let limit = request.signal == .interrupt ? nil : finishTimeout
                display.stop(waitingFor: limit)
                control.stop(finishWithin: limit)
            }
        }
        return await console.context.interruption.handling(onSignal) {
            await uploader.upload(upload, control: control) { display.handle($0) }
        }
    }

    // MARK: Reports

    private func report(_ result: UploadResult, of item: Item) {
        console.result(
            JSONRenderer.upload(result, contact: contact),
            TextRenderer.upload(result, style: console.outputStyle)
        )
        if result.warnings.contains(.noDeleteToken) {
            console.announce(NoTokenMessage(contact: contact).lines(for: result))
        }
        warn(result.warnings.filter { $0 != .noDeleteToken && !item.warnings.contains($0) })
        if let error = result.error, result.state != .cancelled {
            console.error(ErrorCatalogue.diagnosis(of: error))
        }
        showAsLastResort(result)
    }

    /// A token that neither the store nor a rescue file holds is shown to the person at the terminal, and to nobody
    /// else: the log of a CI run is public.
    private func showAsLastResort(_ result: UploadResult) {
        guard let token = result.unstoredToken, result.error?.rescuePath == nil,
            console.context.terminal.isErrorTerminal
        else { return }
        let id = result.fileID.map(String.init) ?? "this file"
        console.announce(["mediactl: keep this delete token of \(id), it is stored nowhere: \(token.secret)"])
    }

    private func warn(_ warnings: [UploadWarning]) {
        for warning in warnings {
            console.warning(TextRenderer.warning(warning))
        }
    }

    private func summarize(_ results: [UploadResult], notStarted: Int, duration: Duration, _ code: ExitCode) {
        func count(_ state: UploadState) -> JSONValue { JSONValue(results.count { $0.state == state }) }
        console.summary([
            "items": JSONValue(results.count + notStarted), "planned": count(.planned), "done": count(.done),
            "duplicate": count(.duplicate), "failed": count(.failed), "cancelled": count(.cancelled),
            "unknown_outcome": count(.unknownOutcome), "token_lost": count(.tokenLost),
            "not_started": JSONValue(notStarted),
            "bytes_sent": .integer(results.reduce(0) { $0 + $1.bytesSent }),
            "duration_ms": .integer(Formats.milliseconds(duration)),
            "signal": JSONValue(console.context.interruption.signal?.name),
            "exit_code": JSONRenderer.exitCode(code),
        ])
        guard request.sources.count > 1, !request.isDryRun else { return }
        let sent = results.reduce(Int64(0)) { $0 + $1.bytesSent }
        let good = results.count { $0.state == .done || $0.state == .duplicate }
        console.note(
            "\(good) of \(Formats.count(request.sources.count, "file")) on the server, \(Formats.bytes(sent)) sent"
        )
    }
}
