internal import MediaCore
internal import MediaStore
internal import PhotoSync

/// Fetches photos, and says what came of each.
struct DownloadRun: Sendable {
    let console: Console
    let account: SyncAccount
    let hashes: HashCache
    let options: Download.Options
    let writesProgressRecords: Bool
    /// Absolute path of the working directory when the target was named from there: text then tells paths as well from
    /// there.
    var base: [UInt8] = []

    /// Writes every record, text and summary.
    ///
    /// - Parameters:
    ///   - selection: Which photos.
    ///   - directory: Absolute path.
    /// - Returns: How the program ends.
    /// - Throws: `PhotoSyncError` for what ends the run as a whole, `Diagnosis`.
    func run(_ selection: Download.Selection, to directory: [UInt8]) async throws -> ExitCode {
        console.record(
            .start,
            [
                "server": .string(account.server), "to": JSONRenderer.path(directory),
                "dry_run": .bool(options.isDryRun), "jobs": JSONValue(options.jobs),
            ]
        )
        try console.requireOutput()
        let run = LongRun<DownloadReading>(console, writesRecords: writesProgressRecords)
        let tally = ItemTally<DownloadItem.State>()
        return try await console.context.interruption.handling({ _ in }) {
            let download = Download(account, hashes: hashes, options: options)
            let result = try await run.run(telling: { tell($0, tally) }) { surroundings in
                try await download.run(
                    selection,
                    to: directory,
                    control: surroundings.control,
                    onItem: surroundings.onItem
                ) { surroundings.progress(DownloadReading(progress: $0)) }
            }
            let isStopped = result == nil || tally.count(.cancelled) > 0
            let code = console.exitCode(tally.exitCode(isStopped: isStopped))
            conclude(tally)
            let bytes = result?.bytesReceived ?? run.display.latest?.progress.bytesReceived
            console.summary(summary(tally, bytes, run, code))
            return code
        }
    }

    private func tell(_ item: DownloadItem, _ tally: ItemTally<DownloadItem.State>) {
        tally.add(item.state, item.exitCode)
        let isSaid = item.state != .present || console.verbosity > 0
        console.result(
            JSONRenderer.download(item),
            isSaid ? TextRenderer.download(item, below: base, style: console.outputStyle) : []
        )
        guard let error = item.error else { return }
        if item.state == .failed {
            let diagnosis = ErrorCatalogue.diagnosis(of: error)
            let path = error.path == nil ? item.path : nil
            console.error(path.map { diagnosis.naming($0) } ?? diagnosis)
        } else if item.state == .present, let path = item.path {
            console.note("\(ErrorCatalogue.quoted(path)) was changed after it was fetched or sent; it is left as it is")
        }
    }

    private func conclude(_ tally: ItemTally<DownloadItem.State>) {
        let words: [(state: DownloadItem.State, words: String)] = [
            (.verified, "downloaded and verified"), (.rewritten, "rewritten by the server"),
            (.planned, "to be downloaded"),
            (.present, "there already"), (.failed, "failed"), (.cancelled, "not done"),
        ]
        let counts = tally.words(words)
        console.note(counts.isEmpty ? "there is nothing to download" : counts)
        if tally.count(.rewritten) > 0 {
            console.note(
                "the server changes the photos it stores: those it has rewritten cannot be compared with what was "
                    + "uploaded, so only their length was checked"
            )
        }
    }

    private func summary(
        _ tally: ItemTally<DownloadItem.State>,
        _ bytesReceived: Int64?,
        _ run: LongRun<DownloadReading>,
        _ code: ExitCode
    ) -> JSONObject {
        func count(_ state: DownloadItem.State) -> JSONValue { JSONValue(tally.count(state)) }
        return [
            "server": .string(account.server), "dry_run": .bool(options.isDryRun), "items": JSONValue(tally.total),
            "verified": count(.verified), "rewritten": count(.rewritten), "present": count(.present),
            "planned": count(.planned), "failed": count(.failed), "cancelled": count(.cancelled),
            "bytes_received": .integer(bytesReceived ?? 0),
        ] + console.ending(code, after: run.display.elapsed)
    }
}

extension DownloadItem {
    /// How a program ends that fetched only this photo.
    var exitCode: ExitCode {
        switch state {
        case .verified, .rewritten, .present, .planned: .success
        case .failed: error.map { ErrorCatalogue.diagnosis(of: $0).exitCode } ?? .failure
        case .cancelled: .interrupt
        }
    }
}
