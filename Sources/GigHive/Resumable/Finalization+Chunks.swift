internal import MediaStore
internal import MediaTransport

/// Responses of servers that store the file with its last chunk (gighive-d4 contract sections 5 and 8).
extension Finalization {
    /// Whether finalize changes nothing on the server; for a guest it registers the upload.
    var isPureQuestion: Bool { isQuestion && uploader.options.guest == nil }

    /// The server has not completed the upload. What it lacks is sent when it claims less than the whole file; one that it
    /// claims whole and never completes is of no use (gighive-d4 contract 4.2).
    mutating func waitForCompletion(
        _ error: GigHiveError,
        _ settlement: inout UploadSettlement
    ) async throws(StoreError) -> Step {
        try await journal.finalizeRefused()
        switch await quiet.look() {
        case .complete: break
        case .incomplete:
            try await journal.undelivered()
            return .end(.sendAgain(error))
        case .gone(let gone):
            try await journal.forget()
            return .end(.sendAgain(gone))
        case .unanswered(let reason):
            return fail(reason, &settlement)
        }
        guard let delay = pendingAttempts.next() else {
            var dead = error
            dead.code = .serverError
            // A 201 next to this code would read as a contradiction.
            dead.httpStatus = nil
            dead.detail = "the server never completed the upload"
            return .end(.dead(dead))
        }
        return await retry(pendingAttempts.failures, after: delay, because: error, &settlement)
    }

    /// Content that the server had gets the ID that it has, and in an event that has it nothing changes (gighive-d4 contract
    /// section 6). The response does not show that; a listing or an upload from this machine does.
    func stateOfKnownContent(_ reply: UploadReply, _ record: UploadRecord) -> UploadState? {
        guard reply.hasNoTokens, uploader.options.guest == nil, let fileID = reply.fileID else { return nil }
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
        return earlier.contains { $0.fields.event == record.fields.event } ? .duplicate : .linked
    }

    /// Whether a response is about the upload that is being finalized: an earlier finalize of a guest has succeeded.
    func isOfOwnGuestUpload(_ error: GigHiveError) -> Bool {
        uploader.options.guest != nil && error.detail.contains("uq_upload_jobs_job_id") && error.detail.contains(tusID)
    }

    /// The file is stored, and the only response with the guest's receipt is lost.
    func settleGuestRepetition(
        _ error: GigHiveError,
        _ settlement: inout UploadSettlement
    ) async throws(StoreError) -> Step {
        guard case .complete = await quiet.look() else { return fail(error, &settlement) }
        settlement.endWithoutReceipt()
        return await ended()
    }
}

extension TransferControl {
    private static let abandonLook = Duration.milliseconds(100)

    /// Runs a request under a control of its own, which a stop of this one does not end, only `abandon`: what the request asks
    /// for has happened already.
    func endedByAbandoning<Value: Sendable>(_ ask: (TransferControl) async -> Value) async -> Value {
        let inner = TransferControl()
        let watcher = Task {
            while !isAbandoned {
                guard (try? await Task.sleep(for: Self.abandonLook)) != nil else { return }
            }
            inner.abandon()
        }
        defer { watcher.cancel() }
        return await ask(inner)
    }
}

extension [UploadField] {
    fileprivate var event: InventoryEvent {
        let values = Dictionary(map { ($0.name, $0.value) }) { first, _ in first }
        return InventoryEvent(date: values["event_date"] ?? "", orgName: values["org_name"] ?? "")
    }
}
