internal import MediaCore
internal import MediaStore
internal import PhotoSync

/// Sends photos that the server has not, and says what came of each.
struct PushRun: Sendable {
    let console: Console
    let account: SyncAccount
    let hashes: HashCache
    let options: Push.Options
    let writesProgressRecords: Bool

    /// Writes every record, text and summary.
    ///
    /// - Parameter paths: As they were named.
    /// - Returns: How the program ends.
    /// - Throws: `PhotoSyncError` for what ends the run as a whole, `Diagnosis`.
    func run(_ paths: [[UInt8]]) async throws -> ExitCode {
        console.record(
            .start,
            [
                "server": .string(account.server), "device_id": JSONValue(account.deviceID),
                "dry_run": .bool(options.isDryRun), "jobs": JSONValue(options.jobs),
            ]
        )
        try console.requireOutput()
        let run = LongRun<PushReading>(console, writesRecords: writesProgressRecords)
        let tally = ItemTally<PushItem.State>()
        return try await console.context.interruption.handling({ _ in }) {
            let push = Push(account, hashes: hashes, options: options)
            let result = try await run.run(telling: { tell($0, tally) }) { surroundings in
                try await push.run(paths, control: surroundings.control, onItem: surroundings.onItem) {
                    surroundings.progress(PushReading(progress: $0))
                }
            }
            let isStopped = result == nil || tally.count(.cancelled) > 0
            let code = console.exitCode(tally.exitCode(isStopped: isStopped))
            conclude(tally)
            console.summary(summary(tally, result?.bytesSent ?? run.display.latest?.progress.bytesSent, run, code))
            return code
        }
    }

    private func tell(_ item: PushItem, _ tally: ItemTally<PushItem.State>) {
        tally.add(item.state, item.exitCode)
        let isSaid = ![.present, .skipped].contains(item.state) || console.verbosity > 0
        let lines = isSaid ? TextRenderer.push(item, style: console.outputStyle) : []
        console.result(JSONRenderer.push(item), lines)
        guard let diagnosis = item.diagnosis, item.state != .cancelled else { return }
        if item.exitCode != .success {
            console.error(diagnosis.naming(item.path))
        } else if item.error?.code == .emptyFile {
            console.warning(diagnosis.naming(item.path).message)
        }
    }

    private func conclude(_ tally: ItemTally<PushItem.State>) {
        let words: [(state: PushItem.State, words: String)] = [
            (.uploaded, "uploaded"), (.planned, "to be uploaded"), (.present, "there already"),
            (.unconfirmed, "not confirmed"), (.foreign, "not yours there"), (.skipped, "left out"),
            (.failed, "failed"), (.cancelled, "not done"),
        ]
        let counts = tally.words(words)
        console.note(counts.isEmpty ? "there is nothing to push" : counts)
        if tally.count(.unconfirmed) + tally.count(.foreign) > 0 {
            console.warning("keep the local originals of those that are not confirmed, or not yours there")
        }
    }

    private func summary(
        _ tally: ItemTally<PushItem.State>,
        _ bytesSent: Int64?,
        _ run: LongRun<PushReading>,
        _ code: ExitCode
    ) -> JSONObject {
        func count(_ state: PushItem.State) -> JSONValue { JSONValue(tally.count(state)) }
        return [
            "server": .string(account.server), "dry_run": .bool(options.isDryRun), "items": JSONValue(tally.total),
            "uploaded": count(.uploaded), "unconfirmed": count(.unconfirmed), "present": count(.present),
            "foreign": count(.foreign), "planned": count(.planned), "skipped": count(.skipped),
            "failed": count(.failed), "cancelled": count(.cancelled), "bytes_sent": .integer(bytesSent ?? 0),
        ] + console.ending(code, after: run.display.elapsed)
    }
}

extension PushItem {
    /// What went wrong with it, in words.
    var diagnosis: Diagnosis? {
        if state == .unconfirmed, error?.code == .cancelled {
            return Diagnosis(
                "cancelled",
                "\(ErrorCatalogue.quoted(path)) was sent, but not looked for in the server's listing any more",
                hint: "push it again, and keep the local original until then",
                exitCode: .interrupt
            )
        }
        if let error { return ErrorCatalogue.diagnosis(of: error) }
        switch state {
        case .unconfirmed:
            return Diagnosis(
                "not_confirmed",
                "\(ErrorCatalogue.quoted(path)) was sent, but the server does not list it as yours",
                hint: "push it again later, and keep the local original until then",
                exitCode: .network,
                isRetryable: true
            )
        case .foreign: return ErrorCatalogue.diagnosis(of: PhotoSyncError(.notOwned, path: path))
        default: return nil
        }
    }

    /// How a program ends that pushed only this file. Files found that hold no photo are none of its business; photos
    /// that the server would refuse are.
    var exitCode: ExitCode {
        switch state {
        case .uploaded, .present, .planned: .success
        case .skipped: error.map { Self.isNoPhoto($0) ? .success : exitCode(of: $0) } ?? .success
        case .unconfirmed, .foreign: diagnosis?.exitCode ?? .failure
        case .failed: error.map { exitCode(of: $0) } ?? .failure
        case .cancelled: .interrupt
        }
    }

    private static func isNoPhoto(_ error: PhotoSyncError) -> Bool {
        error.code == .unknownExtension || error.code == .emptyFile
    }

    private func exitCode(of error: PhotoSyncError) -> ExitCode { ErrorCatalogue.diagnosis(of: error).exitCode }
}
