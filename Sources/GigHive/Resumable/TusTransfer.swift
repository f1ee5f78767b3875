internal import Foundation
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport
internal import Synchronization
internal import Tus

/// Transfers the bytes of a file to a tus server: creates missing uploads, sends missing bytes, joins parts.
struct TusTransfer: Sendable {
    /// Maximum number of times per call that the server may lose the data sent.
    private static let restartLimit = 3

    let tus: TusClient
    let upload: PreparedUpload
    let file: FileContent
    let journal: TusJournal
    let options: TusSendOptions
    let control: TransferControl
    let statistics: TransferStatistics
    /// Whether the file may differ from the one whose bytes were sent; if so, every byte on the server needs a proof.
    let needsProofs: Bool
    /// This upload's slot if the server limits unfinished uploads; otherwise nil.
    var slot: TusSlot?
    let onEvent: @Sendable (UploadEvent) -> Void

    /// Returns the ID to finalize, and the digest of the whole file. Throws `.journal` if the journal failed.
    func run() async throws(TusError) -> (tusID: String, checksum: String) {
        let parts = await journal.record.parts
        guard parts.count > 1 else {
            let sent = try await send(0, parts: parts, control: control)
            return (sent.tusID, sent.digest.hex)
        }
        return try await sendInParallel(parts)
    }

    // MARK: Parts

    /// Sends the parts in parallel. The digest of the whole file cannot be computed from the digests of its parts, so
    /// the file is read once more.
    private func sendInParallel(_ parts: [TusRecord.Part]) async throws(TusError) -> (tusID: String, checksum: String) {
        let status = FileIdentity(descriptor: file.descriptor)
        let wholeDigest = Task {
            try? await FileDigest.of(file.descriptor, byteCount: upload.sizeBytes, until: control).hex
        }
        defer { wholeDigest.cancel() }
        let inner = control.linked()
        let outcomes = await withBoundedTasks(parts.indices, limit: parts.count) {
            index -> Result<SentPart, TusError> in
            do throws(TusError) {
                return .success(try await send(index, parts: parts, control: inner))
            } catch {
                inner.abandon()
                return .failure(error)
            }
        }
        // The part that failed first has stopped the others.
        let failures = outcomes.compactMap { outcome in
            if case .failure(let error) = outcome { error } else { nil }
        }
        if let failure = failures.first(where: { $0.kind != .cancelled }) ?? failures.first {
            throw failure
        }
        guard let checksum = await wholeDigest.value else {
            if control.isStopRequested { throw TusError(.cancelled) }
            throw TusError(.sourceFailed, detail: "the file could not be read completely")
        }
        let sent = try outcomes.map { outcome throws(TusError) in try outcome.get() }
        guard await hasSentBytes(sent, of: parts, since: status) else {
            if control.isStopRequested { throw TusError(.cancelled) }
            throw TusError(.prefixChanged, detail: "the file changed while it was being sent")
        }
        if let joined = await journal.record.finalTusID {
            return (joined, checksum)
        }
        let ids = sent.map { $0.tusID }
        return (try await finalizable(tus.concatenate(ids, metadata: metadata, control: control)).id, checksum)
    }

    /// Whether the file still has the bytes that were sent; false after a stop. If its status has changed since `status`,
    /// its parts are read again: `wholeDigest` reads the file separately, and may have read bytes that were modified after
    /// they were sent.
    private func hasSentBytes(
        _ sent: [SentPart],
        of parts: [TusRecord.Part],
        since status: FileIdentity?
    ) async -> Bool {
        if let status, FileIdentity(descriptor: file.descriptor) == status { return true }
        for (part, delivery) in zip(parts, sent) {
            let digest = try? await FileDigest.of(
                file.descriptor,
                from: part.start,
                byteCount: part.byteCount,
                until: control
            )
            guard digest == delivery.digest else { return false }
        }
        return true
    }

    // MARK: One part

    private typealias SentPart = (tusID: String, digest: SHA256Digest)

    private func send(
        _ index: Int,
        parts: [TusRecord.Part],
        control: TransferControl
    ) async throws(TusError) -> SentPart {
        var restarts = 0
        while true {
            do throws(TusError) {
                var options = options
                let id: String
                if let known = try await known(index, control) {
                    id = known
                    slot?.noteCreated()
                    if options.fixedChunkBytes != nil {
                        options.fixedChunkBytes = await journal.record.parts[index].chunkBytes
                    }
                } else {
                    id = try await create(index, parts, control)
                    options.isNew = true
                }
                let delivery = try await tus.send(
                    await content(index),
                    to: id,
                    options: options,
                    control: control,
                    onEvent: { relay($0, of: index, parts[index]) }
                )
                statistics.add(bytesSent: delivery.bytesSent)
                return (id, delivery.digest)
            } catch {
                statistics.add(bytesSent: error.bytesSent)
                guard error.kind == .gone, restarts < Self.restartLimit else { throw error }
                restarts += 1
                onEvent(.restarting(because: .tus(error, path: upload.path)))
                try await TusError.journalling { () async throws(StoreError) in try await journal.lost(index) }
                statistics.reset(index)
            }
        }
    }

