internal import GigHive
internal import MediaCore
internal import MediaStore
internal import MediaTransport

/// Deletions of one command, one after the other.
struct DeleteRun: Sendable {
    let console: Console
    let plan: DeletionPlan
    let servers: ServerSession
    let confirmation: Confirmation
    let options: Options

    /// What the flags say.
    struct Options: Sendable {
        var onInvalidToken: InvalidTokenChoice?
        var isAdmin: Bool
        /// The required checksum of the single file.
        var checksumSHA256: String?
        var isDryRun: Bool
        /// How long SIGTERM and SIGHUP wait for an answer.
        var finishTimeout: Duration
    }

    /// A deletion that was found possible.
    private struct Candidate: Sendable {
        var entry: TokenEntry
        var deleter: Deleter
    }

    private enum Step: Sendable {
        case candidate(Candidate)
        case listed(AdminCandidate)
        case refused(DeleteResult, Diagnosis? = nil)
        case guest(GuestHiding)
    }

    /// How one of them ended.
    private enum End: Sendable {
        case deletion(DeleteResult, ServerMedia? = nil, Diagnosis? = nil)
        case hiding(GuestHiding)

        var exitCode: ExitCode {
            switch self {
            case .deletion(let result, _, let refusal): refusal?.exitCode ?? result.exitCode
            case .hiding(let hiding): hiding.exitCode
            }
        }

        var state: String {
            switch self {
            case .deletion(let result, _, _): result.state.rawValue
            case .hiding(let hiding): hiding.state.rawValue
            }
        }
    }

    /// Finds the entries, prompts once, deletes, and writes records, text and summary. Without IDs, the file is the one
    /// with the checksum of the options on the server.
    func run(ids: [Int64]) async throws -> ExitCode {
        let ids = ids.isEmpty ? try await search.ids() : ids
        console.record(.start, ["items": JSONValue(ids.count), "dry_run": .bool(options.isDryRun)])
        try console.requireOutput()
        var steps: [Step] = []
        for id in ids {
            steps.append(try await find(id))
        }
        let isConfirmed = options.isDryRun ? false : try await confirm(steps)
        // A signal between two deletions, or before a result is told, ends the loop and not the program.
        return await console.context.interruption.handling({ _ in }) {
            await processAll(steps, isConfirmed: isConfirmed)
        }
    }

    private func processAll(_ steps: [Step], isConfirmed: Bool) async -> ExitCode {
        var results: [End] = []
        plan.store.beginRemovals()
        for step in steps {
            guard console.mayGoOn else { break }
            let result = await process(step, isConfirmed: isConfirmed)
            report(result)
            results.append(result)
        }
        let removal = console.finishRemovals(in: plan.store)
        let batch = ExitCode.batch(results.map(\.exitCode), isWhole: results.count == steps.count)
        let code = console.exitCode(batch == .success ? removal : batch)
        summarize(results, notStarted: steps.count - results.count, code)
        return code
    }

    // MARK: Finding

    private var search: AdminSearch {
        AdminSearch(
            plan: plan,
            servers: servers,
            checksumSHA256: options.checksumSHA256,
            isConfirmed: confirmation.isGiven,
            isDryRun: options.isDryRun
        )
    }

    private func find(_ id: Int64) async throws -> Step {
        if options.isAdmin, try !plan.hasEntry(for: id) {
            do {
                return .listed(try await search.candidate(for: id))
            } catch let error as GigHiveError where error.fileID == id {
                return .refused(DeleteResult(fileID: id, state: .failed, host: plan.scopeName, error: error))
            } catch let refusal as Diagnosis where refusal.code == Diagnosis.noSuchMedia(id).code {
                return .refused(DeleteResult(fileID: id, state: .failed, host: plan.scopeName), refusal)
            }
        }
        return try await findEntry(id)
    }

    private func findEntry(_ id: Int64) async throws -> Step {
        var host = plan.host ?? plan.server?.scope ?? ""
        if !options.isAdmin, let guest = try plan.guestUpload(for: id) {
            guard !options.isDryRun else { return .guest(guest.judged()) }
            return .guest(await guest.asking(store: plan.store, servers: servers, now: console.context.now()))
        }
        do {
            let target = try plan.target(for: id)
            host = target.host
            if options.isDryRun {
                return .refused(try planned(target))
            }
            // Errors of the store do not require a login.
            _ = try planned(target)
            let deleter = Deleter(
                client: try await servers.client(for: target.server, retryCommand: "mediactl uploads delete \(id)"),
                store: plan.store,
                host: target.host
            )
            return .candidate(Candidate(entry: try checked(try await deleter.entry(for: id)), deleter: deleter))
        } catch let error as GigHiveError {
            return .refused(DeleteResult(fileID: id, state: .failed, host: host, error: error))
        }
    }

    /// The entry, if it has the required checksum. An entry without one gets the required one, to be compared with the
    /// server's.
    private func checked(_ entry: TokenEntry) throws(GigHiveError) -> TokenEntry {
        guard let checksum = options.checksumSHA256, checksum != entry.checksumSHA256 else { return entry }
        guard entry.checksumSHA256.isEmpty, options.isAdmin else {
            throw GigHiveError(
                .idReused,
                detail: "the local entry has another checksum",
                fileID: entry.fileID
            )
        }
        return entry
    }

    /// `--dry-run` reads the store only.
    private func planned(_ target: DeletionPlan.Target) throws -> DeleteResult {
        guard let entry = try plan.store.tokens(host: target.host, fileID: target.fileID).first else {
            throw GigHiveError.withoutToken(target.fileID, host: target.host, in: plan.store)
        }
        return DeleteResult(
            fileID: target.fileID,
            state: .planned,
            entry: try checked(entry),
            host: target.host
        )
    }

