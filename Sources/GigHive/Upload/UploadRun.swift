internal import Foundation
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// One call to `Uploader.upload`: local duplicates, intent, attempts, and the result.
///
/// The order of the steps protects the token: lock, space in the rescue log and intent row exist before the first byte
/// is sent; the response is on disk before it is parsed; the token is committed before the response is overwritten
/// (docs/architecture.md). In a batch, the intent of a small file may be written before the upload has its slot, in one
/// commit with others (docs/adr/0047).
struct UploadRun {
    private let uploader: Uploader
    private let upload: PreparedUpload
    private let control: TransferControl
    private let onEvent: @Sendable (UploadEvent) -> Void
    private let started = ContinuousClock.now
    private let pass: EventPass
    private var recorder: UploadOutcomeRecorder
    private var collisions: Backoff
    private var refusals: Backoff
    private var losses: Backoff
    /// Whether the response to an earlier attempt was lost: the server's copy may then be from that attempt.
    private var hasLostResponse = false
    /// Whether an earlier attempt that sent the whole file was refused: a load balancer may have replaced the response.
    private var wasRefusedWhole = false

    init(
        uploader: Uploader,
        upload: PreparedUpload,
        control: TransferControl,
        onEvent: @escaping @Sendable (UploadEvent) -> Void
    ) {
        self.uploader = uploader
        self.upload = upload
        self.control = control
        self.onEvent = onEvent
        pass = EventPass(uploader.events, upload.details)
        collisions = Backoff(uploader.raceRetry)
        refusals = Backoff(uploader.options.retry.outage)
        losses = Backoff(uploader.options.retry)
        recorder = UploadOutcomeRecorder(planning: upload, over: .multipart, uploader)
    }

    mutating func perform() async -> UploadResult {
        do throws(GigHiveError) {
            let earlier = uploader.earlierUploads(of: upload, control: control, onEvent: onEvent)
            // A file whose digest is known was probably uploaded earlier: checking that does not require a lock.
            if earlier.digest != nil, let end = try await lookUp(earlier, onlyFinished: true) { return adopt(end) }
            // The source is locked before the journal is searched; otherwise, two uploads of one file could both pass.
            let sourceLock = try UploadOwnership.ofSource(upload, host: recorder.record.host, in: uploader.directory)
            defer { sourceLock?.release() }
            if let end = try await lookUp(earlier, onlyFinished: false) { return adopt(end) }
            // Also released at the end of an upload that got no response.
            defer { pass.leave() }
            let lock = try UploadOwnership.ofRow(recorder.record, in: uploader.directory)
            defer { lock.release() }
            if upload.sizeBytes < Self.aheadLimit, uploader.permit?.planAhead() == true {
                try await recorder.plan(isUrgent: false)
            }
            let plannedAt = ContinuousClock.now
            let file: FileContent
            let rescue: RescueRecord
            do throws(GigHiveError) {
                guard await mayBegin() else { throw GigHiveError(.cancelled) }
                file = try upload.open()
                if let mismatch = upload.mismatch(of: file) { recorder.result.warnings.append(mismatch) }
                rescue = try GigHiveError.stored(uploader.rescueLog.reserve(for: recorder.record.uploadID))
            } catch {
                await recorder.withdrawIntent()
                throw error
            }
            do throws(GigHiveError) {
                if !recorder.isPlanned {
                    try await recorder.plan(isUrgent: true)
                } else if .now - plannedAt > uploader.intentLifetime {
                    try await recorder.renewIntent()
                }
            } catch {
                rescue.release()
                await recorder.withdrawIntent()
                throw error
            }
            UploadFailpoint.afterIntent.reach()
            await sendUntilFinished(file, rescue)
            if let error = recorder.result.error, error.endsRun { uploader.onRunFailure?(error) }
        } catch {
            recorder.endRun(error)
        }
        recorder.result.duration = .now - started
        return recorder.result
    }

    /// Ends with the result of an earlier upload.
    private mutating func adopt(_ end: UploadResult) -> UploadResult {
        recorder.adopt(end)
        recorder.result.duration = .now - started
        return recorder.result
    }

    // MARK: Before the first byte

    /// Sending a file of this length takes longer than writing its intent, so writing the intent ahead gains nothing.
    private static let aheadLimit: Int64 = 1 << 20

    /// Limits concurrent lookups: more uploads may wait for slots and commits than may query the server.
    private func lookUp(_ earlier: EarlierUploads, onlyFinished: Bool) async throws(GigHiveError) -> UploadResult? {
        guard await uploader.lookups?.take() ?? true else { throw GigHiveError(.cancelled) }
        defer { uploader.lookups?.giveBack() }
        return onlyFinished ? try await earlier.endOfFinished() : try await earlier.end()
    }

