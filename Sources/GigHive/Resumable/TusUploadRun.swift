internal import Foundation
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport
internal import Tus

/// One call to `Uploader.upload` or `Uploader.resume` over tus: create, send, finalize. Each step is in the journal
/// before the next begins, so the upload can be resumed after a crash (docs/architecture.md).
struct TusUploadRun {
    /// Maximum number of times per call that the whole file may be sent again because the server lost it
    /// before storing it.
    private static let restartLimit = 2

    let uploader: Uploader
    let upload: PreparedUpload
    let features: TusFeatures
    /// The row to resume; nil to resume an upload of the same file in the journal, if there is one.
    let continued: UploadRecord?
    let control: TransferControl
    let onEvent: @Sendable (UploadEvent) -> Void
    private let started = ContinuousClock.now
    private let statistics = TransferStatistics()
    let lookAhead: LookAhead?
    /// Shared with the finalization if the file is stored with its last chunk.
    let pass: EventPass
    /// This upload's tus slot if the server limits unfinished uploads.
    var slot: TusSlot?
    /// The server's copy of the content from before this upload, if any.
    var storedBefore: ServerInventory.Stored?
    /// Whether the file still had the same bytes when the last of them was sent.
    var isSourceUnchanged = true
    /// Whether the upload was restarted because the server could not complete the first one.
    var hasBegunAgain = false
    var recorder: UploadOutcomeRecorder

    mutating func perform() async -> UploadResult {
        do {
            try await run()
        } catch {
            recorder.endRun(error)
        }
        releaseSpool()
        if recorder.result.error != nil { recorder.result.isResumable = isResumable }
        recorder.result.bytesSent = statistics.bytesSent
        recorder.result.hasSentContent = statistics.bytesSent > 0
        recorder.result.duration = .now - started
        return recorder.result
    }

    private var isResumable: Bool {
        guard let row = try? uploader.store.upload(recorder.record.uploadID) else { return false }
        return (try? Uploader.isResumable(row, in: uploader.store)) ?? false
    }

    // MARK: Ownership

    private mutating func run() async throws(GigHiveError) {
        // The source is locked before the journal is searched; otherwise, two uploads of one file could both pass.
        let sourceLock = try UploadOwnership.ofSource(upload, host: recorder.record.host, in: uploader.directory)
        defer { sourceLock?.release() }
        var earlier = continued
        if earlier == nil {
            let uploads = uploader.earlierUploads(of: upload, control: control, onEvent: onEvent)
            if let end = try await uploads.end() {
                recorder.adopt(end)
                return
            }
            earlier = try uploader.resumable(upload)
            if earlier == nil { earlier = try await uploader.resumableReplaced(upload, control, onEvent) }
            if earlier == nil, let known = try await findContent() {
                recorder.adopt(known)
                return
            }
        }
        guard await uploader.contact?.enter() ?? true, await uploader.mayBegin(control) else {
            throw GigHiveError(.cancelled)
        }
        let file = try upload.open()
        if let mismatch = upload.mismatch(of: file) { recorder.result.warnings.append(mismatch) }
        let lock = try UploadOwnership.ofRow(earlier ?? recorder.record, in: uploader.directory)
        defer { lock.release() }
        do throws(StoreError) {
            let journal = try await earlier == nil ? plan() : takeOver(earlier)
            guard let journal else { return }
            try await recorder.begin(upload.details)
            await sendUntilFinished(file, journal)
        } catch {
            throw GigHiveError(error)
        }
    }

    /// Releases the copy of standard input once it is no longer needed.
    private func releaseSpool() {
        guard let spool = upload.spool, !Uploader.needsSpool(recorder.record.uploadID, in: uploader.store) else {
            return
        }
        spool.remove()
    }

    /// Writes the intent row. The copy of standard input is kept from this step on.
    private mutating func plan() async throws(StoreError) -> TusJournal? {
        try upload.spool?.keep(for: recorder.record.uploadID, in: uploader.directory)
        try await uploader.store.plan(recorder.record)
        recorder.isPlanned = true
        UploadFailpoint.afterIntent.reach()
        let record = TusRecord(uploadID: recorder.record.uploadID, parts: [])
        return TusJournal(record, store: uploader.store, now: uploader.now)
    }