    /// The upload that an earlier run has created, if the server still has it.
    private func known(_ index: Int, _ control: TransferControl) async throws(TusError) -> String? {
        let part = await journal.record.parts[index]
        guard let id = part.tusID else { return nil }
        // Chunks of a different size would destroy the file (gighive-d4 contract 4.2).
        if options.fixedChunkBytes != nil, !Uploader.fixedChunkSizes.contains(part.chunkBytes ?? 0) {
            let detail = "the size of its chunks is unknown"
            onEvent(.restarting(because: GigHiveError(.notResumable, detail: detail, path: upload.path)))
            onEvent(.leavingUnfinished)
            try await TusError.journalling { () async throws(StoreError) in try await journal.lost(index) }
            return nil
        }
        let status = try await tus.status(of: id, control: control)
        guard status.byteCount == nil || status.byteCount == part.byteCount else {
            throw TusError(.gone, detail: "the server has another upload with this ID")
        }
        // The end of every chunk that was sent has a proof.
        guard
            options.fixedChunkBytes == nil || status.offset == 0
                || part.proofs.contains(where: { $0.offset == status.offset })
        else {
            throw TusError(.dead, detail: "the server's offset, \(status.offset) bytes, is not the end of a chunk")
        }
        if needsProofs, status.offset > part.proofs.last?.offset ?? 0 {
            let detail = "the file was replaced, and the last bytes on the server cannot be compared with it"
            onEvent(.restarting(because: GigHiveError(.notResumable, detail: detail, path: upload.path)))
            // Leftover bytes cost the server some space; no later step depends on them.
            try? await tus.terminate(id, control: control)
            try await TusError.journalling { () async throws(StoreError) in try await journal.lost(index) }
            return nil
        }
        onEvent(.resuming(from: statistics.reached(status.offset, in: index)))
        return id
    }

    private func create(
        _ index: Int,
        _ parts: [TusRecord.Part],
        _ control: TransferControl
    ) async throws(TusError) -> String {
        let isPartial = parts.count > 1
        let creation = try await creation(of: parts[index].byteCount, isPartial: isPartial, control)
        slot?.noteCreated()
        if !isPartial {
            _ = try finalizable(creation)
        }
        UploadFailpoint.afterCreate.reach()
        try await TusError.journalling { () async throws(StoreError) in
            try await journal.created(index, creation, chunkBytes: options.fixedChunkBytes)
        }
        UploadFailpoint.afterTusID.reach()
        return creation.id
    }

    /// Creates an upload. Waits while this process's own uploads occupy the server's slots, and reports its waits while
    /// the tus server is unavailable.
    private func creation(
        of byteCount: Int64,
        isPartial: Bool,
        _ control: TransferControl
    ) async throws(TusError) -> TusCreation {
        var outage = Backoff(options.retry.outage)
        var connections = Backoff(options.retry)
        var attempt = 1
        var mayRepeat = true
        while true {
            do throws(TusError) {
                return try await tus.create(
                    byteCount: byteCount,
                    metadata: isPartial ? [] : metadata,
                    isPartial: isPartial,
                    repeatsUnavailable: false,
                    isRepeatable: slot == nil,
                    control: control
                )
            } catch {
                let reason = GigHiveError.tus(error, path: upload.path)
                var delay: Duration?
                if reason.isPendingLimit, let slot {
                    guard await slot.waitForAnother() else { throw error }
                    if control.isStopRequested { throw TusError(.cancelled) }
                    continue
                } else if reason.code == .serverUnavailable {
                    delay = outage.next(after: reason)
                } else if slot != nil, error.transport?.isBeforeRequest == true, reason.isRetryable {
                    delay = connections.next(after: reason)
                } else if slot != nil, mayRepeat, error.isUnclear {
                    // A creation whose response was lost blocks one of five slots for a day (gighive-d4 contract 4.5).
                    mayRepeat = false
                    delay = connections.next(after: reason)
                }
                guard let delay else { throw error }
                onEvent(.retrying(attempt: attempt, after: delay, because: reason))
                if await control.waitForStop(upTo: delay) { throw TusError(.cancelled) }
                attempt += 1
            }
        }
    }

