internal import Foundation
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// One call of `Uploader.upload`: local duplicates, intent, tries, and the end.
///
/// The order of steps is what keeps the token: lock, rescue file and intent row exist before the first byte; the reply
/// is on the disk before it is parsed; the token is committed before the rescue file goes (docs/architecture.md).
struct UploadRun {
    private let uploader: Uploader
    private let upload: PreparedUpload
    private let control: TransferControl
    private let onEvent: @Sendable (UploadEvent) -> Void
    private let started = ContinuousClock.now
    private var settlement: UploadSettlement

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
        settlement = UploadSettlement(
            store: uploader.store,
            record: uploader.record(of: upload),
            result: UploadResult(of: upload, server: uploader.client.server.description)
        )
    }

    mutating func perform() async -> UploadResult {
        do {
            try await send()
        } catch {
            settlement.refuse(error)
        }
        settlement.result.duration = .now - started
        return settlement.result
    }

    // MARK: Before the first byte

    private mutating func send() async throws(GigHiveError) {
        let earlier = EarlierUploads(uploader: uploader, upload: upload, control: control, onEvent: onEvent)
        // A file whose digest is known was probably sent before: no lock is taken for finding that out.
        if earlier.digest != nil, let end = try await earlier.endOfFinished() {
            settlement.adopt(end)
            return
        }
        // The source is owned before the journal is searched, so that two uploads of one file cannot both pass.
        let sourceLock = try UploadOwnership.ofSource(upload, host: settlement.record.host, in: uploader.directory)
        defer { sourceLock?.release() }
        if let end = try await earlier.end() {
            settlement.adopt(end)
            return
        }
        guard await uploader.mayBegin(control) else {
            throw GigHiveError(.cancelled)
        }
        let file = try OpenFile(upload)
        settlement.result.warnings += file.warnings
        let rescue: RescueFile
        let lock: UploadLock
        do {
            lock = try ownership(of: settlement.record.uploadID)
            rescue = try uploader.rescueFile(for: settlement.record.uploadID)
        } catch {
            throw .store(error)
        }
        defer { lock.release() }
        do {
            try await uploader.store.plan(settlement.record)
        } catch {
            uploader.giveBack(rescue)
            throw .store(error)
        }
        settlement.isPlanned = true
        KillPoint.afterIntent.reach()
        await sendUntilSettled(file, rescue)
    }

    private func ownership(of uploadID: String) throws(StoreError) -> UploadLock {
        guard let lock = try UploadLock.acquire(uploadID, in: uploader.directory) else {
            throw StoreError(.busy, path: uploader.directory.path, detail: "upload \(uploadID) has an owner")
        }
        return lock
    }

    // MARK: Tries

    private mutating func sendUntilSettled(_ file: OpenFile, _ firstRescue: RescueFile) async {
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
                    uploadID: settlement.record.uploadID,
                    uploader: uploader,
                    control: control,
                    transfer: lookAhead?.control ?? control,
                    onEvent: lookAhead?.observing(onEvent) ?? onEvent
                )
                await lookAhead?.finish()
            } catch {
                await lookAhead?.finish()
                // Nothing was sent.
                settlement.end(.failed, error)
                break
            }
            settlement.note(attempt)
            if let end = lookAhead?.end, case .refused(let error, _) = attempt.verdict, error.code == .cancelled {
                settlement.endAsKnown(end)
                break
            }
            if let checksum = attempt.checksum, file.isUnchanged {
                uploader.keep(checksum, of: upload, readingBegan: file.openedAt)
            }
            guard let again = await settle(attempt, file, rescue) else { break }
            guard await waitToRepeat(because: again), await uploader.mayBegin(control) else {
                settlement.end(.cancelled, GigHiveError(.cancelled, transport: again.transport))
                break
            }
            do {
                // A file of its own for each try: after a crash an earlier refusal must not pass for the last answer.
                let fresh = try RescueFile(for: settlement.record.uploadID, in: uploader.directory)
                rescue.release()
                rescue = fresh
            } catch {
                settlement.end(.failed, .store(error))
                break
            }
            settlement.reopen()
        }
        if !settlement.keepsReply {
            uploader.giveBack(rescue)
        }
    }

    /// Brings the journal to what a try has shown.
    ///
    /// - Returns: Why the file is to be sent again; nil when the upload has ended.
    private mutating func settle(
        _ attempt: UploadAttempt,
        _ file: OpenFile,
        _ rescue: RescueFile
    ) async -> GigHiveError? {
        switch attempt.verdict {
        case .stored(let reply):
            await store(reply, attempt, file, rescue)
        case .duplicate(let fileID, let checksum):
            await settleDuplicate(fileID, checksum, attempt)
        case .refused(let error, let mayRepeat):
            return refuse(error, mayRepeat: mayRepeat, file)
        case .unknown(let error, let isSettled):
            return await inquire(error, isSettled: isSettled, attempt)
        }
        return nil
    }

    private mutating func store(
        _ reply: UploadReply,
        _ attempt: UploadAttempt,
        _ file: OpenFile,
        _ rescue: RescueFile
    ) async {
        var reply = reply
        if reply.fileID == nil, let checksum = reply.checksumSHA256 ?? attempt.checksum {
            // A token without its id: the listing knows the number.
            let inquiry = uploader.inquiry(checksum: checksum, fileName: upload.fileName)
            if case .present(let fileID, _) = await inquiry.run(for: nil, control: control) {
                reply.fileID = fileID
            }
        }
        KillPoint.beforeTokenCommit.reach()
        await settlement.commit(
            reply,
            isSourceUnchanged: file.isUnchanged,
            rescuePath: attempt.rescueError == nil ? rescue.path : nil
        )
        KillPoint.afterTokenCommit.reach()
    }

    private mutating func settleDuplicate(
        _ fileID: Int64?,
        _ existingChecksum: String?,
        _ attempt: UploadAttempt
    ) async {
        var known = fileID
        if known == nil, let checksum = attempt.checksum {
            // A 500 with 1062 does not name the copy that was first (trap T19).
            let inquiry = uploader.inquiry(checksum: checksum, fileName: upload.fileName)
            if case .present(let found, let fileType) = await inquiry.run(for: nil, control: control) {
                known = found
                settlement.result.fileType = fileType
            }
        }
        settlement.endAsDuplicate(of: known, checksum: existingChecksum)
    }

    private mutating func refuse(
        _ error: GigHiveError,
        mayRepeat: Bool,
        _ file: OpenFile
    ) -> GigHiveError? {
        if error.code == .cancelled {
            settlement.end(.cancelled, error)
        } else if error.code == .fileUnreadable && !file.isUnchanged {
            settlement.end(
                .failed,
                GigHiveError(
                    .sourceChanged,
                    detail: "the file changed while it was sent",
                    path: upload.path,
                    transport: error.transport
                )
            )
        } else if mayRepeat && settlement.result.attempts <= uploader.options.retry.retries && file.isUnchanged {
            return error
        } else {
            settlement.end(.failed, error)
        }
        return nil
    }

    // MARK: Lost answers

    private mutating func inquire(
        _ error: GigHiveError,
        isSettled: Bool,
        _ attempt: UploadAttempt
    ) async -> GigHiveError? {
        settlement.end(.unknownOutcome, error.asUnknownOutcome)
        guard !control.isStopRequested, let checksum = attempt.checksum else { return nil }
        let limit = isSettled ? nil : uploader.options.settleTime - attempt.timeSinceBody
        onEvent(.resolving(for: limit ?? .zero))
        let finding = await uploader.inquiry(checksum: checksum, fileName: upload.fileName)
            .run(for: limit, control: control)
        switch finding {
        case .present(let fileID, let fileType):
            settlement.endAsPresent(fileID: fileID, fileType: fileType, cause: error)
        case .absent where !isSettled && settlement.result.attempts <= uploader.options.retry.retries:
            return error
        case .absent:
            settlement.end(.failed, error)
        case .unanswered(let reason):
            settlement.end(.unknownOutcome, error.asUnknownOutcome(reason))
        case .stopped:
            break
        }
        return nil
    }

    // MARK: Waiting

    /// Waits before the next try.
    ///
    /// - Returns: false when the user stopped the wait.
    private func waitToRepeat(because error: GigHiveError) async -> Bool {
        let attempt = settlement.result.attempts
        let delay = uploader.options.retry.delay(
            after: attempt,
            retryAfter: error.retryAfterSeconds.map { .seconds($0) }
        )
        onEvent(.retrying(attempt: attempt, after: delay, because: error))
        return await !control.waitForStop(upTo: delay)
    }
}
