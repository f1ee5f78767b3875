internal import Foundation
internal import GigHive
internal import MediaCore
internal import MediaStore
internal import MediaTransport

/// The outcome for one file of a command that deletes files.
protocol DeletionOutcome: RunItem, Sendable {
    /// The state in the record.
    var stateName: String { get }
    var exitCode: ExitCode { get }
    /// Why the file was not deleted, or why its local entry is still there.
    var userFacingError: UserFacingError? { get }

    /// The outcome if the user declines.
    var declined: Self { get }

    /// The file in the prompt, below a title that files with the same title share.
    func announcement(now: Date) -> (title: String, lines: [String])
}

/// Deletes the chosen files one at a time, after one prompt.
struct DeletionBatch: Sendable {
    struct Step: Sendable {
        /// The outcome without a deletion.
        var outcome: any DeletionOutcome
        /// Deletes the file; nil in a dry run, and if the file cannot be deleted.
        var perform: (@Sendable () async -> any DeletionOutcome)?
    }

    let console: Console
    let store: TokenStore
    let confirmation: Confirmation
    /// Grace period after a signal other than SIGINT to wait for a response.
    let finishTimeout: Duration

    /// Prompts with `question`, which is passed the number of files, deletes the files, and writes records, text and
    /// summary. `states` are counted in the summary. `emptyCode` is returned if there are no steps.
    ///
    /// - Throws: `UserFacingError` (usage) if no prompt is possible.
    func run(
        _ steps: [Step],
        counting states: [String],
        emptyCode: ExitCode = .success,
        question: (Int) -> String
    ) async throws(UserFacingError) -> ExitCode {
        let isConfirmed = try await confirm(steps.filter { $0.perform != nil }.map(\.outcome), question)
        // A signal between two deletions, or before a result is printed, ends the loop but not the program.
        return await console.context.interruption.handling({ _ in }) {
            var outcomes: [any DeletionOutcome] = []
            store.beginRemovals()
            for step in steps {
                guard console.mayContinue else { break }
                let outcome = await process(step, isConfirmed: isConfirmed)
                console.result(outcome)
                if let error = outcome.userFacingError { console.error(error) }
                outcomes.append(outcome)
            }
            let removal = console.finishRemovals(in: store)
            let batch =
                steps.isEmpty
                ? emptyCode : ExitCode.batch(outcomes.map(\.exitCode), isWhole: outcomes.count == steps.count)
            return console.ending(batch == .success ? removal : batch)
                .summary(of: steps.count, outcomes.map(\.stateName), counting: states)
        }
    }

    private func confirm(
        _ files: [any DeletionOutcome],
        _ question: (Int) -> String
    ) async throws(UserFacingError) -> Bool {
        guard !files.isEmpty else { return false }
        let now = console.context.now()
        let sections = Dictionary(grouping: files.map { $0.announcement(now: now) }, by: \.title)
        let lines = sections.sorted { $0.key < $1.key }.flatMap { title, files in [title] + files.flatMap(\.lines) }
        return try await confirmation.prompt(lines, question(files.count), on: console)
    }

    /// A signal prevents the next deletion. One in flight is abandoned only after a repeated signal or a time limit
    /// (`Console.outlast`).
    private func process(_ step: Step, isConfirmed: Bool) async -> any DeletionOutcome {
        guard let perform = step.perform else { return step.outcome }
        guard isConfirmed else { return step.outcome.declined }
        return await console.context.interruption.handling({
            console.outlast($0, for: "the server's response", finishTimeout: finishTimeout)
        }) { await perform() }
    }
}

/// A file deleted with its token or with admin rights.
struct FileDeletion: DeletionOutcome {
    var result: DeleteResult
    /// As listed on the server before the deletion; nil for a file with a local entry.
    var file: ServerMedia?
    /// The error if `result` does not contain one.
    var refusal: UserFacingError?
    /// The server, if the record describes the file on the server instead of its local entry.
    var server: ServerURL?

    var stateName: String { result.state.rawValue }

    var exitCode: ExitCode {
        if let refusal { return refusal.exitCode }
        if let error = result.error { return ExitCode(error.code) }
        return switch result.state {
        case .deleted, .gone, .entryRemoved, .planned: .success
        case .declined, .failed: .failure
        }
    }

