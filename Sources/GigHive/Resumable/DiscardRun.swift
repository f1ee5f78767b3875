internal import Foundation
internal import MediaStore
internal import MediaTransport
internal import Tus

/// One call to `Uploader.discard`.
struct DiscardRun {
    let uploader: Uploader
    let evenUnreachable: Bool
    let control: TransferControl
    let onLock: @Sendable (Duration) -> Void
    var recorder: UploadOutcomeRecorder

    mutating func perform() async -> UploadResult {
        do {
            try await discard()
        } catch {
            recorder.result.error = error
        }
        return recorder.result
    }

    private mutating func discard() async throws(GigHiveError) {
        if recorder.record.transport == .multipart, !recorder.record.state.isFinal {
            // First determine whether the server has the file.
            recorder.result = await uploader.resolve(recorder.record, control: control) { _ in }
            guard recorder.result.state == .failed || staysUnknown else {
                guard recorder.result.error == nil else { return }
                var stored = recorder.record
                (stored.state, stored.fileID) = (recorder.result.state, recorder.result.fileID)
                throw .notDiscardable(stored, "its state is \(stored.state.rawValue)")
            }
        }
        let uploadID = recorder.record.uploadID
        let lock = try UploadOwnership.ofRow(recorder.record, in: uploader.directory)
        defer { lock.release() }
        // The response to the upload may be on disk, but not adopted yet.
        _ = try await RescueAdoption.run(store: uploader.store, directory: uploader.directory, owning: uploadID)
        guard let row = try GigHiveError.stored(uploader.store.upload(uploadID)) else {
            throw .notDiscardable(recorder.record, "nothing left to discard")
        }
        recorder = UploadOutcomeRecorder(store: uploader.store, record: row)
        try Uploader.checkDiscardable(row, evenUnreachable: evenUnreachable, in: uploader.store, uploader.directory)
        if try uploader.mayBeFinalizing(row), await !isUnreachable() { throw Uploader.mayBeStored(row) }
        if let tus = try GigHiveError.stored(uploader.store.tusRecord(uploadID)) { try await removeBytes(tus) }
        recorder.end(.cancelled, nil)
        // A copy of standard input; if it remains, the next upload removes it.
        if row.identity == nil { try? SpoolFile.kept(for: uploadID, in: uploader.directory)?.remove() }
    }

    /// Whether the outcome of a multipart upload stays unknown: no query can determine it, or the server does not
    /// respond and `evenUnreachable` is set. The response to the upload is lost in any case.
    private var staysUnknown: Bool {
        guard recorder.result.state == .unknownOutcome, let error = recorder.result.error,
            error.code == .unknownOutcome, !recorder.record.isDirectoryUnknown, !control.isStopRequested
        else { return false }
        return evenUnreachable || !error.isRetryable
    }

    /// Whether the server cannot be queried for the file of a finalize request that was in flight.
    private func isUnreachable() async -> Bool {
        guard evenUnreachable else { return false }
        do throws(GigHiveError) {
            _ = try await uploader.tusFeatures(control) { _ in }
            return false
        } catch {
            let isSilent = error.httpStatus == nil || error.isFromGateway
            return isSilent && error.code != .cancelled && !control.isStopRequested
        }
    }

    /// A lock that outlasts the deadline is an error unless `evenUnreachable`: the upload can be discarded later.
    private mutating func removeBytes(_ tus: TusRecord) async throws(GigHiveError) {
        let deadline = ContinuousClock.now + uploader.options.processingTime
        var isLockNoted = false
        for id in tus.tusIDs {
            let limit = max(.zero, deadline - .now)
            do {
                try await uploader.tus.terminate(id, lockLimit: limit, control: control) {
                    if !isLockNoted { onLock(limit) }
                    isLockNoted = true
                }
            } catch  where error.kind == .cancelled {
                throw .tus(error, path: recorder.record.path)
            } catch  where error.kind == .unsupported {
                // A server that cannot remove uploads keeps their bytes until it cleans up by itself
                // (gighive-d4 contract 4.5).
                let created = tus.parts.first { $0.tusID == id }?.createdAt
                recorder.result.warnings.append(.keptByServer(until: created.map { $0 + 24 * 3600 }))
            } catch {
                guard evenUnreachable else { throw .tus(error) }
            }
        }
        try await GigHiveError.storing(await TusJournal(tus, store: uploader.store).forget())
    }
}
