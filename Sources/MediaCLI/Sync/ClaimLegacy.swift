internal import ArgumentParser
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaTransport
internal import PhotoSync

struct ClaimLegacy: ServerCommand {
    static let schema = "mediactl.claim-legacy/1"
    static let configuration = CommandConfiguration(
        commandName: "claim-legacy",
        abstract: "Claim photos that are not assigned to any device.",
        discussion: """
            Prints the number of photos and prompts; without a terminal, it requires --yes. The claimed photos are \
            counted afterwards.

            Examples:
              mediactl claim-legacy --list
              mediactl claim-legacy --all --dry-run
              mediactl claim-legacy --all
              mediactl sync list --device legacy --since 2019-01-01 --json |
                jq -r '.photo_id // empty' | mediactl claim-legacy --ids-file - --yes
            """
    )

    @Flag(help: "List the photos without claiming them.")
    var list = false

    @Flag(help: "Claim all photos without a device.")
    var all = false

    @Option(parsing: .upToNextOption, help: ArgumentHelp("Claim the photos with these IDs.", valueName: "id"))
    var ids: [String] = []

    @Option(
        "Claim the photos with the IDs in this file, one per line; - for standard input; may be repeated.",
        value: .file
    )
    var idsFile: [String] = []

    @Flag(name: .shortAndLong, help: "Claim without confirmation.")
    var yes = false

    @Flag(name: .dryRun, help: "Show what would be claimed, without claiming it.")
    var dryRun = false

    @OptionGroup(title: "Credentials") var key: KeyOptions
    @OptionGroup(title: "Connection options") var connection: ServerConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        let choices = [list, all, !ids.isEmpty, !idsFile.isEmpty].count { $0 }
        try require(choices > 0, "Specify the photos: --all, --ids ID or --ids-file FILE; --list lists them.")
        try require(choices == 1, "--list, --all, --ids and --ids-file cannot be combined.")
        try require(!list || !(yes || dryRun), "--list cannot be combined with --yes or --dry-run.")
        try require(!ids.contains(""), "--ids: the ID is empty.")
        try require(
            !idsFile.contains("-") || !key.apiKeyStdin,
            "--ids-file - and --api-key-stdin both read standard input."
        )
    }

    func run(in console: Console) async throws -> ExitCode {
        let session = try await SyncSession.open(console, global, connection).waiting()
        let confirmation = Confirmation(prompter: session.settings.prompter, isGiven: yes)
        if !list, !dryRun {
            try confirmation.requirePrompt(for: ClaimRun.question)
        }
        let selection: LegacyClaim.Selection = all ? .all : .ids(try await namedIDs(in: console.context))
        let run = ClaimRun(
            console: console,
            account: try await session.account(key),
            confirmation: confirmation,
            isDryRun: dryRun
        )
        return try await list ? run.list() : run.claim(selection)
    }

    private func namedIDs(in context: CommandContext) async throws -> [String] {
        var ids = ids
        for name in idsFile {
            let bytes = try await InputFile.bytes(name, flag: "--ids-file", in: context)
            do {
                let lines = try PathList.paths(in: bytes, separatedBy: .line)
                ids += lines.map { String(decoding: $0, as: UTF8.self).filter { !$0.isWhitespace } }
            } catch let error {
                throw UserFacingError.usage("--ids-file: line \(error.entry): it contains a NUL byte")
            }
        }
        return ids.filter { !$0.isEmpty }
    }
}

/// Claims photos without a device for this machine, or lists them.
struct ClaimRun: Sendable {
    let console: Console
    let account: SyncAccount
    let confirmation: Confirmation
    let isDryRun: Bool

    static let question = "Claim them?"

    static func explanation(_ count: Int64, _ account: SyncAccount) -> [String] {
        [
            "This assigns \(Formats.count(count, "photo")) without a device to this machine, for all clients of "
                + "\(ErrorCatalog.clean(account.server)).",
            "It can be undone only by deleting this device on the server.",
        ]
    }

    // MARK: Listing

    /// Lists the photos without a device. Changes nothing.
    func list() async throws -> ExitCode {
        try console.requireOutput()
        let pages = PhotoTable(console, device: account.deviceID)
        let run = LongRun<PullProgress>(console)
        return try await console.context.interruption.handling({ _ in }) {
            // Blocks are printed where they are read, one at a time: a queue of blocks would keep all photos in memory.
            let count = try await run.run(reporting: { (_: Never) in }) { dependencies in
                try await LegacyClaim(account).list(control: dependencies.control) { photos in
                    pages.show(photos)
                    console.context.output.noticeClosedPipe()
                    if dependencies.control.isStopRequested || console.context.output.failure != nil {
                        throw PhotoSyncError(.cancelled)
                    }
                }
            }
            // The list stops when standard output is closed.
            let isStopped = count == nil && console.context.output.failure == nil
            let ending = console.ending(isStopped ? .partly : .success)
            if count == 0 { console.note("all photos are assigned to a device; nothing to claim") }
            if let count, count > 0 {
                console.note(
                    "\(Formats.count(count, "photo")) not assigned to a device; claim all with: mediactl claim-legacy --all"
                )
            }
            return ending.runSummary(summary(listed: count ?? Int64(pages.count), remaining: count, unknown: []))
        }
    }

