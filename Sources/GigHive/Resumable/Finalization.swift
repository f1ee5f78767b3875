internal import Foundation
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport
internal import Tus

/// Stores an upload whose bytes are on the tus server, at most once (gighive contract 4.3 and 4.4).
///
/// The caller holds the upload's lock, so two finalize requests for one upload never run concurrently. A finalize
/// request whose response was lost is repeated only when the server can no longer be working on it: after
/// `processingTime`, or when the upload ID is gone.
struct Finalization {
    enum Outcome: Sendable {
        /// The recorder has the result.
        case finished
        /// The server does not have the bytes, or no longer has them, and has not stored the file: the bytes must be
        /// sent.
        case sendAgain(GigHiveError)
        /// The server can never complete this upload; another may be created.
        case dead(GigHiveError)
    }

    enum Step {
        /// Send the finalize request (again).
        case request
        case end(Outcome)
    }

    /// The state of the upload on the tus server.
    private enum TusState {
        case complete
        case incomplete
        case gone(GigHiveError)
        case noResponse(GigHiveError)
    }

    let uploader: Uploader
    let journal: TusJournal
    let tusID: String
    private let details: UploadDetails
    private let isSourceUnchanged: Bool
    let control: TransferControl
    let onEvent: @Sendable (UploadEvent) -> Void
    private let pass: EventPass
    /// The server's copy of the content from before this upload, if any.
    let storedBefore: ServerInventory.Stored?
    /// The result, for the caller.
    private(set) var recorder: UploadOutcomeRecorder

    /// When another finalize request for this ID was last in flight, if one was: a success without a token then repeats
    /// its response, and the token is lost.
    var lostAt: Date?
    /// Whether the server stores the file with its last chunk, so the finalize request only queries (gighive-d4
    /// contract section 5).
    var isQuery = false
    private var earlyAttempts: Backoff
    var pendingAttempts: Backoff
    private var refusals: Backoff
    private var losses: Backoff
    private var usedUpResponses = 0
    private var collisions: Backoff
    /// Whether the server lost this upload in a race, and may have consumed its data in the process.
    private var hasCollided = false

    /// `startedAt` is when an earlier process last sent a finalize request for this complete upload, if that may
    /// still be in flight.
    init(
        _ tusID: String,
        details: UploadDetails,
        startedAt: Date?,
        journal: TusJournal,
        uploader: Uploader,
        recorder: UploadOutcomeRecorder,
        pass: EventPass? = nil,
        storedBefore: ServerInventory.Stored? = nil,
        isSourceUnchanged: Bool = true,
        control: TransferControl,
        onEvent: @escaping @Sendable (UploadEvent) -> Void
    ) {
        self.tusID = tusID
        self.details = details
        self.journal = journal
        self.uploader = uploader
        self.recorder = recorder
        self.isSourceUnchanged = isSourceUnchanged
        self.control = control
        self.onEvent = onEvent
        self.storedBefore = storedBefore
        self.pass = pass ?? EventPass(uploader.events, details)
        earlyAttempts = Backoff(uploader.finalizeRetry)
        pendingAttempts = Backoff(uploader.pendingRetry)
        refusals = Backoff(uploader.options.retry.outage)
        var onceAtLeast = uploader.options.retry
        onceAtLeast.retries = max(1, onceAtLeast.retries)
        losses = Backoff(onceAtLeast)
        collisions = Backoff(uploader.raceRetry)
        lostAt = startedAt
    }

    mutating func run() async -> Outcome {
        isQuery = await journal.record.isInChunks
        do throws(StoreError) {
            var step = Step.request
            // A query may be repeated immediately.
            if let lostAt, !isPureQuery { step = await waitForServer(since: lostAt, endsWhenGone: true) }
            while case .request = step {
                step = try await request()
            }
            guard case .end(let end) = step else { return .finished }
            return end
        } catch {
            recorder.end(lostAt == nil ? .failed : .unknownOutcome, GigHiveError(error))
            return .finished
        }
    }

    // MARK: One request