    /// Throws `.unexpectedResponse`, before the bytes are sent, for an ID that could never be finalized.
    private func finalizable(_ creation: TusCreation) throws(TusError) -> TusCreation {
        guard FinalizeRequest.canName(creation.id) else {
            throw TusError(.unexpectedResponse, detail: "the upload ID \"\(creation.id)\" cannot be finalized")
        }
        return creation
    }

    /// `filename`, because without it the server names the file `upload.bin`, and all details, because they must not be
    /// lost with this machine (gighive contract 4.1 and 4.2).
    private var metadata: [TusMetadata] {
        [TusMetadata("filename", upload.fileName), TusMetadata("filetype", upload.contentType)]
            + upload.details.fields.map { TusMetadata($0.name, $0.value) }
    }

    private func content(_ index: Int) async -> TusContent {
        let part = await journal.record.parts[index]
        return TusContent(
            start: part.start,
            byteCount: part.byteCount,
            proofs: part.proofs.compactMap { proof in
                SHA256Digest(hex: proof.digest).map { TusProof(offset: proof.offset, digest: $0) }
            },
            lastChunk: part.lastChunk.map { TusChunk(offset: $0.offset, byteCount: $0.byteCount) },
            open: { file },
            begin: { chunk in
                let begun = TusRecord.Chunk(offset: chunk.offset, byteCount: chunk.byteCount)
                try await journal.begin(begun, of: index)
            },
            keep: { proof in
                try await journal.keep(proof, of: index)
                // All of the chunk except its last byte has been sent.
                if proof.offset > part.byteCount / 2 {
                    UploadFailpoint.midPatch.reach()
                }
            }
        )
    }

    private func relay(_ event: TusEvent, of index: Int, _ part: TusRecord.Part) {
        switch event {
        case .verifying(let bytes, let byteCount):
            onEvent(.verifying(bytes: bytes, byteCount: byteCount))
        case .progress(let offset, let progress):
            let bytes = statistics.reached(offset, in: index)
            onEvent(
                .progress(
                    TransferProgress(
                        // The time that the server takes to process a chunk is not reported as a separate phase.
                        phase: progress.phase == .waitingToRetry || progress.phase == .connecting
                            ? progress.phase : .sending,
                        bytesAcknowledged: bytes,
                        bodyByteCount: upload.sizeBytes,
                        attempt: progress.attempt,
                        wait: progress.wait
                    )
                )
            )
        case .acknowledged(let offset):
            statistics.reached(offset, in: index)
            if offset > part.byteCount / 2, offset < part.byteCount {
                UploadFailpoint.afterPatch.reach()
            }
        case .retrying(let attempt, let delay, let error):
            onEvent(.retrying(attempt: attempt, after: delay, because: .tus(error, path: upload.path)))
        }
    }
}

extension TusError {
    /// Whether the server may have acted on a request that failed.
    fileprivate var isUnclear: Bool {
        switch kind {
        case .network: true
        case .server: status == 502 || status == 504
        case .rateLimited: status == 408
        default: false
        }
    }
}

/// Counts the bytes that the parts of one upload send.
final class TransferStatistics: Sendable {
    private struct State {
        var offsets: [Int: Int64] = [:]
        var bytesSent: Int64 = 0
    }

    private let state = Mutex(State())

    /// Body bytes sent in this call, including those sent again.
    var bytesSent: Int64 { state.withLock { $0.bytesSent } }

    func add(bytesSent count: Int64) {
        state.withLock { $0.bytesSent += count }
    }

    /// Records the offset of a part, and returns the sum over all parts.
    @discardableResult
    func reached(_ offset: Int64, in part: Int) -> Int64 {
        state.withLock { state in
            state.offsets[part] = offset
            return state.offsets.values.reduce(0, +)
        }
    }

    func reset(_ part: Int) {
        state.withLock { $0.offsets[part] = 0 }
    }
}

/// Caches the features of a tus server, so many uploads query them only once. A failed query is repeated.
actor TusFeatureCache {
    private typealias Response = Result<TusFeatures?, GigHiveError>

    private var query: Task<Response, Never>?

    /// nil if there is no tus server that can create uploads.
    func features(of tus: TusClient, repeatsUnavailable: Bool = true) async throws(GigHiveError) -> TusFeatures? {
        let queried = query ?? Task { await Self.query(tus, repeatsUnavailable) }
        query = queried
        let response = await queried.value
        if case .failure = response, query == queried {
            query = nil
        }
        return try response.get()
    }

    private static func query(_ tus: TusClient, _ repeatsUnavailable: Bool) async -> Response {
        do {
            let features = try await tus.features(repeatsUnavailable: repeatsUnavailable)
            return .success(features.extensions.contains(.creation) ? features : nil)
        } catch {
            return error.kind == .unsupported ? .success(nil) : .failure(.tus(error))
        }
    }
}