    /// Takes over a row, reloaded now that no other process can change it; nil if it has finished, or may have been
    /// finalized, in the meantime.
    private mutating func takeOver(_ earlier: UploadRecord?) async throws(StoreError) -> TusJournal? {
        guard let earlier, let row = try uploader.store.upload(earlier.uploadID) else { return nil }
        let warnings = recorder.result.warnings
        recorder = UploadOutcomeRecorder(store: uploader.store, record: row)
        recorder.result.path = upload.path
        recorder.result.fileName = upload.fileName
        recorder.result.warnings += warnings
        var record = try uploader.store.tusRecord(row.uploadID) ?? TusRecord(uploadID: row.uploadID, parts: [])
        guard record.finalizeStartedAt == nil else {
            let detail = "another process has finalized it"
            recorder.result.error = GigHiveError(.unknownOutcome, detail: detail, isRetryable: true)
            return nil
        }
        guard !row.state.isFinished, row.state != .finalized else { return nil }
        record = try await forgetOtherDetails(of: row, record)
        return TusJournal(record, store: uploader.store, now: uploader.now)
    }

    // MARK: Bytes, then finalize

    private mutating func sendUntilFinished(_ file: FileContent, _ journal: TusJournal) async {
        defer {
            if let error = recorder.result.error, error.endsRun {
                uploader.onRunFailure?(error)
            }
        }
        defer {
            slot?.end()
            pass.leave()
        }
        reportLimits()
        var restarts = 0
        var collisions = Backoff(uploader.raceRetry)
        while true {
            guard await enterServer() else {
                recorder.endRun(GigHiveError(.cancelled, path: upload.path))
                return
            }
            guard let tusID = await send(file, journal) else { return }
            var finalization = Finalization(
                tusID,
                details: upload.details,
                startedAt: nil,
                journal: journal,
                uploader: uploader,
                recorder: recorder,
                pass: pass,
                storedBefore: storedBefore,
                isSourceUnchanged: isSourceUnchanged,
                control: control,
                onEvent: onEvent
            )
            let error: GigHiveError
            var mayBeUnfinished = false
            let end = await finalization.run()
            recorder = finalization.recorder
            switch end {
            case .finished: return
            case .sendAgain(let reason): error = reason
            case .dead(let reason):
                guard await beginsAgain(journal) else {
                    recorder.end(.failed, reason)
                    return
                }
                error = reason
                mayBeUnfinished = reason.mayBeUnfinished
            }
            if error.code == .serverRace {
                guard let delay = collisions.next() else {
                    recorder.end(.failed, error)
                    return
                }
                onEvent(.retrying(attempt: recorder.result.attempts, after: delay, because: error))
                _ = await control.waitForStop(upTo: delay)
            } else {
                restarts += 1
                guard restarts <= Self.restartLimit else {
                    recorder.end(.failed, error)
                    return
                }
            }
            onEvent(.restarting(because: error))
            if mayBeUnfinished { onEvent(.leavingUnfinished) }
            guard await uploader.mayBegin(control) else {
                recorder.endRun(GigHiveError(.cancelled, path: upload.path))
                return
            }
        }
    }

    /// Sends all bytes. Returns the ID to finalize; nil if the upload is finished or was stopped.
    private mutating func send(_ file: FileContent, _ journal: TusJournal) async -> String? {
        do throws(TusError) {
            if let complete = try await completeUpload(journal) {
                try await TusError.journalling { () async throws(StoreError) in
                    if let identity = upload.identity { try recorder.noteReplaced(by: identity) }
                }
                return complete
            }
            try await TusError.journalling { () async throws(StoreError) in
                if await journal.record.parts.isEmpty {
                    try await journal.restart(layout())
                }
            }
            let readingBegan = uploader.now()
            let sent = try await transfer(file, journal)
            UploadFailpoint.afterAllBytes.reach()
            // A file that is stored with its last chunk is finalized even if its source changed: the result must have
            // its ID.
            let isStored = features.countsChunks
            isSourceUnchanged = await uploader.isUnchanged(
                upload,
                file,
                sent: sent.checksum,
                since: readingBegan,
                until: isStored ? nil : control
            )
            guard isSourceUnchanged || isStored else {
                if control.isStopRequested { throw TusError(.cancelled) }
                throw TusError(.prefixChanged, detail: "the file changed while it was being sent")
            }
            try await TusError.journalling { () async throws(StoreError) in
                try await journal.completed(as: sent.tusID)
                try await recorder.noteSent(checksum: sent.checksum)
                if let identity = upload.identity { try recorder.noteReplaced(by: identity) }
            }
            return sent.tusID
        } catch {
            if error.kind == .dead, await beginsAgain(journal) {
                let error = GigHiveError.tus(error, path: upload.path)
                onEvent(.restarting(because: error))
                if error.mayBeUnfinished { onEvent(.leavingUnfinished) }
                return await send(file, journal)
            }
            if error.kind == .cancelled, let tusID = await deliveredBeforeStop(file, journal) { return tusID }
            await endSending(error, file, journal)
            return nil
        }
    }