    private mutating func request() async throws(StoreError) -> Step {
        defer { pass.leave() }
        // Every byte has been sent: an upload that waits for its event releases its slot, which another upload may
        // need.
        uploader.permit?.end()
        // If the file is already stored, the query is always sent: a stop cannot change that.
        if !isQuery {
            guard !control.isStopRequested, await pass.enter() else { return stopped() }
        }
        let rescue = try uploader.rescueLog.reserve(for: recorder.record.uploadID)
        if lostAt != nil, !isQuery { try await recorder.noteLoss() }
        try await journal.finalizing()
        onEvent(.finalizing)
        let began = ContinuousClock.now
        let pulse = journal.pulse(every: max(uploader.options.processingTime / 20, .milliseconds(1)))
        let request = FinalizeRequest(tusID, details: details, sizeBytes: recorder.record.sizeBytes, uploader)
        let attempt = await request.send(
            rescue: rescue,
            control: isQuery ? control.linked(onlyAbandon: true) : control,
            onEvent: onEvent
        )
        pulse.cancel()
        await pulse.value
        let verdict = FinalizeVerdict.of(attempt.outcome)
        pass.leave(attempt.response?.dialect)
        recorder.note(status: attempt.response?.status)
        recorder.note(response: attempt.response, isConfirmation: verdict.isStored)
        let rescuePath = attempt.rescueError == nil ? rescue.path : nil
        let step = try await handle(verdict, rescuePath, since: began)
        await recorder.finish(response: attempt.response, rescuePath: rescue.path)
        if recorder.keepsResponse {
            rescue.keep()
        } else {
            rescue.release()
        }
        return step
    }

    private mutating func handle(
        _ verdict: FinalizeVerdict,
        _ rescuePath: String?,
        since began: ContinuousClock.Instant
    ) async throws(StoreError) -> Step {
        switch verdict {
        case .stored(let response):
            return await store(response, rescuePath, since: began)
        case .duplicate(let response):
            return await handleDuplicate(response, since: began)
        case .collided(let error) where isOfOwnGuestUpload(error):
            return try await handleGuestRepetition(error)
        case .pending(let error):
            return try await waitForCompletion(error)
        case .dead(let error):
            try await journal.finalizeRefused()
            return .end(.dead(error))
        case .deleted(let error):
            try await journal.forget()
            return fail(error, isKnown: true)
        case .collided(let error):
            return try await handleCollision(error)
        case .tooEarly(let error):
            try await noteResponded()
            return try await waitForHook(error)
        case .unknownUpload(let error):
            try await noteResponded()
            return try await handleGone(error)
        case .usedUp(let error):
            return try await handleUsedUp(error)
        case .refused(let error, let mayRepeat):
            return try await handleRefusal(error, mayRepeat: mayRepeat)
        case .unsupportedMedia(let error):
            if lostAt == nil { try await uploader.removeBytes(of: tusID, journal, control: control) }
            return try await handleRefusal(error, mayRepeat: false)
        case .broken(let error):
            return try await handleBroken(error)
        case .lost(let error):
            return try await handleLoss(error)
        }
    }

    // MARK: Responses

    private mutating func store(
        _ response: UploadResponse,
        _ rescuePath: String?,
        since began: ContinuousClock.Instant
    ) async -> Step {
        let sent = recorder.record.checksumSHA256
        let response = await uploader.identified(response, recorder, of: details, sent: sent, control)
        UploadFailpoint.beforeTokenCommit.reach()
        if lostAt != nil && response.isWithoutToken && response.guest == nil && !response.hasNoTokens {
            recorder.endAsRemembered(response)
        } else {
            let tokenless = await contentWithoutToken(response, since: began)
            await recorder.commit(
                response,
                isSourceUnchanged: isSourceUnchanged,
                tokenless: tokenless,
                rescuePath: rescuePath
            )
        }
        UploadFailpoint.afterTokenCommit.reach()
        return await ended()
    }

    /// What a success without a token means, as far as it is known.
    private func contentWithoutToken(
        _ response: UploadResponse,
        since began: ContinuousClock.Instant
    ) async -> DuplicateCheck.KnownContent? {
        guard response.isWithoutToken else { return nil }
        if let state = stateOfKnownContent(response) { return DuplicateCheck.KnownContent(state: state) }
        return await uploader.duplicateCheck(details, control)
            .content(ofTokenless: response, checksum: recorder.record.checksumSHA256, since: began)
    }

