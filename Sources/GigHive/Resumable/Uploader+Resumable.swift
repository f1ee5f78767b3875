internal import MediaFiles
public import MediaStore
internal import MediaSystem
public import MediaTransport
public import Tus

extension Uploader {
    /// Resumes an unfinished upload in the journal: verifies the prefix, sends the rest, finalizes.
    ///
    /// An interrupted multipart upload is resolved, as `resolve` does, and sent again if it is not on the server. An
    /// upload that the server no longer has is restarted. An upload that failed with a correctable 400 is finalized
    /// with the corrected `details`; nil uses the details in the row. Canceling the task calls `control.stop()`.
    ///
    /// - Returns: The result. `.sourceChanged` if the file was modified, `.notResumable` if it is gone, or if the row is
    ///   finished or discarded, or requires a login or an event link other than the uploader's; the row is then
    ///   unchanged.
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

    /// Throws if `resume` refuses a row because of its state alone.
    ///
    /// - Throws: `GigHiveError`: `.notResumable` for an upload that is finished, or that has nothing left to resume
    ///   because it was discarded or canceled; `.storeUnusable`.
    public static func checkResumable(_ record: UploadRecord, in store: TokenStore) throws(GigHiveError) {
        guard !record.state.isFinished else {
            throw GigHiveError(.notResumable, detail: "its state is \(record.state.rawValue)", path: record.path)
        }
        guard record.state == .cancelled else { return }
        guard try GigHiveError.stored(store.tusRecord(record.uploadID))?.tusIDs.isEmpty == false else {
            throw GigHiveError(.notResumable, detail: "nothing left to resume", path: record.path)
        }
    }

    /// Checks an upload as `resume` does, as far as possible without querying the server. If the status of the file has
    /// changed, the bytes that were sent are compared.
    ///
    /// - Throws: `GigHiveError`: the error that `resume` would report.
    public func rehearseResume(_ record: UploadRecord) async throws(GigHiveError) {
        try Self.checkResumable(record, in: store)
        try Self.checkSource(of: record)
        if record.transport == .tus, let identity = record.identity, let details = UploadDetails(record.fields) {
            let upload = try prepare(record.path, details: details)
            if upload.identity != identity {
                let isSame = try await hasSentBytes(of: record, upload, TransferControl()) { _ in }
                guard isSame else { throw ResumeRun.changed(record) }
            }
        }
        let lock = try UploadOwnership.ofRow(record, in: directory)
        lock.release()
    }

    /// Checks the file of an upload that is to be resumed, as far as possible without reading it or querying the
    /// server.
    ///
    /// - Throws: `GigHiveError`: `.sourceChanged` if the file is known to have been modified, `.notResumable` if it is
    ///   gone, or the file's own errors.
    public static func checkSource(of record: UploadRecord) throws(GigHiveError) {
        guard let identity = record.identity else { return }
        let file: SourceFile
        do {
            file = try SourceFile(checking: record.path)
        } catch {
            let error = GigHiveError.source(error)
            throw error.code == .fileNotFound ? ResumeRun.missing(record) : error
        }
        // A file that was copied, restored or touched may still begin with the bytes sent over tus.
        let mayHaveSentBytes = record.transport == .tus && file.status.size == record.sizeBytes
        guard file.status.isProbablyUnchanged(since: identity) || mayHaveSentBytes else {
            throw ResumeRun.changed(record)
        }
    }

    /// Discards an upload: removes it from the tus server (tus DELETE) and ends its row as `cancelled`.
    ///
    /// For a multipart upload, the server is first queried for the file; the row ends if the server does not have it,
    /// or if the outcome can no longer be determined.
    ///
    /// `evenUnreachable` ends the row even if the server does not remove its part, or does not respond to the query.
    /// The server may then have stored the file (a finalize request was in flight). If `control` cancels the call, the
    /// row stays unchanged. `onLock` is called once if the server has the upload locked (423), with the maximum time to
    /// wait for the lock.
    ///
    /// - Returns: The result; with an error, and the row unchanged, if the server responds and may have stored the file
    ///   (a finalize request is in flight), or does not respond and `evenUnreachable` is false.
    public func discard(
        _ record: UploadRecord,
        evenUnreachable: Bool = false,
        control: TransferControl = TransferControl(),
        onLock: @escaping @Sendable (Duration) -> Void = { _ in }
    ) async -> UploadResult {
        await shielded(control) {
            var run = DiscardRun(
                uploader: self,
                evenUnreachable: evenUnreachable,
                control: control,
                onLock: onLock,
                recorder: UploadOutcomeRecorder(store: store, record: record)
            )
            return await run.perform()
        }
    }