    // MARK: Asking

    private func confirm(_ steps: [Step]) async throws -> Bool {
        let entries = steps.compactMap { step in
            if case .candidate(let candidate) = step { candidate.entry } else { nil }
        }
        let guests = steps.compactMap { step in
            if case .guest(let hiding) = step, hiding.state == .planned { hiding.upload } else { nil }
        }
        let listed = steps.compactMap { step in
            if case .listed(let candidate) = step { candidate } else { nil }
        }
        guard !entries.isEmpty || !guests.isEmpty || !listed.isEmpty else { return false }
        let now = console.context.now()
        var lines: [String] = []
        for host in Set(entries.map(\.host)).sorted() {
            lines.append(
                "This deletes from \(ErrorCatalogue.clean(host)), for everyone and from every event it is linked to:"
            )
            lines += entries.filter { $0.host == host }.map { TextRenderer.brief(KeptUpload($0), now: now) }
        }
        for host in Set(listed.map(\.host)).sorted() {
            lines.append("No local entry; this is the file on \(ErrorCatalogue.clean(host)), deleted for everyone:")
            lines += listed.filter { $0.host == host }.flatMap { TextRenderer.brief($0.file) }
        }
        for host in Set(guests.map(\.host)).sorted() {
            lines.append("This hides from \(ErrorCatalogue.clean(host)), which keeps the file:")
            lines += guests.filter { $0.host == host }.map { TextRenderer.brief($0, now: now) }
        }
        return try await confirmation.ask(
            lines,
            entries.count + guests.count + listed.count == 1 ? "Delete it?" : "Delete them?",
            on: console
        )
    }

    private func choose(_ entry: TokenEntry) async -> InvalidTokenChoice {
        if let choice = options.onInvalidToken {
            return choice
        }
        guard confirmation.prompter.isAllowed else { return .keep }
        return await console.context.interruption.asking {
            console.announce([
                "The server rejects the delete token of \(entry.fileID), although it still has the file."
            ])
            let answer = await confirmation.prompter.choose(
                "Remove the local entry or keep it?",
                answers: ["remove", "keep"],
                fallback: "keep"
            )
            return InvalidTokenChoice(rawValue: answer) ?? .keep
        }
    }

    // MARK: Deleting

    /// A deletion in flight is never torn: the first signal only keeps the next from being begun.
    private func process(_ step: Step, isConfirmed: Bool) async -> End {
        switch step {
        case .refused(let result, let refusal): return .deletion(result, nil, refusal)
        case .listed(let candidate) where options.isDryRun: return .deletion(candidate.result(.planned), candidate.file)
        case .listed(let candidate) where !isConfirmed: return .deletion(candidate.result(.declined), candidate.file)
        case .listed(let candidate):
            return await console.context.interruption.handling({ outlast($0) }) {
                .deletion(await candidate.deleter.deleteAsAdmin(candidate.target), candidate.file)
            }
        case .guest(let hiding) where options.isDryRun || hiding.state == .failed: return .hiding(hiding)
        case .guest(let hiding) where !isConfirmed: return .hiding(hiding.ending(.declined))
        case .guest(let hiding):
            return await console.context.interruption.handling({ outlast($0) }) {
                .hiding(await hiding.perform(store: plan.store, servers: servers, now: console.context.now()))
            }
        case .candidate(let candidate) where !isConfirmed:
            return .deletion(
                DeleteResult(
                    fileID: candidate.entry.fileID,
                    state: .declined,
                    entry: candidate.entry,
                    host: candidate.entry.host
                )
            )
        case .candidate(let candidate):
            return await console.context.interruption.handling({ outlast($0) }) {
                .deletion(
                    options.isAdmin
                        ? await candidate.deleter.deleteAsAdmin(target(of: candidate.entry))
                        : await candidate.deleter.delete(candidate.entry) { await choose($0) }
                )
            }
        }
    }

    /// The file of an entry; an entry without checksum gets the one of the options.
    private func target(of entry: TokenEntry) -> AdminDeletion {
        var target = AdminDeletion(entry)
        if target.checksumSHA256.isEmpty, let checksum = options.checksumSHA256 {
            target.checksumSHA256 = checksum
        }
        return target
    }

    private func outlast(_ request: Interruption.Request) {
        console.outlast(request, for: "the server's response", finishTimeout: options.finishTimeout)
    }

    // MARK: Reports

    private func report(_ end: End) {
        switch end {
        case .deletion(let result, let file, let refusal):
            console.result(
                JSONRenderer.deletion(result, file: file, refusal: refusal),
                TextRenderer.deletion(result, file: file, style: console.outputStyle)
            )
            if let refusal {
                console.error(refusal)
            } else if let error = result.error, result.state == .failed {
                console.error(ErrorCatalogue.diagnosis(of: error))
            }
        case .hiding(let hiding):
            console.result(JSONRenderer.hiding(hiding), TextRenderer.hiding(hiding, style: console.outputStyle))
            if let error = hiding.error {
                console.error(ErrorCatalogue.diagnosis(of: error))
            }
        }
    }

    private func summarize(_ results: [End], notStarted: Int, _ code: ExitCode) {
        func count(_ state: DeleteResult.State) -> JSONValue {
            JSONValue(results.count { $0.state == state.rawValue })
        }
        console.summary(
            [
                "items": JSONValue(results.count + notStarted), "deleted": count(.deleted),
                "hidden": JSONValue(results.count { $0.state == GuestHiding.State.hidden.rawValue }),
                "gone": count(.gone),
                "entry_removed": count(.entryRemoved), "failed": count(.failed), "planned": count(.planned),
                "declined": count(.declined), "not_started": JSONValue(notStarted),
            ] + console.ending(code)
        )
    }
}