    private mutating func handleDuplicate(_ response: UploadResponse, since began: ContinuousClock.Instant) async
        -> Step
    {
        let finding = await uploader.duplicateCheck(details, control).refusal(
            response,
            checksum: recorder.record.checksumSHA256,
            since: began
        )
        recorder.end(finding, of: response)
        return await ended()
    }

    /// A lost race (trap T19). The data may have been consumed or may still exist: the same ID is finalized again while
    /// it exists, otherwise the file is sent again.
    private mutating func handleCollision(_ error: GigHiveError) async throws(StoreError) -> Step {
        try await noteResponded()
        if let checksum = recorder.record.checksumSHA256, lostAt == nil,
            case .present(let copy) = await uploader.inquiry(recorder, of: details, checksum: checksum)
                .checkOnce(control: control),
            copy.placement == .event || copy.placement == .noEvent
        {
            recorder.endAfterCollision(copy, error)
            return await ended()
        }
        guard !control.isStopRequested else { return stopped() }
        guard let delay = collisions.next() else { return fail(error) }
        hasCollided = true
        return await retry(recorder.result.attempts, after: delay, because: error)
    }

    /// The upload ID is used up. Removes its record, and the parts that the server would keep in addition to the file.
    func ended() async -> Step {
        for part in await journal.record.tusIDs where part != tusID {
            // If one part cannot be removed, the others are not worth the wait.
            guard (try? await uploader.tus.terminate(part, control: control)) != nil else { break }
        }
        try? await journal.forget()
        return .end(.finished)
    }

    /// The tus server reported the last chunk before its hook notified the application (trap T9).
    private mutating func waitForHook(_ error: GigHiveError) async throws(StoreError) -> Step {
        switch await tusState() {
        case .complete:
            guard let delay = earlyAttempts.next() else { return fail(error) }
            return await retry(earlyAttempts.failures, after: delay, because: error)
        case .incomplete:
            return .end(.sendAgain(error))
        case .gone(let gone):
            return try await handleGone(gone)
        case .noResponse(let reason):
            return fail(reason)
        }
    }

    /// This finalize request is no longer in flight. An earlier one whose response was lost may still be in flight:
    /// this response shows nothing about it.
    func noteResponded() async throws(StoreError) {
        if let lostAt {
            try await journal.finalizing(at: lostAt)
        } else {
            try await journal.finalizeRefused()
        }
    }

    private mutating func handleRefusal(_ error: GigHiveError, mayRepeat: Bool) async throws(StoreError) -> Step {
        try await noteResponded()
        guard error.code != .cancelled else { return stopped() }
        guard mayRepeat, let delay = refusals.next(after: error) else { return fail(error) }
        return await retry(refusals.failures, after: delay, because: error)
    }

    /// Reports the delay, waits, then sends the finalize request again.
    mutating func retry(_ attempt: Int, after delay: Duration, because error: GigHiveError) async -> Step {
        onEvent(.retrying(attempt: attempt, after: delay, because: error))
        return await control.waitForStop(upTo: delay) ? stopped() : .request
    }

    /// Another finalize request has used the bytes: one whose response was lost, or one sent by another process, which
    /// may still be running. The server remembers its response once it has finished; a server that does not remember it
    /// is queried for the file.
    private mutating func handleUsedUp(_ error: GigHiveError) async throws(StoreError) -> Step {
        if hasCollided, lostAt == nil {
            try await journal.forget()
            var race = error
            race.code = .serverRace
            return .end(.sendAgain(race))
        }
        usedUpResponses += 1
        let wasLost = lostAt != nil
        let since = lostAt ?? uploader.now()
        lostAt = since
        try await journal.finalizing(at: since)
        guard usedUpResponses == 1 else {
            return try await query(error, for: remaining(since: since))
        }
        return wasLost ? await waitForServer(since: since, endsWhenGone: false) : .request
    }

