internal import Foundation
internal import MediaStore
internal import MediaTransport
internal import Tus

/// One call of `Uploader.discard`.
struct DiscardRun {
    private let uploader: Uploader
    private let evenUnreachable: Bool
    private let control: TransferControl
    private let onLock: @Sendable (Duration) -> Void
    private var isLockNoted = false
    private var settlement: UploadSettlement

    init(
        uploader: Uploader,
        record: UploadRecord,
        evenUnreachable: Bool,
        control: TransferControl,
        onLock: @escaping @Sendable (Duration) -> Void
    ) {
        self.uploader = uploader
        self.evenUnreachable = evenUnreachable
        self.control = control
        self.onLock = onLock
        settlement = UploadSettlement(store: uploader.store, record: record)
    }

    mutating func perform() async -> UploadResult {
        do {
            try await discard()
        } catch {
            settlement.result.error = error
        }
        return settlement.result
    }

    private mutating func discard() async throws(GigHiveError) {
        if settlement.record.transport == .multipart, !settlement.record.state.isFinal {
            // First determine whether the server has the file.
            settlement.result = await uploader.resolve(settlement.record, control: control) { _ in }
            guard settlement.result.state == .failed else { return }
        }
        let lock = try UploadOwnership.ofRow(settlement.record, in: uploader.directory)
        defer { lock.release() }
        // Its response may be on disk without being adopted yet.
        _ = try await RescueAdoption.run(
            store: uploader.store,
            directory: uploader.directory,
            owning: settlement.record.uploadID
        )
        do {
            guard let row = try uploader.store.upload(settlement.record.uploadID) else { return }
            settlement = UploadSettlement(store: uploader.store, record: row)
        } catch {
            throw .store(error)
        }
        let row = settlement.record
        try Uploader.checkDiscardable(row, in: uploader.store)
        try await removeBytes(of: row)
        settlement.end(.cancelled, nil)
        removeSpool(of: row)
    }

    /// A leftover is removed with the next upload.
    private func removeSpool(of row: UploadRecord) {
        guard row.identity == nil else { return }
        try? SpoolFile.kept(for: row.uploadID, in: uploader.directory)?.remove()
    }

    private mutating func removeBytes(of row: UploadRecord) async throws(GigHiveError) {
        do {
            guard let tus = try uploader.store.tusRecord(row.uploadID) else { return }
            let deadline = ContinuousClock.now + uploader.options.settleTime
            for id in tus.tusIDs {
                try await remove(id, of: tus, until: deadline)
            }
            try await TusJournal(tus, store: uploader.store).forget()
        } catch let error as GigHiveError {
            throw error
        } catch let error as StoreError {
            throw .store(error)
        } catch {
            throw GigHiveError(.internalError, detail: "\(error)")
        }
    }

    /// A lock that outlasts the deadline is an error: the upload can be discarded later.
    private mutating func remove(
        _ id: String,
        of tus: TusRecord,
        until deadline: ContinuousClock.Instant
    ) async throws(GigHiveError) {
        let limit = max(.zero, deadline - .now)
        do {
            try await uploader.tus.terminate(id, lockLimit: limit, control: control) {
                if !isLockNoted { onLock(limit) }
                isLockNoted = true
            }
        } catch  where error.kind == .cancelled {
            throw .tus(error, path: settlement.record.path)
        } catch  where error.kind == .unsupported {
            // A server that cannot remove uploads keeps their bytes until it cleans up by itself (gighive-d4 contract 4.5).
            let created = tus.parts.first { $0.tusID == id }?.createdAt
            settlement.result.warnings.append(.keptByServer(until: created.map { $0 + 24 * 3600 }))
        } catch {
            guard evenUnreachable else { throw .tus(error) }
        }
    }
}