    private func transfer(
        _ file: FileContent,
        _ journal: TusJournal
    ) async throws(TusError) -> (tusID: String, checksum: String) {
        let transfer = TusTransfer(
            tus: uploader.tus,
            upload: upload,
            file: file,
            journal: journal,
            options: uploader.chunks(for: features),
            control: lookAhead?.control ?? control,
            statistics: statistics,
            // The status of the open file: it may have changed since the check.
            needsProofs: upload.identity != nil
                && recorder.record.identity != FileIdentity(descriptor: file.descriptor),
            slot: slot,
            onEvent: lookAhead?.observing(onEvent) ?? onEvent
        )
        lookAhead?.begin()
        let sent = await Result(awaiting: transfer.run)
        await lookAhead?.finish()
        return try sent.get()
    }

    /// The ID of an upload from an earlier run, if the server has all of it and its digest is known.
    private func completeUpload(_ journal: TusJournal) async throws(TusError) -> String? {
        guard let tusID = await journal.record.finalTusID, recorder.record.checksumSHA256 != nil else { return nil }
        do throws(TusError) {
            let status = try await uploader.tus.status(of: tusID, control: control)
            guard status.offset == upload.sizeBytes else { return nil }
            onEvent(.resuming(from: status.offset))
            return tusID
        } catch  where error.kind == .gone {
            onEvent(.restarting(because: .tus(error, path: upload.path)))
            try await TusError.journalling { () async throws(StoreError) in try await journal.forget() }
            return nil
        }
    }

    /// One part, or the requested number if the server can join them and each is at least a chunk long. Standard input
    /// is sent in one part: its digest can only be computed while it is sent.
    private func layout() -> [TusRecord.Part] {
        let parts = uploader.options.parallelParts
        let isLargeEnough = upload.sizeBytes / uploader.options.chunks.chunkBytes >= Int64(parts)
        let isParallel =
            parts > 1 && isLargeEnough && upload.identity != nil && features.extensions.contains(.concatenation)
        return TusRecord.layout(byteCount: upload.sizeBytes, parts: isParallel ? parts : 1)
    }

    private mutating func endSending(_ error: TusError, _ file: FileContent, _ journal: TusJournal) async {
        switch error.kind {
        case .cancelled:
            if let end = lookAhead?.end {
                await removeBytes(journal)
                recorder.endAsKnown(end)
                return
            }
            recorder.endRun(GigHiveError(.cancelled, path: upload.path))
        case .prefixChanged:
            await giveUp(error, journal)
        case .sourceFailed where !file.isUnchanged:
            await giveUp(error, journal)
        default:
            recorder.end(.failed, .tus(error, path: upload.path))
        }
    }

    /// The bytes on the server differ from the file. They are removed, and the next upload sends the
    /// file as it is then.
    private mutating func giveUp(_ error: TusError, _ journal: TusJournal) async {
        await removeBytes(journal)
        let detail = error.kind == .prefixChanged ? error.detail : "the file changed while it was being sent"
        recorder.end(.failed, GigHiveError(.sourceChanged, detail: detail, path: upload.path))
    }

    private func removeBytes(_ journal: TusJournal) async {
        for id in await journal.record.tusIDs {
            // Leftover bytes cost the server some space; no later step depends on them.
            try? await uploader.tus.terminate(id, control: control)
        }
        try? await journal.forget()
    }
}

extension Uploader {
    /// The options for chunks: the run's retry policy applies to them as well, and a server that verifies chunks gets
    /// their checksums.
    func chunks(for features: TusFeatures) -> TusSendOptions {
        var chunks = options.chunks
        chunks.retry = options.retry
        chunks.checksum = chunks.checksum ?? features.preferredChecksum
        if features.countsChunks {
            chunks.fixedChunkBytes = min(max(chunks.chunkBytes, 1), Self.fixedChunkSizes.upperBound)
        }
        return chunks
    }
}

/// Uploads to a server that counts chunks, limits unfinished uploads, and stores the file with its last chunk.
extension TusUploadRun {
    /// On a server that stores the file with its last chunk and limits unfinished uploads: waits for the event's gate
    /// and for a tus slot. A waiting upload does not hold a transfer slot, because another upload may need it.
    mutating func enterServer() async -> Bool {
        guard features.countsChunks else { return true }
        guard !control.isStopRequested else { return false }
        uploader.permit?.end()
        // Always in this order: no upload may keep a tus slot while the upload that has the pass waits for one.
        slot?.end()
        slot = nil
        guard await pass.enter() else { return false }
        let slot = await uploader.tusSlots.take()
        self.slot = slot
        if let lock = await lockAmongProcesses() { slot.keep(lock) }
        return await uploader.mayBegin(control)
    }