    // MARK: Claiming

    /// Counts, prompts, claims, and counts again.
    ///
    /// - Throws: `PhotoSyncError`; `UserFacingError` if no prompt is possible.
    func claim(_ selection: LegacyClaim.Selection) async throws -> ExitCode {
        try console.requireOutput()
        guard isDryRun || account.deviceID != nil else { throw PhotoSyncError(.noDevice) }
        let claim = LegacyClaim(account)
        let control = TransferControl()
        let plan = try await console.context.interruption.handling({ _ in control.abandon() }) {
            try await claim.plan(selection, control: control)
        }
        explain(plan)
        if isDryRun {
            console.text(["\(Formats.count(plan.count, "photo")) would be claimed for this machine"])
            return finish(plan, code: plan.unclaimableCode)
        }
        guard plan.count > 0 else {
            console.text(["nothing to claim"])
            return finish(plan, code: plan.unclaimableCode)
        }
        let lines = Self.explanation(plan.count, account)
        guard try await confirmation.prompt(lines, Self.question, on: console) else {
            console.text(["nothing was claimed"])
            return finish(plan, code: .failure)
        }
        return try await perform(claim, plan)
    }

    private func perform(_ claim: LegacyClaim, _ plan: ClaimPlan) async throws -> ExitCode {
        let control = TransferControl()
        return try await console.context.interruption.handling({ control.handle($0) }) {
            guard let result = try await result(of: claim, plan, control) else {
                console.note("stopped; photos that are already claimed remain claimed")
                return finish(plan, code: .partly)
            }
            var facts = ["claimed \(Formats.count(result.claimed, "photo"))"]
            if result.alreadyClaimed > 0 { facts.append("\(result.alreadyClaimed) already claimed") }
            if result.failed > 0 { facts.append("\(result.failed) failed") }
            console.text([facts.joined(separator: ", ")])
            if result.remaining > 0 {
                console.note(
                    "\(Formats.count(result.remaining, "photo")) still not assigned to a device; to list: "
                        + "mediactl claim-legacy --list"
                )
            }
            return finish(plan, result, code: result.exitCode(of: plan))
        }
    }

    /// nil if the run was stopped.
    private func result(
        of claim: LegacyClaim,
        _ plan: ClaimPlan,
        _ control: TransferControl
    ) async throws(PhotoSyncError) -> ClaimResult? {
        do {
            return try await claim.run(plan, control: control)
        } catch  where error.code == .cancelled {
            return nil
        }
    }

    private func explain(_ plan: ClaimPlan) {
        for id in plan.unknown.prefix(10) {
            console.warning("\(ErrorCatalog.quoted(id)) is not one of your photos on this server")
        }
        let others = plan.unknown.count - 10
        if others > 0 {
            let subject = others == 1 ? "1 more ID is" : "\(others) more IDs are"
            console.warning("\(subject) not among your photos on this server")
        }
        if !plan.alreadyClaimed.isEmpty {
            console.note(
                "\(Formats.count(plan.alreadyClaimed.count, "photo")) already assigned to a device and not changed"
            )
        }
    }

    // MARK: Summary

    private func finish(_ plan: ClaimPlan, _ result: ClaimResult? = nil, code: ExitCode) -> ExitCode {
        console.ending(code).runSummary(
            summary(
                planned: plan.count,
                result,
                alreadyClaimed: Int64(plan.alreadyClaimed.count),
                remaining: result?.remaining ?? plan.before.legacyPhotos,
                unknown: plan.unknown
            )
        )
    }

    private func summary(
        listed: Int64? = nil,
        planned: Int64? = nil,
        _ result: ClaimResult? = nil,
        alreadyClaimed: Int64? = nil,
        remaining: Int64?,
        unknown: [String]
    ) -> JSONObject {
        [
            "server": .string(account.server), "device_id": JSONValue(account.deviceID), "dry_run": .bool(isDryRun),
            "items": JSONValue(listed), "planned": JSONValue(planned), "claimed": JSONValue(result?.claimed),
            "already_claimed": JSONValue(result?.alreadyClaimed ?? alreadyClaimed),
            "failed": JSONValue(result?.failed), "remaining": JSONValue(remaining),
            "unknown_ids": .array(unknown.map { .string($0) }),
        ]
    }
}

extension ClaimPlan {
    /// The exit code of a dry run, or if there is nothing to claim: unknown IDs are failures.
    fileprivate var unclaimableCode: ExitCode {
        guard !unknown.isEmpty else { return .success }
        return count == 0 && alreadyClaimed.isEmpty ? .notFound : .partly
    }
}

extension ClaimResult {
    func exitCode(of plan: ClaimPlan) -> ExitCode {
        guard failed > 0 else { return .success }
        guard claimed + alreadyClaimed == 0 else { return .partly }
        return plan.unknown.count == Int(failed) ? .notFound : .server
    }
}