    /// Passes the gate of the event first: a waiting upload must not occupy a slot.
    private func mayBegin() async -> Bool {
        while !control.isStopRequested, await uploader.contact?.enter() ?? true, await pass.enter(),
            await uploader.mayBegin(control)
        {
            guard let contact = uploader.contact, !contact.isOpen else { return true }
            // The server became unavailable while this upload waited.
            uploader.permit?.end()
            pass.leave()
        }
        return false
    }

    // MARK: Attempts

    private mutating func sendUntilFinished(_ file: FileContent, _ firstRescue: RescueRecord) async {
        var rescue = firstRescue
        let lookAhead = LookAhead(uploader, upload, control: control)
        while true {
            let attempt: UploadAttempt
            lookAhead?.begin()
            do {
                attempt = try await UploadAttempt.send(
                    upload,
                    file: file,
                    rescue: rescue,
                    uploadID: recorder.record.uploadID,
                    uploader: uploader,
                    control: control,
                    transfer: lookAhead?.control ?? control,
                    onEvent: lookAhead?.observing(onEvent) ?? onEvent
                )
                await lookAhead?.finish()
            } catch {
                await lookAhead?.finish()
                // Nothing was sent.
                recorder.end(.failed, error)
                break
            }
            recorder.note(attempt)
            if let dialect = attempt.response.response?.dialect {
                pass.leave(dialect)
            }
            if let end = lookAhead?.end, case .refused(let error, _) = attempt.verdict, error.code == .cancelled {
                recorder.endAsKnown(end)
                break
            }
            let again = await handle(attempt, file, rescue)
            await recorder.finish(response: attempt.response.response, rescuePath: rescue.path)
            guard let again else { break }
            pass.leave()
            onEvent(.retrying(attempt: recorder.result.attempts, after: again.delay, because: again.error))
            guard await !control.waitForStop(upTo: again.delay), await mayBegin() else {
                if !control.isStopRequested, let failure = uploader.runFailure?() {
                    recorder.end(.failed, failure)
                } else {
                    recorder.end(.cancelled, GigHiveError(.cancelled, underlying: again.error.transport))
                }
                break
            }
            do {
                // After a crash, an earlier refusal must not be mistaken for the last response.
                if recorder.keepsResponse {
                    rescue.keep()
                    rescue = try uploader.rescueLog.reserve(for: recorder.record.uploadID)
                } else {
                    try await rescue.reset()
                }
            } catch {
                recorder.end(.failed, GigHiveError(error))
                break
            }
            recorder.reopen()
        }
        if recorder.keepsResponse {
            rescue.keep()
        } else {
            rescue.release()
        }
    }

    /// Updates the journal after an attempt. Returns when and why the file is sent again; nil if it is not.
    private mutating func handle(_ attempt: UploadAttempt, _ file: FileContent, _ rescue: RescueRecord) async -> Again?
    {
        recorder.note(response: attempt.response.response, isConfirmation: attempt.verdict.isStored)
        switch attempt.verdict {
        case .stored(let response):
            await store(response, attempt, rescue)
        case .duplicate(let response):
            await handleDuplicate(response, attempt)
        case .collided(let error):
            return await handleCollision(error, attempt, file)
        case .refused(let error, let mayRepeat):
            if attempt.response.metrics.bodyComplete { wasRefusedWhole = true }
            if error.httpStatus == 503, await isServed(attempt) {
                return await inquire(error, isServerFinished: true, attempt)
            }
            return refuse(error, mayRepeat: mayRepeat, file)
        case .unknown(let error, let isServerFinished):
            return await inquire(error, isServerFinished: isServerFinished, attempt)
        }
        return nil
    }

    /// The next attempt.
    private struct Again {
        var error: GigHiveError
        var delay: Duration
    }

    private func again(_ error: GigHiveError, after delay: Duration) -> Again {
        // Not all bytes were sent: the server has nothing to finish.
        let isAtOnce =
            error.code == .connectionLost && error.transport?.metrics.bodyComplete == false
            && recorder.result.attempts == 1
        return Again(error: error, delay: isAtOnce ? .zero : delay)
    }

    private mutating func store(_ response: UploadResponse, _ attempt: UploadAttempt, _ rescue: RescueRecord) async {
        let response = await uploader.identified(
            response,
            recorder,
            of: upload.details,
            sent: attempt.checksum,
            control
        )
        let tokenless =
            response.isWithoutToken
            ? await uploader.duplicateCheck(upload.details, control)
                .content(ofTokenless: response, checksum: attempt.checksum, since: attempt.began) : nil
        UploadFailpoint.beforeTokenCommit.reach()
        if hasLostResponse, tokenless?.state == .duplicate {
            recorder.endAsRemembered(response)
        } else {
            await recorder.commit(
                response,
                isSourceUnchanged: attempt.isSourceUnchanged,
                tokenless: tokenless,
                rescuePath: attempt.response.rescueError == nil ? rescue.path : nil
            )
        }
        UploadFailpoint.afterTokenCommit.reach()
    }

