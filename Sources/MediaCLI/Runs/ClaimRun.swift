internal import MediaCore
internal import MediaStore
internal import MediaTransport
internal import PhotoSync

/// Claims photos of no device for this one, or lists them.
struct ClaimRun: Sendable {
    let console: Console
    let account: SyncAccount
    let confirmation: Confirmation
    let isDryRun: Bool

    /// What is asked before.
    static let question = "Claim them?"

    // MARK: Listing

    /// Lists the legacy photos and changes nothing.
    ///
    /// - Throws: `PhotoSyncError`, `Diagnosis`.
    func list() async throws -> ExitCode {
        try console.requireOutput()
        let pages = PhotoTable(console, device: account.deviceID)
        let run = LongRun<ListingReading>(console, writesRecords: false)
        return try await console.context.interruption.handling({ _ in }) {
            let count = try await run.run(telling: { pages.show($0) }) { surroundings in
                try await LegacyClaim(account).list(control: surroundings.control) { surroundings.onItem($0) }
            }
            let code = console.exitCode(count == nil ? .partly : .success)
            if count == 0 { console.note("every photo belongs to a device; there is nothing to claim") }
            if let count, count > 0 {
                console.note(
                    "\(Formats.count(count, "photo")) of no device; mediactl claim-legacy --all makes them this machine's"
                )
            }
            console.summary(
                summary(listed: count ?? Int64(pages.count), remaining: count, unknown: [], code)
            )
            return code
        }
    }

    // MARK: Claiming

    /// Counts, asks, claims, and counts again.
    ///
    /// - Throws: `PhotoSyncError`, `Diagnosis` when nobody can be asked.
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
            console.text(["there is nothing to claim"])
            return finish(plan, code: plan.unclaimableCode)
        }
        let lines = [
            "This makes \(Formats.count(plan.count, "photo")) without a device photos of this machine, for everybody who uses "
                + "\(ErrorCatalogue.clean(account.server)).",
            "Only deleting this device at the server takes it back.",
        ]
        guard try await confirmation.ask(lines, Self.question, on: console) else {
            console.text(["nothing was claimed"])
            return finish(plan, code: .failure)
        }
        return try await perform(claim, plan)
    }

    private func perform(_ claim: LegacyClaim, _ plan: ClaimPlan) async throws -> ExitCode {
        let control = TransferControl()
        return try await console.context.interruption.handling({ control.heed($0) }) {
            guard let result = try await result(of: claim, plan, control) else {
                console.note("stopped; what was claimed until then stays claimed")
                return finish(plan, code: .partly)
            }
            var facts = ["claimed \(Formats.count(result.claimed, "photo"))"]
            if result.alreadyClaimed > 0 { facts.append("\(result.alreadyClaimed) claimed before") }
            if result.failed > 0 { facts.append("\(result.failed) failed") }
            console.text([facts.joined(separator: ", ")])
            if result.remaining > 0 {
                console.note(
                    "\(Formats.count(result.remaining, "photo")) of no device left; mediactl claim-legacy --list shows what"
                )
            }
            return finish(plan, result, code: result.exitCode(of: plan))
        }
    }

    /// What a claim came to; nil when it was stopped.
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
            console.warning("\(ErrorCatalogue.quoted(id)) is no photo of yours on this server")
        }
        if plan.unknown.count > 10 {
            console.warning("\(plan.unknown.count - 10) more ids are no photos of yours on this server")
        }
        if !plan.alreadyClaimed.isEmpty {
            console.note("\(Formats.count(plan.alreadyClaimed.count, "photo")) with a device already, left as it is")
        }
    }

    // MARK: The end

    private func finish(_ plan: ClaimPlan, _ result: ClaimResult? = nil, code: ExitCode) -> ExitCode {
        let code = console.exitCode(code)
        console.summary(
            summary(
                planned: plan.count,
                result,
                alreadyClaimed: Int64(plan.alreadyClaimed.count),
                remaining: result?.remaining ?? plan.before.legacyPhotos,
                unknown: plan.unknown,
                code
            )
        )
        return code
    }

    private func summary(
        listed: Int64? = nil,
        planned: Int64? = nil,
        _ result: ClaimResult? = nil,
        alreadyClaimed: Int64? = nil,
        remaining: Int64?,
        unknown: [String],
        _ code: ExitCode
    ) -> JSONObject {
        [
            "server": .string(account.server), "device_id": JSONValue(account.deviceID), "dry_run": .bool(isDryRun),
            "items": JSONValue(listed), "planned": JSONValue(planned), "claimed": JSONValue(result?.claimed),
            "already_claimed": JSONValue(result?.alreadyClaimed ?? alreadyClaimed),
            "failed": JSONValue(result?.failed), "remaining": JSONValue(remaining),
            "unknown_ids": .array(unknown.map { .string($0) }),
        ] + console.ending(code)
    }
}

extension ClaimPlan {
    /// How a program ends that claimed nothing of this plan, or all that it could: unknown ids are failures.
    fileprivate var unclaimableCode: ExitCode {
        guard !unknown.isEmpty else { return .success }
        return count == 0 && alreadyClaimed.isEmpty ? .notFound : .partly
    }
}

extension ClaimResult {
    /// How a program ends that has made this claim.
    func exitCode(of plan: ClaimPlan) -> ExitCode {
        guard failed > 0 else { return .success }
        guard claimed + alreadyClaimed == 0 else { return .partly }
        return plan.unknown.count == Int(failed) ? .notFound : .server
    }
}