    var userFacingError: UserFacingError? {
        guard refusal == nil, let error = result.error else { return refusal }
        var userFacingError = ErrorCatalog.userFacingError(of: error)
        if result.state != .failed {
            userFacingError.message =
                "the local entry of \(result.fileID) was not removed: \(userFacingError.message)"
        }
        return userFacingError
    }

    var declined: FileDeletion {
        var deletion = self
        deletion.result.state = .declined
        return deletion
    }

    func announcement(now: Date) -> (title: String, lines: [String]) {
        let host = ErrorCatalog.clean(result.host)
        let title =
            result.entry == nil && server == nil
            ? "No local entry; this deletes the file on \(host), for everyone:"
            : "Files to delete from \(host), for everyone and from every event:"
        let entry = result.entry.map { [TextRenderer.brief(KeptUpload($0), now: now)] }
        return (title, entry ?? file.map { TextRenderer.brief($0) } ?? [])
    }

    var json: JSONObject {
        guard let server else { return localRecord }
        return [
            "file_id": .integer(result.fileID), "host": .string(result.host),
            "server": .string(server.description), "state": .string(stateName),
            "events": .array((file?.events ?? []).map(JSONRenderer.event)), "file_name": JSONValue(file?.fileName),
            "file_type": JSONValue(file?.fileType), "size_bytes": JSONValue(file?.sizeBytes),
            "checksum_sha256": JSONValue(file?.checksumSHA256), "http_status": JSONValue(result.httpStatus),
            "exit_code": .exitCode(exitCode), "error": .error(userFacingError),
        ]
    }

    private var localRecord: JSONObject {
        let members = JSONRenderer.deletion(
            self,
            of: result.fileID,
            from: result.host,
            result.entry.map { KeptUpload($0) },
            httpStatus: result.httpStatus
        )
        // Without a local entry, the server's details are used.
        guard result.entry == nil, let file else { return members }
        let event = file.events.first
        return members.replacing([
            "event_date": JSONValue(event?.date), "org_name": JSONValue(event?.orgName),
            "event_type": JSONValue(event?.eventType), "label": JSONValue(event?.label),
            "file_name": JSONValue(file.fileName), "checksum_sha256": JSONValue(file.checksumSHA256),
        ])
    }

    func text(_ style: Style) -> [String] {
        let title = result.entry.map { KeptUpload($0).title } ?? file?.events.lazy.compactMap(\.label).first
        let name = title.map { "\(result.fileID) \(ErrorCatalog.quoted($0))" } ?? "\(result.fileID)"
        let host = TerminalText.escaped(result.host)
        return switch result.state {
        case .deleted: ["\(style.green("deleted")) \(name) from \(host)"]
        case .gone where result.entry == nil || result.error != nil: ["\(name) was already deleted from \(host)"]
        case .gone: ["\(name) was already deleted from \(host); removed the local entry"]
        case .entryRemoved: ["removed the local entry of \(name); the file is still on \(host)"]
        case .planned: ["\(name) would be deleted from \(host)"]
        case .declined: ["\(name) was not deleted"]
        case .failed: []
        }
    }
}

extension JSONRenderer {
    /// The record of `uploads delete`; `upload` is the local entry.
    static func deletion(
        _ outcome: some DeletionOutcome,
        of fileID: Int64,
        from host: String,
        _ upload: KeptUpload?,
        httpStatus: Int? = nil
    ) -> JSONObject {
        [
            "file_id": .integer(fileID), "host": .nonEmpty(host), "state": .string(outcome.stateName),
            "event_date": JSONValue(upload?.eventDate), "org_name": JSONValue(upload?.orgName),
            "event_type": JSONValue(upload?.eventType), "label": JSONValue(upload?.label),
            "file_name": JSONValue(upload?.fileName), "checksum_sha256": JSONValue(upload?.checksumSHA256),
            "server": JSONValue(upload?.server), "http_status": JSONValue(httpStatus),
            "exit_code": .exitCode(outcome.exitCode), "error": .error(outcome.userFacingError),
        ]
    }
}