    /// Whether `resume` can continue a row: an upload over tus that is unfinished, or that failed while the server has
    /// a part of it; or a multipart upload left by an exited process, unless its outcome cannot be determined.
    public static func isResumable(_ record: UploadRecord, in store: TokenStore) throws(GigHiveError) -> Bool {
        guard record.transport == .tus, record.state != .finalized else {
            return !record.state.isFinal && !isUndeterminable(record)
        }
        switch record.state {
        case .done, .duplicate, .linked, .refusedDuplicate, .tokenLost, .finalized: return false
        case .planned, .sending, .sent, .unknownOutcome: return true
        case .failed, .cancelled: break
        }
        return try GigHiveError.stored(store.tusRecord(record.uploadID))?.tusIDs.isEmpty == false
    }

    /// Whether a multipart upload left by an exited process can only be discarded, as far as is known without reading
    /// its file: the journal has no details, or it has no digest to query the server for, and the file that was being
    /// sent no longer exists or has changed.
    public static func isUndeterminable(_ record: UploadRecord) -> Bool {
        guard record.transport == .multipart, !record.state.isFinal, record.state != .finalized,
            !record.isDirectoryUnknown
        else { return false }
        guard UploadDetails(record.fields) != nil else { return true }
        guard record.checksumSHA256 == nil else { return false }
        guard let identity = record.identity, let file = try? SourceFile(checking: record.path) else { return true }
        return file.status != identity
    }

    /// Throws unless `discard` may discard a row, as far as is known on this machine.
    ///
    /// - Throws: `GigHiveError`: `.notResumable` for an upload that is finished on the server, or that has nothing left
    ///   to discard, `.unknownOutcome` for an upload that the server may be storing (unless `evenUnreachable`),
    ///   `.storeUnusable`.
    public static func checkDiscardable(
        _ record: UploadRecord,
        evenUnreachable: Bool = false,
        in store: TokenStore,
        _ directory: DataDirectory
    ) throws(GigHiveError) {
        guard !record.state.isFinished, record.state != .finalized else {
            throw .notDiscardable(record, "its state is \(record.state.rawValue)")
        }
        guard try !isDiscarded(record, in: store, directory) else {
            throw .notDiscardable(record, "nothing left to discard")
        }
        if !evenUnreachable, try mayBeFinalizing(record, in: store) { throw mayBeStored(record) }
    }

    static func mayBeStored(_ record: UploadRecord) -> GigHiveError {
        GigHiveError(
            .unknownOutcome,
            detail: "the server may be storing it; check it first with: mediactl uploads status",
            isRetryable: true,
            path: record.path
        )
    }

    /// Whether an upload of standard input may be resumed, so its copy must be kept.
    public static func needsSpool(_ uploadID: String, in store: TokenStore) -> Bool {
        do {
            return try store.upload(uploadID).map { try isResumable($0, in: store) } ?? false
        } catch {
            return true
        }
    }

    /// Deletes an upload that the server refuses regardless of its details (gighive contract 2.4), so nothing is left
    /// to resume. A server that does not delete the bytes now removes them later.
    func removeBytes(of tusID: String, _ journal: TusJournal, control: TransferControl) async throws(StoreError) {
        for id in [tusID] + (await journal.record.tusIDs.filter { $0 != tusID }) {
            guard (try? await tus.terminate(id, control: control)) != nil else { break }
        }
        try await journal.forget()
    }

    /// Whether an upload was discarded before, or stopped with the same result: neither the server nor this machine has
    /// any of its data.
    private static func isDiscarded(
        _ record: UploadRecord,
        in store: TokenStore,
        _ directory: DataDirectory
    ) throws(GigHiveError) -> Bool {
        guard record.state == .cancelled,
            try GigHiveError.stored(store.tusRecord(record.uploadID))?.tusIDs.isEmpty ?? true
        else { return false }
        // Standard input may have left a copy.
        guard record.identity == nil else { return true }
        return try GigHiveError.stored(SpoolFile.kept(for: record.uploadID, in: directory)) == nil
    }

    func mayBeFinalizing(_ record: UploadRecord) throws(GigHiveError) -> Bool {
        try Self.mayBeFinalizing(record, in: store)
    }

    /// Whether the server may be storing, or have stored, the tus upload of a row.
    ///
    /// - Throws: `.storeUnusable`.
    public static func mayBeFinalizing(_ record: UploadRecord, in store: TokenStore) throws(GigHiveError) -> Bool {
        guard record.transport == .tus, !record.state.isFinished else { return false }
        guard let tus = try GigHiveError.stored(store.tusRecord(record.uploadID)) else { return false }
        return tus.finalizeStartedAt != nil || tus.mayBeStored
    }

