internal import ArgumentParser
internal import Foundation
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaTransport
internal import PhotoSync

struct SyncRepair: ServerCommand {
    static let schema = "mediactl.sync-repair/1"
    static let configuration = CommandConfiguration(
        commandName: "repair",
        abstract: "Upload photos again if the server lost or damaged their files.",
        discussion: """
            Checks every file on the server, as sync verify --server-files does; with --server-content, damaged files of the \
            correct length are also found. Each such file is replaced from a local original with the uploaded bytes: the photo is \
            deleted on the server and uploaded again, with its name, date and device. It gets a new ID, and is removed from \
            albums on the server. Photos without a local original are listed and not changed.

            Examples:
              mediactl sync repair --dry-run
              mediactl sync repair --server-content --dry-run
              mediactl sync repair --yes
            """
    )

    @Flag(help: "Download each photo to check its content, as sync verify --server-content does.")
    var serverContent = false

    @Flag(name: .shortAndLong, help: "Repair without confirmation.")
    var yes = false

    @Flag(name: .dryRun, help: "Show what would be repaired, without repairing it.")
    var dryRun = false

    @OptionGroup(title: "Credentials") var key: KeyOptions
    @OptionGroup(title: "Connection options") var connection: ServerConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    private static let question = "Repair them?"

    func run(in console: Console) async throws -> ExitCode {
        let session = try await SyncSession.open(console, global, connection).waiting()
        let confirmation = Confirmation(prompter: session.settings.prompter, isGiven: yes)
        if !dryRun { try confirmation.requirePrompt(for: Self.question) }
        let account = try await session.account(key)
        let check: ServerCheck = serverContent ? .content(in: session.settings.locations.cacheDirectory) : .lengths
        try console.start([
            "server": .string(account.server), "server_check": .string(check.word), "dry_run": .bool(dryRun),
        ])
        let repair = Repair(account, check: check, retry: session.retryPolicy)
        let run = LongRun<PullProgress>(console)
        let statistics = ItemStatistics<Repair.Item.State>()
        let plan = try await console.context.interruption.handling({ _ in }) {
            try await run.run(reporting: { (_: Repair.Item) in }) { dependencies in
                try await repair.plan(control: dependencies.control, progress: dependencies.progress)
            }
        }
        guard let plan else { return finish(statistics, run, account, isStopped: true, on: console) }
        let planned = plan.count { $0.state == .planned }
        if dryRun || planned == 0 {
            for item in plan { Self.report(item, statistics, on: console) }
            advise(plan, on: console)
            if plan.isEmpty {
                console.note(
                    check == .lengths
                        ? "the server has a file of a plausible length for every photo; nothing to repair"
                        : "no file on the server is missing or damaged; nothing to repair"
                )
            }
            return finish(statistics, run, account, on: console)
        }
        let server = ErrorCatalog.clean(account.server)
        let deleted = plan.count { $0.state == .planned && $0.isDeleted }
        var lines: [String] = []
        if planned > deleted {
            lines.append(
                "This deletes \(Formats.count(planned - deleted, "damaged photo")) on \(server) and uploads the local "
                    + "originals again."
            )
        }
        if deleted > 0 {
            lines.append(
                "This uploads \(Formats.count(deleted, "photo")) that an interrupted repair, or the server itself, has "
                    + "deleted on \(server)."
            )
        }
        lines.append("The photos get new IDs and are removed from albums on the server.")
        guard try await confirmation.prompt(lines, Self.question, on: console) else {
            console.text(["nothing was repaired"])
            return finish(statistics, run, account, code: .failure, on: console)
        }
        let control = TransferControl()
        let isIndexCurrent = try await console.context.interruption.handling({ control.handle($0) }) {
            try await repair.run(plan, control: control) { Self.report($0, statistics, on: console) }
        }
        advise(plan, on: console)
        if !isIndexCurrent {
            console.note("the index still has photos that were replaced; update it with: mediactl sync --full")
        }
        return finish(statistics, run, account, isStopped: statistics.count(.cancelled) > 0, on: console)
    }

    private func advise(_ plan: [Repair.Item], on console: Console) {
        guard let path = plan.first(where: { $0.state == .noOriginal && $0.path != nil })?.path else { return }
        console.note(
            "restore changed originals from a backup, and repair again; or upload the changed file as a new photo: "
                + "mediactl sync push --changed \(ShellWord.quoted(path))"
        )
    }

    private static func report(
        _ item: Repair.Item,
        _ statistics: ItemStatistics<Repair.Item.State>,
        on console: Console
    ) {
        statistics.add(item.state, item.exitCode)
        console.result(item)
        guard let error = item.error else { return }
        // The error that ends the run is printed once, by the run.
        if !item.endsRun { console.error(ErrorCatalog.userFacingError(of: error)) }
        // A push would not upload bytes that another user has on the server.
        if item.isDeleted, item.newID == nil, error.code != .notOwned, let path = item.path {
            let file = ErrorCatalog.quoted(path)
            console.warning(
                "\(file) is no longer on the server; upload it with: mediactl sync repair, or mediactl sync push "
                    + ShellWord.quoted(path)
            )
        }
    }

    private func finish(
        _ statistics: ItemStatistics<Repair.Item.State>,
        _ run: LongRun<PullProgress>,
        _ account: SyncAccount,
        isStopped: Bool = false,
        code: ExitCode? = nil,
        on console: Console
    ) -> ExitCode {
        let ending = console.ending(code ?? statistics.exitCode(isStopped: isStopped))
        let counts = statistics.words([
            (.repaired, "repaired"), (.planned, "to be repaired"), (.skipped, "skipped"),
            (.noOriginal, "without a local original"),
            (.failed, "failed"), (.cancelled, "canceled"),
        ])
        if !counts.isEmpty { console.note(counts) }
        let summary: JSONObject = [
            "server": .string(account.server), "dry_run": .bool(dryRun), "items": JSONValue(statistics.total),
        ]
        return ending.runSummary(summary + statistics.json, after: run.display.elapsed)
    }
}

extension Repair.Item: RunItem {
    var exitCode: ExitCode {
        switch state {
        case .planned, .repaired, .skipped: .success
        case .noOriginal: ExitCode(.undeliverable)
        case .failed: ExitCode(of: error) ?? .failure
        case .cancelled: .interrupt
        }
    }

    var json: JSONObject {
        [
            "photo_id": .string(photo.id), "file_name": .string(photo.originalFilename),
            "state": .string(state.rawValue), "problem": .string(problem.rawValue), "path": .path(path),
            "new_photo_id": JSONValue(newID), "exit_code": .exitCode(exitCode), "error": .error(error),
        ]
    }

    func text(_ style: Style) -> [String] {
        let name = TerminalText.escaped(photo.originalFilename)
        let problem = problem.rawValue.replacing("_", with: " ")
        let original = path.map { TerminalText.escaped($0) } ?? ""
        return switch state {
        case .planned: ["\(name) (\(problem)): would be uploaded again from \(original)"]
        case .repaired: ["\(style.green("repaired")) \(name) (\(problem)) from \(original)"]
        case .skipped where self.problem == .uploadedDamaged:
            ["\(name): skipped: it was damaged before its upload"]
        case .skipped: ["\(name) (\(problem)): skipped: no longer damaged"]
        case .noOriginal:
            [
                "\(style.yellow("no original")) \(name) (\(problem), ID \(TerminalText.escaped(photo.id))): "
                    + (path == nil
                        ? "no local file has the uploaded bytes" : "\(original) was changed after its upload")
            ]
        case .cancelled: ["\(name): canceled"]
        case .failed: []
        }
    }
}