    private mutating func handleDuplicate(_ response: UploadResponse, _ attempt: UploadAttempt) async {
        let finding = await uploader.duplicateCheck(upload.details, control).refusal(
            response,
            checksum: attempt.checksum,
            since: attempt.began
        )
        if hasLostResponse, case .inEvent(let fileID, let served) = finding {
            // The event did not have the file before the attempt whose response was lost.
            let copy = OutcomeInquiry.Copy(fileID: fileID, served: served, placement: .event)
            recorder.endAsPresent(copy, cause: nil)
        } else {
            recorder.end(finding, of: response, mayBeOwn: wasRefusedWhole)
        }
    }

    /// The server has finished this request, with or without the file: a query determines whether the file is sent
    /// again, which is safe because the server never stores the same bytes twice.
    private mutating func handleCollision(
        _ error: GigHiveError,
        _ attempt: UploadAttempt,
        _ file: FileContent
    ) async -> Again? {
        guard let checksum = attempt.checksum else {
            recorder.end(.failed, error)
            return nil
        }
        let finding = await uploader.inquiry(recorder, of: upload.details, checksum: checksum)
            .checkOnce(control: control)
        switch finding {
        case .present(let copy) where copy.placement == .event || copy.placement == .noEvent:
            recorder.endAfterCollision(copy, error)
            return nil
        case .stopped:
            recorder.end(.unknownOutcome, error.asUnknownOutcome)
            return nil
        case .present, .absent, .noResponse:
            guard file.isUnchanged, !control.isStopRequested, let delay = collisions.next() else { break }
            return Again(error: error, delay: delay)
        }
        if case .noResponse(let reason) = finding {
            recorder.end(.unknownOutcome, error.asUnknownOutcome(reason))
        } else {
            recorder.end(.failed, error)
        }
        return nil
    }

    private mutating func refuse(_ error: GigHiveError, mayRepeat: Bool, _ file: FileContent) -> Again? {
        if error.code == .cancelled {
            recorder.end(.cancelled, error)
        } else if error.code == .fileUnreadable && !file.isUnchanged {
            recorder.end(
                .failed,
                GigHiveError(
                    .sourceChanged,
                    detail: "the file was modified during the upload",
                    path: upload.path,
                    underlying: error.transport
                )
            )
        } else if mayRepeat, file.isUnchanged,
            let delay = refusals.next(after: error, attempt: recorder.result.attempts)
        {
            return again(error, after: delay)
        } else {
            recorder.end(.failed, error)
        }
        return nil
    }

    // MARK: Lost responses

    /// A web server also responds with 503 if the application was restarted after storing the file (measured with
    /// Apache and PHP-FPM). The web server serves media even if the application is not running.
    private func isServed(_ attempt: UploadAttempt) async -> Bool {
        guard let checksum = attempt.checksum, !control.isStopRequested else { return false }
        do throws(GigHiveError) {
            return try await uploader.inquiry(recorder, of: upload.details, checksum: checksum)
                .isServed(control: control)
        } catch {
            return false
        }
    }

    private mutating func inquire(
        _ error: GigHiveError,
        isServerFinished: Bool,
        _ attempt: UploadAttempt
    ) async -> Again? {
        hasLostResponse = true
        recorder.end(.unknownOutcome, error.asUnknownOutcome)
        guard !control.isStopRequested, let checksum = attempt.checksum else { return nil }
        let limit = isServerFinished ? nil : uploader.processingTime(forBytes: upload.sizeBytes) - attempt.timeSinceBody
        onEvent(.resolving(for: limit ?? .zero))
        let finding = await uploader.inquiry(recorder, of: upload.details, checksum: checksum)
            .run(for: limit, control: control)
        switch finding {
        case .present(let copy) where copy.placement != .otherEvent:
            await recorder.storeToken(confirmedBy: copy.fileID)
            recorder.endAsPresent(copy, cause: error)
        case .present, .absent:
            guard !isServerFinished, let delay = losses.next(after: error, attempt: recorder.result.attempts) else {
                recorder.end(.failed, error)
                return nil
            }
            return again(error, after: delay)
        case .noResponse(let reason):
            recorder.end(.unknownOutcome, error.asUnknownOutcome(reason))
        case .stopped:
            break
        }
        return nil
    }
}