    private mutating func handleLoss(_ error: GigHiveError) async throws(StoreError) -> Step {
        let now = uploader.now()
        lostAt = now
        try await journal.finalizing(at: now)
        recorder.end(.unknownOutcome, error.asUnknownOutcome)
        guard !control.isStopRequested, let delay = losses.next() else { return .end(.finished) }
        if isPureQuery {
            return await control.waitForStop(upTo: delay) ? .end(.finished) : .request
        }
        return await waitForServer(since: now, endsWhenGone: true)
    }

    // MARK: Results

    /// The result is `.failed`, or `.unknownOutcome` if the server may have stored the file.
    mutating func fail(_ error: GigHiveError, isKnown: Bool = false) -> Step {
        var error = error
        error.path = recorder.record.path
        // The server may already have stored the file, and only the query failed.
        let hasNoResponse = isQuery && (error.httpStatus ?? 500) >= 500
        let isKnown = isKnown || (lostAt == nil && !hasNoResponse)
        recorder.end(isKnown ? .failed : .unknownOutcome, isKnown ? error : error.asUnknownOutcome)
        return .end(.finished)
    }

    mutating func stopped() -> Step {
        if lostAt == nil, !isQuery {
            recorder.endRun(GigHiveError(.cancelled, path: recorder.record.path))
        } else {
            recorder.end(.unknownOutcome, GigHiveError(.unknownOutcome, detail: "stopped", isRetryable: true))
        }
        return .end(.finished)
    }

    // MARK: Waiting

    private func tusState() async -> TusState {
        do throws(TusError) {
            let status = try await uploader.tus.status(of: tusID, control: control.linked())
            return status.byteCount == nil || status.byteCount == status.offset ? .complete : .incomplete
        } catch {
            return error.kind == .gone ? .gone(.tus(error)) : .noResponse(.tus(error))
        }
    }

    /// How long the server may still be working on a request that was closed at `start`.
    private func remaining(since start: Date) -> Duration {
        uploader.processingTime(forBytes: recorder.record.sizeBytes, since: start)
    }

    /// Waits until the server can no longer be working on a finalize request: after `processingTime`, or, with
    /// `endsWhenGone`, once the upload is gone from the tus server.
    mutating func waitForServer(since start: Date, endsWhenGone: Bool) async -> Step {
        let limit = remaining(since: start)
        onEvent(.waitingForServer(limit))
        // From here on, a monotonic clock is used: the system clock may be days earlier than `start`, or jump ahead.
        let end = ContinuousClock.now + limit
        var checks = 0
        while !control.isStopRequested {
            let rest = ContinuousClock.now.duration(to: end)
            if rest <= .zero {
                return .request
            }
            if endsWhenGone, case .gone = await tusState() {
                return .request
            }
            checks += 1
            _ = await control.waitForStop(upTo: min(uploader.schedule.pause(after: checks), rest))
        }
        return stopped()
    }
}

/// Responses from servers that store the file with its last chunk (gighive-d4 contract sections 5 and 8).
extension Finalization {
    /// Whether the finalize request changes nothing on the server; for a guest, it registers the upload.
    var isPureQuery: Bool { isQuery && uploader.options.guest == nil }

    /// The server has not completed the upload. If it reports less than the whole file, the rest is sent. An upload
    /// that it reports as fully received but never completes is unusable (gighive-d4 contract 4.2).
    mutating func waitForCompletion(_ error: GigHiveError) async throws(StoreError) -> Step {
        try await journal.finalizeRefused()
        switch await tusState() {
        case .complete: break
        case .incomplete:
            try await journal.undelivered()
            return .end(.sendAgain(error))
        case .gone(let gone):
            try await journal.forget()
            return .end(.sendAgain(gone))
        case .noResponse(let reason):
            return fail(reason)
        }
        guard let delay = pendingAttempts.next() else {
            var dead = error
            dead.code = .serverError
            // A 201 next to this code would look contradictory.
            dead.httpStatus = nil
            dead.detail = "the server never completed the upload"
            return .end(.dead(dead))
        }
        return await retry(pendingAttempts.failures, after: delay, because: error)
    }

