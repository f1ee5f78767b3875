internal import HashCapture
internal import MediaCore
internal import MediaStore

/// Goes on with captures, and says what came of each.
struct RetryRun: Sendable {
    let stage: CaptureStage
    let choice: CaptureSession.RetryChoice
    let writesProgressRecords: Bool

    private var console: Console { stage.console }

    /// Writes every record, text and summary.
    ///
    /// - Returns: How the program ends.
    /// - Throws: `Diagnosis`.
    func run(_ records: [CaptureRecord]) async throws -> ExitCode {
        console.record(.start, ["items": JSONValue(records.count)])
        try console.requireOutput()
        if records.isEmpty {
            console.note("every capture is settled")
        }
        let run = CaptureRun(stage.settings, writesRecords: writesProgressRecords)
        let jobs = records.map { record in
            CaptureRun.Job(path: record.path, readsMedia: false) { [stage, choice] control, _ in
                do {
                    let session = try stage.confidential(try stage.session(for: record))
                    return CaptureItem(try await session.retry(record.id, choice, control: control), path: record.path)
                } catch {
                    return CaptureItem(failure: error, path: record.path, record: record)
                }
            }
        }
        let isDone = await run.run(jobs) { tell($0, isBatch: records.count > 1) }
        return run.conclude(isDone: isDone, [:])
    }

    private func tell(_ item: CaptureItem, isBatch: Bool) {
        console.result(JSONRenderer.captureItem(item), TextRenderer.capture(item, style: console.outputStyle))
        for notice in item.notices where notice.isWarning {
            console.warning(isBatch ? "\(item.name): \(notice.words)" : notice.words)
        }
        if let error = item.error, item.state != .cancelled {
            console.error(isBatch ? item.path.map { error.naming($0) } ?? error : error)
        }
    }
}