    /// Whether an upload can be resumed after it was resolved: the server has not stored it, and is not about to.
    func canResume(_ record: UploadRecord, after resolved: UploadResult) throws(GigHiveError) -> Bool {
        switch resolved.state {
        case .failed, .cancelled: true
        case .planned, .sending, .sent: record.transport == .tus ? try !mayBeFinalizing(record) : false
        case .finalized, .done, .duplicate, .linked, .refusedDuplicate, .unknownOutcome, .tokenLost: false
        }
    }
}

extension Uploader {
    /// Files of at least this size are uploaded over tus by `auto`: many proxies refuse bodies of 100 MB, and after an
    /// interruption, a whole body would have to be sent again.
    static let smallestForTus: Int64 = 64 << 20

    /// Sizes of chunks that a chunk-counting server receives completely: a longer body may be stored in part
    /// (gighive-d4 contract 4.3). 16 MiB leaves room below its limit of 20 MiB.
    static let fixedChunkSizes: ClosedRange<Int64> = 1...(16 << 20)

    /// The features of the tus server, queried once per uploader; nil if there is no tus server that can create
    /// uploads.
    public func tusFeatures() async throws(GigHiveError) -> TusFeatures? {
        try await featureCache.features(of: tus)
    }

    var tus: TusClient { client.tus(options.timeouts) }

    /// The features of the tus server to use for a file; nil for multipart. Throws `.tusUnavailable` if tus is
    /// required and not offered.
    func tusFeatures(
        for upload: PreparedUpload,
        _ control: TransferControl,
        _ onEvent: @escaping @Sendable (UploadEvent) -> Void
    ) async throws(GigHiveError) -> TusFeatures? {
        let isNeeded = options.guest != nil || options.transport == .tus
        let isPreferred = upload.sizeBytes >= Self.smallestForTus || directLimit.isExceeded(by: upload.sizeBytes)
        let isUnfinished = !isNeeded && options.transport == .auto && isUnfinished(upload)
        guard isNeeded || isUnfinished || (options.transport == .auto && isPreferred) else { return nil }
        let features = try await tusFeatures(for: upload, isNeeded: isNeeded, control, onEvent)
        // Only a multipart upload gets a delete token from such a server (gighive-d4 contract section 3).
        if !isNeeded, !isUnfinished, features?.countsChunks == true, fitsDirectly(upload) { return nil }
        if let features, let limit = features.maximumBytes, upload.sizeBytes > limit {
            guard isNeeded else { return nil }
            throw GigHiveError(
                .fileTooLarge,
                detail: "\(upload.sizeBytes) bytes; the server accepts at most \(limit) over tus",
                path: upload.path,
                value: String(upload.sizeBytes),
                limit: limit
            )
        }
        guard features != nil || !isNeeded else {
            throw GigHiveError(.tusUnavailable, detail: "the server cannot resume uploads", path: upload.path)
        }
        if let features, features.countsChunks { try checkCreation(of: upload) }
        return features
    }

    /// Whether an upload of the same file over tus was interrupted, so `auto` resumes it.
    private func isUnfinished(_ upload: PreparedUpload) -> Bool {
        guard let row = try? resumable(upload), let tus = try? store.tusRecord(row.uploadID) else { return false }
        return tus.parts.contains { $0.tusID != nil && !$0.proofs.isEmpty && !$0.needsChunkSize }
    }

    /// Whether one request can carry a file, as far as is known.
    func fitsDirectly(_ upload: PreparedUpload) -> Bool {
        !upload.warnings.contains(.aboveDirectLimit) && !directLimit.isExceeded(by: upload.sizeBytes)
    }

    /// Throws for an upload that a chunk-counting server would refuse at its creation or after its last byte
    /// (gighive-d4 contract 4.1 and 4.4).
    func checkCreation(of upload: PreparedUpload) throws(GigHiveError) {
        // An event link's details come from the server and were not validated.
        let details = upload.details
        _ = try UploadDetails.validated(
            eventDate: details.eventDate,
            orgName: details.orgName,
            eventType: details.eventType,
            label: details.label
        )
        guard AcceptedMedia.types.contains(upload.contentType) else {
            throw GigHiveError(
                .unsupportedMedia,
                detail: "\(upload.contentType) over tus",
                path: upload.path,
                value: upload.contentType
            )
        }
    }

    /// The features for a file; waits are reported. `auto` falls back to multipart if the tus server is down and the
    /// file fits into one request.
    private func tusFeatures(
        for upload: PreparedUpload,
        isNeeded: Bool,
        _ control: TransferControl,
        _ onEvent: @Sendable (UploadEvent) -> Void
    ) async throws(GigHiveError) -> TusFeatures? {
        do throws(GigHiveError) {
            return try await tusFeatures(control, onEvent)
        } catch {
            if !isNeeded, error.isFromGateway, fitsDirectly(upload) { return nil }
            var error = error
            if isNeeded, error.isOfTusServer, options.guest == nil { error.field = "transport" }
            throw error
        }
    }

