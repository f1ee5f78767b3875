internal import Foundation
internal import MediaCrypto
internal import MediaTransport

/// One run of `TusClient.send`: its position, and its handling of failures.
struct TusSender {
    private let client: TusClient
    private let content: TusContent
    private let id: String
    private let options: TusSendOptions
    private let control: TransferControl
    private let onEvent: @Sendable (TusEvent) -> Void
    /// Between chunks, the pipeline's state and mark cover the first `offset` bytes.
    private let pipeline: HashPipeline

    /// Number of bytes that the server is known to have.
    private var offset: Int64 = 0
    private var size: ChunkSize
    private var locks: Backoff
    /// Failures since progress was last made.
    private var consecutiveFailures: Backoff
    /// Failed attempts in that time, including those caused by a lock or an oversized chunk.
    private var failedAttempts = 0
    private var retriedFailures = 0
    private var bytesSent: Int64 = 0
    /// The end of the bytes that any attempt may have sent: all bytes before it can appear on the server even after the
    /// server reported fewer. Whole chunks, because libcurl does not count the bytes of a failing write.
    private var sentEnd: Int64 = 0

    init(
        _ client: TusClient,
        _ content: TusContent,
        to id: String,
        _ options: TusSendOptions,
        _ control: TransferControl,
        _ onEvent: @escaping @Sendable (TusEvent) -> Void
    ) throws(TusError) {
        self.client = client
        self.content = content
        self.id = id
        self.options = options
        self.control = control
        self.onEvent = onEvent
        size = ChunkSize(options)
        locks = Backoff(options.lock)
        consecutiveFailures = Backoff(options.retry)
        do throws(CryptoError) {
            pipeline = try HashPipeline()
        } catch {
            throw TusError(.sourceFailed, detail: error.detail, underlying: error)
        }
    }

    mutating func run() async throws(TusError) -> TusDelivery {
        do throws(TusError) {
            if !options.isNew {
                offset = try await queryStatus().offset
                // The chunk sent by an earlier run may still arrive.
                sentEnd = end(ofChunk: options.longestChunk)
                try await verifyPrefix()
                if let last = content.lastChunk { size.resume(after: last, at: offset) }
            }
            let resumedAt = offset
            while offset < content.byteCount {
                try await sendChunk()
            }
            return TusDelivery(
                digest: try await digest(),
                resumedAt: resumedAt,
                bytesSent: bytesSent,
                retriedFailures: retriedFailures
            )
        } catch {
            var error = error
            error.bytesSent = bytesSent
            throw error
        }
    }

    // MARK: Status

    /// Queries the upload's status, with retries.
    private mutating func queryStatus() async throws(TusError) -> TusStatus {
        while true {
            try throwIfStopped()
            do throws(TusError) {
                let status = try await client.head(id, repeatability: .resumable, control)
                if let length = status.byteCount, length != content.byteCount {
                    throw TusError(
                        .conflict,
                        detail: "the upload is \(length) bytes long, the content \(content.byteCount)"
                    )
                }
                guard status.offset <= content.byteCount else {
                    throw misplaced("the server has more bytes than the content")
                }
                return status
            } catch  where error.kind != .conflict {
                try await waitOut(error)
            }
        }
    }

    /// Waits before a retry. If `isEased`, the next attempt places less load on the network and is always made. Throws
    /// the error if a retry cannot help or the policy is exhausted.
    private mutating func waitOut(_ error: TusError, isEased: Bool = false) async throws(TusError) {
        var wait: Duration?
        if error.kind == .locked {
            wait = locks.next()
        } else if error.isRetryable {
            let retryAfter = error.retryAfterSeconds.map { Duration.seconds($0) }
            wait = consecutiveFailures.next(retryAfter: retryAfter)
            if isEased {
                wait = wait ?? options.retry.delay(after: consecutiveFailures.failures, retryAfter: retryAfter)
            }
        }
        guard let wait else { throw error }
        noteRetry(after: wait, because: error)
        if await control.waitForStop(upTo: wait) { throw TusError(.cancelled) }
    }

    private mutating func noteRetry(after wait: Duration, because error: TusError) {
        retriedFailures += 1
        failedAttempts += 1
        onEvent(.retrying(attempt: failedAttempts, after: wait, because: error))
    }

    private func throwIfStopped() throws(TusError) {
        if control.isStopRequested || Task.isCancelled { throw TusError(.cancelled) }
    }

    // MARK: Sending

    private mutating func sendChunk() async throws(TusError) {
        try throwIfStopped()
        // Chunks of a fixed size do not adapt.
        if options.fixedChunkBytes == nil {
            do {
                try await content.begin(TusChunk(offset: offset, byteCount: size.current))
            } catch {
                throw TusError(.journal, detail: "\(error)", underlying: error)
            }
        }
        let started = ContinuousClock.now
        let chunk = offset..<end(ofChunk: size.current)
        let body = try ChunkBody(chunk, of: content, pipeline)
        let outcome = await client.patch(
            id,
            body,
            of: content,
            options.checksum,
            // A server whose offsets count chunks stores the file with its last chunk (gighive-d4 contract section 5).
            completes: options.fixedChunkBytes != nil && chunk.upperBound == content.byteCount,
            control,
            onEvent
        )
        bytesSent += outcome.bytesSent
        sentEnd = max(sentEnd, chunk.upperBound)
        guard let error = outcome.error else {
            size.completed(in: started.duration(to: .now))
            return advance(to: chunk.upperBound)
        }
        if options.fixedChunkBytes != nil {
            return try await recover(from: error, chunk, isKept: outcome.isKept)
        }
        if error.kind == .tooLarge {
            guard size.refused(Int64(chunk.count)) else { throw error }
            noteRetry(after: .zero, because: error)
        } else {
            let isSmaller = error.isCut && size.cut()
            // A network that interrupts every chunk of a certain size may still carry smaller ones.
            try await waitOut(error, isEased: isSmaller && error.transport != nil)
        }
        try await resume(at: try await queryStatus().offset, chunk, isKept: outcome.isKept)
    }