    /// Waits until fewer than four uploads from this machine are unfinished on the server. Returns nil if the upload
    /// was stopped, or if locks cannot be created: the server's own limit remains.
    private func lockAmongProcesses() async -> UploadLock? {
        let name = SourceLock.name(ofSlotOn: recorder.record.host, isGuest: uploader.options.guest != nil)
        while !control.isStopRequested {
            for number in 0..<TusSlots.limit {
                do throws(StoreError) {
                    let lock = try UploadLock.acquire("\(name)-\(number)", in: uploader.directory)
                    if let lock { return lock }
                } catch {
                    return nil
                }
            }
            _ = await control.waitForStop(upTo: .milliseconds(500))
        }
        return nil
    }

    /// Reports, before anything is sent, the limitations compared with multipart (gighive-d4 contract 3 and 4.6).
    mutating func reportLimits() {
        guard features.countsChunks else { return }
        let ignored = upload.details.fields.map(\.name).filter {
            ["participants", "keywords", "location", "rating", "notes"].contains($0)
        }
        if !ignored.isEmpty { recorder.result.warnings.append(.detailsIgnored(ignored)) }
        let largest = Uploader.fixedChunkSizes.upperBound
        onEvent(
            .limited(
                TusLimits(
                    isWithoutToken: uploader.options.guest == nil,
                    ignoredDetails: ignored,
                    reducedChunkBytes: uploader.options.chunks.chunkBytes > largest ? largest : nil,
                    isInOnePart: uploader.options.parallelParts > 1
                )
            )
        )
    }

    /// Searches the server for the content before an upload is created: such a server accepts content that it already
    /// has, but keeps the details of the first upload (gighive-d4 contract section 6). Returns the result if the event
    /// has the content.
    mutating func findContent() async throws(GigHiveError) -> UploadResult? {
        guard features.countsChunks, uploader.options.guest == nil, let digest = await contentDigest() else {
            return nil
        }
        if !uploader.options.again {
            let uploads = uploader.earlierUploads(of: upload, control: control, onEvent: onEvent)
            if let known = try await uploads.known(digest, isServed: true) { return known }
        }
        let event = InventoryEvent(upload.details)
        if case .stored(let stored) = try await uploader.inventory.find(digest, in: event, control: control) {
            storedBefore = stored
        }
        return nil
    }

    private func contentDigest() async -> String? {
        if let known = uploader.knownDigest(upload) { return known }
        return await FileDigest.hex(path: upload.path, identity: upload.identity, until: control)
    }

    /// An upload keeps the details that it was created with (gighive-d4 contract 4.6). If the details have changed, it
    /// is restarted.
    func forgetOtherDetails(of row: UploadRecord, _ record: TusRecord) async throws(StoreError) -> TusRecord {
        guard features.countsChunks, !record.tusIDs.isEmpty,
            row.fields.storedOverTus != upload.details.fields.storedOverTus
        else { return record }
        let detail = "this server does not allow changing the details of a started upload"
        onEvent(.restarting(because: GigHiveError(.notResumable, detail: detail, path: upload.path)))
        onEvent(.leavingUnfinished)
        let journal = TusJournal(record, store: uploader.store, now: uploader.now)
        try await journal.forget()
        return await journal.record
    }

    /// Drops an upload that the server cannot complete. Returns false if no other upload may be created, because this
    /// is done only once.
    mutating func beginsAgain(_ journal: TusJournal) async -> Bool {
        slot?.noteAbandoned()
        guard (try? await journal.forget()) != nil, !hasBegunAgain, !control.isStopRequested else { return false }
        hasBegunAgain = true
        return true
    }

    /// The ID of the upload, if the stop request came too late: on a server that stores the file with its last chunk,
    /// only a query shows whether that chunk has arrived.
    mutating func deliveredBeforeStop(_ file: FileContent, _ journal: TusJournal) async -> String? {
        let record = await journal.record
        guard record.mayBeStored, let part = record.parts.first, let tusID = part.tusID, let proof = part.proofs.last,
            let status = try? await uploader.tus.status(of: tusID), status.offset == upload.sizeBytes
        else { return nil }
        do throws(StoreError) {
            try await journal.completed(as: tusID)
            try await recorder.noteSent(checksum: proof.digest)
            // The bytes were read after the row was created.
            let readingBegan = recorder.record.createdAt
            isSourceUnchanged = await uploader.isUnchanged(upload, file, sent: proof.digest, since: readingBegan)
            return tusID
        } catch {
            return nil
        }
    }
}

extension [UploadField] {
    /// The fields that a server with tus in PHP stores.
    fileprivate var storedOverTus: [UploadField] {
        filter { ["event_date", "org_name", "event_type", "label"].contains($0.name) }
    }
}

extension GigHiveError {
    /// Whether the server may still count a failed upload as unfinished: only a response with a status shows that it
    /// has marked the upload as failed or no longer has it (gighive-d4 contract 4.4 and 4.5).
    var mayBeUnfinished: Bool { self.httpStatus == nil }
}