    /// Like `tusFeatures()`, but reports its waits while the tus server is unavailable.
    func tusFeatures(
        _ control: TransferControl,
        _ onEvent: @Sendable (UploadEvent) -> Void
    ) async throws(GigHiveError) -> TusFeatures? {
        var outage = Backoff(options.retry.outage)
        return try await outage.run(
            pausing: { delay in
                defer { permit?.end() }
                return await control.waitForStop(upTo: delay)
            },
            canceled: GigHiveError(.cancelled),
            retryAfter: { $0.code == .serverUnavailable ? .seconds($0.retryAfterSeconds ?? 0) : nil },
            onRetry: { (attempt, delay, error) async throws(GigHiveError) in
                // Only an upload that has begun is displayed. The slot is released before the upload waits for anything
                // else.
                guard await mayBegin(control) else { throw GigHiveError(.cancelled) }
                onEvent(.retrying(attempt: attempt, after: delay, because: error))
            }
        ) { () async throws(GigHiveError) in
            try await featureCache.features(of: tus, repeatsUnavailable: false)
        }
    }

    /// Sets `field` if another transport accepts a file that one request cannot carry.
    func naming(transportOf result: UploadResult) -> UploadResult {
        guard result.error?.code == .payloadTooLarge, options.transport == .multipart else { return result }
        var result = result
        result.error?.field = "transport"
        return result
    }

    /// For `auto`: the alternative if the server refused the size of a request (trap T23); nil if there is none.
    func tusFeatures(for upload: PreparedUpload, refused error: GigHiveError) async -> TusFeatures? {
        guard error.code == .payloadTooLarge, options.transport == .auto else { return nil }
        directLimit.note(refused: upload.sizeBytes)
        guard let features = try? await tusFeatures() else { return nil }
        guard upload.sizeBytes <= features.maximumBytes ?? .max else { return nil }
        if features.countsChunks, (try? checkCreation(of: upload)) == nil { return nil }
        return features
    }

    /// How long the server may still be working on a file whose response was lost: it hashes, moves and probes the file
    /// (gighive contract 2.6). The probe takes at most 30 seconds, so a small file is finished long before
    /// `processingTime`.
    func processingTime(forBytes byteCount: Int64) -> Duration {
        min(options.processingTime, .seconds(45) + .seconds(byteCount / 2_000_000))
    }

    /// The transport for a file, as far as it is known without querying the server.
    public func plannedTransport(of upload: PreparedUpload) -> PlannedTransport {
        if options.guest != nil { return .tusForGuest }
        return switch options.transport {
        case .multipart: .multipartAsSet
        case .tus: .tusAsSet
        case .auto: upload.sizeBytes < Self.smallestForTus ? .multipartForSize : .tusForSize
        }
    }

    /// The upload with the event of the guest's link (gighive contract section 6).
    ///
    /// - Throws: `.termsNotAccepted`, `.invalidEventLink` for a link to a different server, `.invalidDetail`.
    func asGuest(_ upload: PreparedUpload) throws(GigHiveError) -> PreparedUpload {
        guard let guest = options.guest else { return upload }
        guard guest.acceptsTerms else {
            throw GigHiveError(.termsNotAccepted, path: upload.path)
        }
        guard guest.origin == client.server.origin else {
            throw GigHiveError(.invalidEventLink, detail: "the link is for \(guest.origin)", path: upload.path)
        }
        return upload.with(try upload.details.forGuest(of: guest.event))
    }
}

extension PreparedUpload {
    /// The warnings that apply to a transport: tus has no limit for one request (gighive contract 2.6).
    public func warnings(over transport: UploadTransport) -> [UploadWarning] {
        transport == .tus ? self.warnings.filter { $0 != .aboveDirectLimit } : self.warnings
    }
}

/// The transport for a file, and the reason.
public enum PlannedTransport: String, Sendable, CaseIterable {
    case multipartAsSet = "multipart_set"
    /// The file is below the size limit for tus.
    case multipartForSize = "multipart_small"
    case tusAsSet = "tus_set"
    /// The file is large: tus if the server supports it, otherwise multipart.
    case tusForSize = "tus_large"
    /// Guests upload over tus only.
    case tusForGuest = "tus_guest"

    /// The transport; for a large file, the first one to try.
    public var transport: UploadTransport {
        switch self {
        case .multipartAsSet, .multipartForSize: .multipart
        case .tusAsSet, .tusForSize, .tusForGuest: .tus
        }
    }
}