    /// The end of a chunk of this size at `offset`, or the end of the content if that comes first.
    private func end(ofChunk byteCount: Int64) -> Int64 { offset + min(byteCount, content.byteCount - offset) }

    /// Continues after an error if offsets count chunks: the next chunk has the same size, and nothing is sent again
    /// after a response that ends the upload on the server (gighive-d4 contract 4.1 and 4.4).
    private mutating func recover(from error: TusError, _ chunk: Range<Int64>, isKept: Bool) async throws(TusError) {
        if let dead = error.asDead { throw dead }
        if error.kind == .conflict, let found = error.uploadOffset {
            // Either an earlier attempt to send this chunk has arrived after all, or nothing has.
            if found <= offset { try await waitOut(error) }
            return try await resume(at: found, chunk, isKept: isKept)
        }
        var error = error
        // A body truncated by a proxy is refused as a bad request, and no part of it is stored.
        if error.status == 400 { error.kind = .unexpectedResponse }
        try await waitOut(error)
        try await resume(at: try await queryStatus().offset, chunk, isKept: isKept)
    }

    /// An impossible offset. If offsets count chunks, the upload cannot be completed.
    private func misplaced(_ detail: String) -> TusError {
        TusError(options.fixedChunkBytes == nil ? .conflict : .dead, detail: detail)
    }

    private func isChunkEnd(_ found: Int64) -> Bool {
        guard let chunk = options.fixedChunkBytes else { return true }
        return found % chunk == 0 || found == content.byteCount
    }

    /// Resumes from the server's offset after a failure.
    private mutating func resume(at found: Int64, _ chunk: Range<Int64>, isKept: Bool) async throws(TusError) {
        guard found >= offset, found <= max(offset, sentEnd), isChunkEnd(found) else {
            throw misplaced("the server's offset is \(found), expected \(offset)")
        }
        if found == chunk.upperBound && isKept {
            return advance(to: found)
        }
        pipeline.restart()
        guard found > offset else { return }
        // A server without a proxy in front of it stores the part of a chunk that it received. These bytes are hashed
        // again.
        try await hash(from: offset, to: found, of: try content.openChecked())
        try await keepProof(at: found)
        advance(to: found)
    }

    private mutating func advance(to end: Int64) {
        offset = end
        consecutiveFailures.reset()
        failedAttempts = 0
        locks.reset()
        pipeline.mark()
        onEvent(.acknowledged(offset: end))
    }

    // MARK: Verifying the prefix

    /// Rereads the content that the server has, and throws unless it is the content that was sent.
    private mutating func verifyPrefix() async throws(TusError) {
        guard offset > 0 else { return }
        // A chunk's proof is stored before its last byte is sent: an offset without a proof belongs to different bytes.
        guard options.fixedChunkBytes == nil || content.proofs.contains(where: { $0.offset == offset }) else {
            throw misplaced("the server's offset, \(offset) bytes, is not the end of a chunk")
        }
        let file = try content.openChecked()
        let longest = options.longestChunk
        let verified = content.proofs.filter { $0.offset <= offset }.max { $0.offset < $1.offset }
        let verifiedBytes = verified?.offset ?? 0
        // A chunk's proof is stored before its last byte is sent: at most, part of one chunk lacks a proof.
        guard offset - verifiedBytes <= longest else {
            throw TusError(
                .prefixChanged,
                detail: "the server has \(offset) bytes, but only the first \(verifiedBytes) can be compared"
            )
        }
        try await hash(from: 0, to: verifiedBytes, of: file)
        if let verified { try await compare(with: verified) }
        if offset > verifiedBytes {
            try await hash(from: verifiedBytes, to: offset, of: file)
            pipeline.mark()
            let next = content.proofs.filter { $0.offset > offset }.min { $0.offset < $1.offset }
            if let next, next.offset - offset <= longest, next.offset <= content.byteCount {
                // The chunk was interrupted, and its proof covers the part that the server has.
                try await hash(from: offset, to: next.offset, of: file)
                try await compare(with: next)
                pipeline.restart()
            }
            try await keepProof(at: offset)
        }
        pipeline.mark()
        onEvent(.acknowledged(offset: offset))
    }

    private func compare(with proof: TusProof) async throws(TusError) {
        guard try await digest() == proof.digest else {
            throw TusError(.prefixChanged, detail: "the first \(proof.offset) bytes differ from those that were sent")
        }
    }

    private func hash(from first: Int64, to end: Int64, of file: FileContent) async throws(TusError) {
        let total = offset
        do {
            try await pipeline.append(
                file: file.descriptor,
                from: content.start + first,
                byteCount: end - first
            ) { [control, onEvent] done in
                if control.isStopRequested { throw CancellationError() }
                onEvent(.verifying(bytes: min(first + done, total), byteCount: total))
            }
        } catch is CancellationError {
            throw TusError(.cancelled)
        } catch {
            throw TusError(.sourceFailed, detail: "\(error)", underlying: error)
        }
    }

    private func digest() async throws(TusError) -> SHA256Digest {
        do throws(CryptoError) {
            return try await pipeline.finish().digest
        } catch {
            throw TusError(.sourceFailed, detail: error.detail, underlying: error)
        }
    }

    private func keepProof(at offset: Int64) async throws(TusError) {
        let proof = TusProof(offset: offset, digest: try await digest())
        do {
            try await content.keep(proof)
        } catch {
            throw TusError(.journal, detail: "\(error)", underlying: error)
        }
    }
}
