internal import Foundation
internal import MediaStore
internal import MediaTransport

/// Settles a row that a dead process left (docs/architecture.md: a row in `sending` is never simply "not sent").
struct UploadResolution {
    private let uploader: Uploader
    private let details: UploadDetails?
    private let control: TransferControl
    private let onEvent: @Sendable (UploadEvent) -> Void
    private let started = ContinuousClock.now
    private var settlement: UploadSettlement

    /// With corrected details for a finalize that is sent again, or nil for those of the row.
    init(
        uploader: Uploader,
        record: UploadRecord,
        details: UploadDetails? = nil,
        control: TransferControl,
        onEvent: @escaping @Sendable (UploadEvent) -> Void
    ) {
        self.uploader = uploader
        self.details = details
        self.control = control
        self.onEvent = onEvent
        settlement = UploadSettlement(store: uploader.store, record: record)
    }

    mutating func perform() async -> UploadResult {
        do {
            try await settle()
        } catch {
            settlement.result.error = error
        }
        settlement.result.duration = .now - started
        return settlement.result
    }

    private mutating func settle() async throws(GigHiveError) {
        let uploadID = settlement.record.uploadID
        let lock = try UploadOwnership.ofRow(settlement.record, in: uploader.directory)
        defer { lock.release() }
        // Its response may be on the disk and not adopted yet.
        let rescued = try await RescueAdoption.run(
            store: uploader.store,
            directory: uploader.directory,
            owning: uploadID
        )
        try reload(uploadID)
        settlement.result.warnings += rescued.filter(\.isOfStoredToken)
        if settlement.record.transport == .tus && settlement.record.state != .finalized {
            try await settleTus(uploadID)
        } else if !settlement.record.state.isFinal {
            try await ask()
        }
        guard settlement.result.state == .tokenLost else {
            if settlement.result.state == .finalized {
                sayTokenIsKept()
            }
            return
        }
        // A broken answer may hold a token without its id; the id is known now.
        let late = try await RescueAdoption.run(
            store: uploader.store,
            directory: uploader.directory,
            owning: uploadID
        )
        let asked = settlement
        try reload(uploadID)
        guard settlement.record.state != .tokenLost else {
            settlement = asked
            return
        }
        if settlement.record.state == .finalized {
            sayTokenIsKept()
        }
        settlement.result.warnings += (rescued + late).filter(\.isOfStoredToken)
    }

    /// A tus upload that was never finalized is on no listing; it waits for being resumed. A finalize that may be in flight
    /// is brought to its end.
    private mutating func settleTus(_ uploadID: String) async throws(GigHiveError) {
        guard try uploader.mayBeFinalizing(settlement.record) else { return }
        guard settlement.record.isGuest == (uploader.options.guest != nil) else {
            let need = settlement.record.isGuest ? "it requires the event link again" : "it requires a login"
            throw GigHiveError(.notResumable, detail: need, path: settlement.record.path)
        }
        do {
            guard let tus = try uploader.store.tusRecord(uploadID),
                let tusID = tus.finalTusID ?? (tus.mayBeStored ? tus.parts[0].tusID : nil),
                let details = details ?? UploadDetails(settlement.record.fields)
            else {
                throw GigHiveError(
                    .notResumable,
                    detail: "the journal does not have its upload ID",
                    path: settlement.record.path
                )
            }
            var finalization = Finalization(
                tusID,
                details: details,
                fileName: settlement.result.fileName,
                sizeBytes: settlement.record.sizeBytes,
                startedAt: tus.finalizeStartedAt,
                journal: TusJournal(tus, store: uploader.store),
                uploader: uploader,
                control: control,
                onEvent: onEvent
            )
            if settlement.record.checksumSHA256 == nil, tus.mayBeStored, let whole = tus.parts[0].proofs.last {
                settlement.note(checksum: whole.digest)
            }
            switch await finalization.run(&settlement) {
            case .settled: break
            case .sendAgain(let error): settlement.end(.failed, error)
            case .dead(let error):
                try await TusJournal(tus, store: uploader.store).forget()
                settlement.end(.failed, error)
            }
        } catch let error as StoreError {
            throw .store(error)
        } catch let error as GigHiveError {
            throw error
        } catch {
            throw GigHiveError(.internalError, detail: "\(error)")
        }
    }

    /// The server's response was a success, and its token is only in the kept response.
    private mutating func sayTokenIsKept() {
        let uploadID = settlement.record.uploadID
        let kept = try? KeptResponses(store: uploader.store, directory: uploader.directory).list()
        settlement.result.error = GigHiveError(
            .tokenNotStored,
            detail: "the response contains a token but no ID",
            fileID: settlement.record.fileID,
            rescuePath: kept?.first { $0.uploadID == uploadID && $0.hasToken }?.path
        )
    }

    private mutating func reload(_ uploadID: String) throws(GigHiveError) {
        do {
            if let record = try uploader.store.upload(uploadID) {
                settlement = UploadSettlement(store: uploader.store, record: record)
            }
        } catch {
            throw .store(error)
        }
    }

    private mutating func ask() async throws(GigHiveError) {
        let record = settlement.record
        guard let checksum = await checksum(of: record) else {
            settlement.end(
                .unknownOutcome,
                GigHiveError(
                    .outcomeUnknown,
                    detail: "the digest of the upload is unknown, and the file was deleted or modified",
                    path: record.path
                )
            )
            return
        }
        settlement.note(checksum: checksum)
        guard let details = UploadDetails(record.fields) else {
            settlement.end(
                .unknownOutcome,
                GigHiveError(.outcomeUnknown, detail: "the journal does not have its details", path: record.path)
            )
            return
        }
        let quiet = Duration.seconds(max(0, Date().timeIntervalSince(record.updatedAt)))
        let limit = max(.zero, uploader.settleTime(forBytes: record.sizeBytes) - quiet)
        onEvent(.resolving(for: limit))
        let inquiry = uploader.inquiry(
            record,
            of: details,
            checksum: checksum,
            fileName: settlement.result.fileName
        )
        switch await inquiry.run(for: limit, control: control) {
        case .present(let copy) where copy.placement != .otherEvent:
            settlement.endAsPresent(copy, cause: nil)
        case .present where record.state == .finalized, .absent where record.state == .finalized:
            // The server has confirmed the file; its token is not given up for a listing.
            break
        case .present, .absent:
            settlement.end(
                .failed,
                GigHiveError(
                    .connectionLost,
                    detail: "the upload was interrupted and its event does not have the file",
                    isRetryable: true,
                    path: record.path
                )
            )
        case .unanswered(let reason):
            settlement.end(.unknownOutcome, GigHiveError(.outcomeUnknown).asUnknownOutcome(reason))
        case .stopped:
            settlement.end(
                .unknownOutcome,
                GigHiveError(
                    .outcomeUnknown,
                    detail: "stopped while checking upload \(record.uploadID)",
                    isRetryable: true
                )
            )
        }
    }

    private func checksum(of record: UploadRecord) async -> String? {
        if let checksum = record.checksumSHA256 {
            return checksum
        }
        guard let identity = record.identity else { return nil }
        return await FileDigest.hex(path: record.path, identity: identity)
    }
}

extension UploadWarning {
    /// Whether it tells of a token that has got into the store.
    fileprivate var isOfStoredToken: Bool {
        if case .rescued = self { true } else { false }
    }
}
