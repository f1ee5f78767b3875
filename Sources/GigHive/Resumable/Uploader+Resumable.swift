public import MediaStore
public import MediaTransport
internal import Tus

extension Uploader {
    /// Goes on with an upload of the journal that has not ended: proves the prefix, sends the rest, finalizes.
    ///
    /// A multipart upload that was cut is settled as `resolve` does, and sent anew when it is not on the server. An upload
    /// that the server has forgotten starts anew. One that failed with a correctable 400 is finalized with the corrected
    /// details. Cancelling the task is `control.stop()`.
    ///
    /// - Parameters:
    ///   - record: A row whose state is not `isSettled`.
    ///   - details: Corrected details; nil for those of the row.
    ///   - control: Stops it.
    ///   - onEvent: As for `upload`.
    /// - Returns: The end. `.sourceChanged` when the file has changed since, `.notResumable` when it is gone or when the row
    ///   needs another login or event link than the uploader has; the row is then as it was.
    public func resume(
        _ record: UploadRecord,
        details: UploadDetails? = nil,
        control: TransferControl = TransferControl(),
        onEvent: @escaping @Sendable (UploadEvent) -> Void = { _ in }
    ) async -> UploadResult {
        await shielded(control) {
            let run = ResumeRun(uploader: self, record: record, details: details, control: control, onEvent: onEvent)
            return await run.perform()
        }
    }

    /// Gives an upload up: removes what the tus server has of it (tus DELETE) and ends its row as `cancelled`.
    ///
    /// - Parameters:
    ///   - record: A row that has not ended.
    ///   - evenUnreachable: Ends the row also when the server does not remove what it has.
    ///   - control: Cancels it. The row then stays as it was.
    ///   - onLock: Called once when the server has the upload locked (423), with the maximum time to wait for the lock.
    /// - Returns: The end; with an error, and the row as it was, when the server may have stored the file (a finalize is
    ///   in flight) or does not answer and `evenUnreachable` is false.
    public func discard(
        _ record: UploadRecord,
        evenUnreachable: Bool = false,
        control: TransferControl = TransferControl(),
        onLock: @escaping @Sendable (Duration) -> Void = { _ in }
    ) async -> UploadResult {
        await shielded(control) {
            var run = DiscardRun(
                uploader: self,
                record: record,
                evenUnreachable: evenUnreachable,
                control: control,
                onLock: onLock
            )
            return await run.perform()
        }
    }

    /// Whether `resume` can go on with a row: an upload over tus that has not ended, or that failed while the server holds
    /// something of it; or a multipart upload that a dead process left.
    ///
    /// - Throws: `GigHiveError` with code `.storeUnusable`.
    public static func isResumable(_ record: UploadRecord, in store: TokenStore) throws(GigHiveError) -> Bool {
        guard record.transport == .tus, record.state != .finalized else { return !record.state.isFinal }
        switch record.state {
        case .done, .duplicate, .linked, .refusedDuplicate, .tokenLost, .finalized: return false
        case .planned, .sending, .sent, .unknownOutcome: return true
        case .failed, .cancelled: break
        }
        do {
            return try store.tusRecord(record.uploadID)?.tusIDs.isEmpty == false
        } catch {
            throw .store(error)
        }
    }

    /// Whether `discard` may give a row up, as far as the journal knows.
    ///
    /// - Throws: `GigHiveError`, what `discard` ends with: `.notResumable` for an upload that has ended on the server,
    ///   `.outcomeUnknown` for one that the server may be storing, `.storeUnusable`.
    public static func checkDiscardable(_ record: UploadRecord, in store: TokenStore) throws(GigHiveError) {
        guard !record.state.isSettled, record.state != .finalized else {
            throw GigHiveError(.notResumable, detail: "its state is \(record.state.rawValue)", path: record.path)
        }
        guard try !isDiscarded(record, in: store) else {
            throw GigHiveError(.notResumable, detail: "nothing of it is left to discard", path: record.path)
        }
        guard try !mayBeFinalizing(record, in: store) else {
            throw GigHiveError(
                .outcomeUnknown,
                detail: "the server may be storing it; check it first with: mediactl uploads status",
                isRetryable: true,
                path: record.path
            )
        }
    }

    /// Whether an upload of standard input may go on, so that its copy has to be kept.
    public static func needsSpool(_ uploadID: String, in store: TokenStore) -> Bool {
        do {
            return try store.upload(uploadID).map { try isResumable($0, in: store) } ?? false
        } catch {
            return true
        }
    }

    /// Deletes an upload that the server refuses whatever its details (gighive contract 2.4), so that nothing is left to
    /// resume. A server that does not delete the bytes now removes them by itself later.
    func removeBytes(
        of tusID: String,
        _ journal: TusJournal,
        control: TransferControl
    ) async throws(StoreError) {
        for id in [tusID] + (await journal.record.tusIDs.filter { $0 != tusID }) {
            guard (try? await tus.terminate(id, control: control)) != nil else { break }
        }
        try await journal.forget()
    }

    /// Whether an upload over tus was discarded before. The copy of standard input may be left of others.
    private static func isDiscarded(_ record: UploadRecord, in store: TokenStore) throws(GigHiveError) -> Bool {
        guard record.state == .cancelled, record.transport == .tus, record.identity != nil else { return false }
        do {
            return try store.tusRecord(record.uploadID)?.tusIDs.isEmpty ?? true
        } catch {
            throw .store(error)
        }
    }

    /// Whether the server may be storing, or may have stored, what a row has sent over tus.
    func mayBeFinalizing(_ record: UploadRecord) throws(GigHiveError) -> Bool {
        try Self.mayBeFinalizing(record, in: store)
    }

    private static func mayBeFinalizing(_ record: UploadRecord, in store: TokenStore) throws(GigHiveError) -> Bool {
        guard record.transport == .tus, !record.state.isSettled else { return false }
        do {
            guard let tus = try store.tusRecord(record.uploadID) else { return false }
            return tus.finalizeStartedAt != nil || tus.mayBeStored
        } catch {
            throw .store(error)
        }
    }

    /// Whether an upload can go on after it was settled: the server has not stored it, and is not about to.
    func canGoOn(_ record: UploadRecord, after settled: UploadResult) throws(GigHiveError) -> Bool {
        switch settled.state {
        case .failed, .cancelled: true
        case .planned, .sending, .sent: record.transport == .tus ? try !mayBeFinalizing(record) : false
        case .finalized, .done, .duplicate, .linked, .refusedDuplicate, .unknownOutcome, .tokenLost: false
        }
    }
}