    /// Content that was already on the server keeps its ID, and an event that already has the content does not change
    /// (gighive-d4 contract section 6). The response does not show that; a listing or an earlier upload from this
    /// machine does.
    func stateOfKnownContent(_ response: UploadResponse) -> UploadState? {
        let record = recorder.record
        guard response.hasNoTokens, uploader.options.guest == nil, let fileID = response.fileID else { return nil }
        if let storedBefore, storedBefore.fileID == fileID {
            return storedBefore.isInEvent ? .duplicate : .linked
        }
        guard let checksum = record.checksumSHA256,
            let rows = try? uploader.store.uploads(checksumSHA256: checksum, host: record.host)
        else { return nil }
        let earlier = rows.filter { $0.fileID == fileID && $0.uploadID != record.uploadID && $0.state.isStored }
        guard !earlier.isEmpty,
            (try? uploader.store.isRemoved(host: record.host, fileID: fileID, checksumSHA256: checksum)) == false
        else { return nil }
        let event = InventoryEvent(record.fields)
        return earlier.contains { InventoryEvent($0.fields) == event } ? .duplicate : .linked
    }

    /// Whether an error concerns the upload that is being finalized, so an earlier finalize request for this guest's
    /// upload has succeeded.
    func isOfOwnGuestUpload(_ error: GigHiveError) -> Bool {
        uploader.options.guest != nil && error.detail.contains("uq_upload_jobs_job_id") && error.detail.contains(tusID)
    }

    /// The file is stored, and the only response with the guest's receipt is lost.
    mutating func handleGuestRepetition(_ error: GigHiveError) async throws(StoreError) -> Step {
        guard case .complete = await tusState() else { return fail(error) }
        recorder.endWithoutReceipt()
        return await ended()
    }
}

/// Determines the state of the file on the server if the response does not show it.
extension Finalization {
    /// The upload ID is gone. Without an earlier finalize request, nothing was stored.
    mutating func handleGone(_ error: GigHiveError) async throws(StoreError) -> Step {
        guard let lostAt else {
            try await journal.forget()
            return .end(.sendAgain(error))
        }
        return try await query(error, for: remaining(since: lostAt))
    }

    /// A 500 from a script that has finished, perhaps after storing the file (trap T7): while tus still has the bytes,
    /// the file is not stored.
    mutating func handleBroken(_ error: GigHiveError) async throws(StoreError) -> Step {
        switch await tusState() {
        case .complete, .incomplete:
            try await noteResponded()
            return fail(error)
        case .gone, .noResponse:
            return try await query(error, for: nil)
        }
    }

    /// Queries the server for the file by its digest, for as long as the server may still be working on it (nil: it has
    /// finished).
    mutating func query(_ error: GigHiveError, for limit: Duration?) async throws(StoreError) -> Step {
        guard let checksum = recorder.record.checksumSHA256 else {
            recorder.end(.unknownOutcome, error.asUnknownOutcome)
            return .end(.finished)
        }
        onEvent(.resolving(for: limit ?? .zero))
        let inquiry = uploader.inquiry(recorder, of: details, checksum: checksum)
        switch await inquiry.run(for: limit, control: control) {
        case .present(let copy) where copy.placement != .otherEvent:
            await recorder.storeToken(confirmedBy: copy.fileID)
            recorder.endAsPresent(copy, cause: error)
            return await ended()
        case .present where limit == nil, .absent where limit == nil:
            // The failure would repeat; sending everything again is the user's decision.
            try await journal.forget()
            return fail(error)
        case .present, .absent:
            if case .complete = await tusState() {
                // The server could not accept the bytes, for example because it has no space for the file, and would
                // not accept another copy either.
                try await journal.finalizeRefused()
                return fail(error, isKnown: true)
            }
            try await journal.forget()
            return .end(.sendAgain(error))
        case .noResponse(let reason): recorder.end(.unknownOutcome, error.asUnknownOutcome(reason))
        case .stopped: recorder.end(.unknownOutcome, error.asUnknownOutcome)
        }
        return .end(.finished)
    }
}
