internal import Foundation
internal import MediaCrypto
internal import MediaTransport

/// What came of sending one chunk once.
struct ChunkOutcome {
    /// The answer, whatever its status.
    var answer: Result<HTTPResponse, TusError>
    var bytesSent: Int64
    /// Whether all of the chunk went through the hash and its proof is kept.
    var isKept: Bool
}

extension TusClient {
    /// Sends a chunk once. With `completes`, a stop after its last byte lets it wait for its answer.
    ///
    /// - Returns: The error is nil when the server has the whole chunk.
    func patch(
        _ id: String,
        _ chunk: ChunkBody,
        of content: TusContent,
        _ checksum: DigestAlgorithm?,
        completes: Bool = false,
        _ control: TransferControl,
        _ onEvent: @escaping @Sendable (TusEvent) -> Void
    ) async -> (error: TusError?, outcome: ChunkOutcome) {
        let request: HTTPRequest
        do throws(TusError) {
            request = try await patchRequest(id, chunk, of: content, checksum, completes: completes)
        } catch {
            return (error, ChunkOutcome(answer: .failure(error), bytesSent: 0, isKept: false))
        }
        let outcome = await send(request, chunk, of: content, control, onEvent)
        switch outcome.answer {
        case .success(let answer): return (refusal(in: answer, of: chunk.range(in: content)), outcome)
        case .failure(let error): return (error, outcome)
        }
    }

    /// Sends a request whose body is a chunk, and keeps the chunk's proof on the way.
    func send(
        _ request: HTTPRequest,
        _ chunk: ChunkBody,
        of content: TusContent,
        _ control: TransferControl,
        _ onEvent: @escaping @Sendable (TusEvent) -> Void
    ) async -> ChunkOutcome {
        let range = chunk.range(in: content)
        let end = chunk.end
        async let keeping: Void = keepProof(of: content, at: range.upperBound, chunk.pipeline, when: end)
        var outcome: ChunkOutcome
        do throws(TransportError) {
            let answer = try await http.execute(request, control: control) { progress in
                onEvent(.progress(offset: range.lowerBound + progress.bytesAcknowledged, progress))
            }
            outcome = ChunkOutcome(answer: .success(answer), bytesSent: answer.metrics.bodyBytesSent, isKept: false)
        } catch {
            outcome = ChunkOutcome(
                answer: .failure(TusError(error)),
                bytesSent: error.metrics.bodyBytesSent,
                isKept: false
            )
        }
        end.transferEnded()
        await keeping
        if let failure = end.failure {
            let isStopped = Task.isCancelled || control.isStopRequested
            outcome.answer = .failure(
                isStopped ? TusError(.cancelled) : TusError(.journal, detail: "\(failure)", underlying: failure)
            )
        }
        outcome.isKept = end.isReleased
        return outcome
    }

    private func patchRequest(
        _ id: String,
        _ chunk: ChunkBody,
        of content: TusContent,
        _ checksum: DigestAlgorithm?,
        completes: Bool
    ) async throws(TusError) -> HTTPRequest {
        var headers = [
            HTTPHeader("Upload-Offset", String(chunk.range(in: content).lowerBound)), Self.offsetStream,
        ]
        if let checksum {
            do {
                let digest = try await checksum.digest(
                    ofFile: chunk.file.descriptor,
                    from: chunk.start,
                    byteCount: chunk.byteCount
                )
                let value = Data(digest).base64EncodedString()
                headers.append(HTTPHeader("Upload-Checksum", "\(checksum.tusName) \(value)"))
            } catch is CancellationError {
                throw TusError(.cancelled)
            } catch {
                throw TusError(.sourceFailed, detail: "\(error)", underlying: error)
            }
        }
        return request(
            .patch,
            try resource(id),
            headers: headers,
            body: chunk,
            repeatability: completes ? .atMostOnce : .resumable
        )
    }

    /// What a body of bytes of an upload is called.
    static var offsetStream: HTTPHeader { HTTPHeader("Content-Type", "application/offset+octet-stream") }

    /// nil when the answer says that the server has the whole chunk.
    private func refusal(in answer: HTTPResponse, of chunk: Range<Int64>) -> TusError? {
        guard (200..<300).contains(answer.status) else { return TusError(answer: answer, to: .patch) }
        let offset = answer.head.byteCount("Upload-Offset")
        if offset == chunk.upperBound { return nil }
        let detail = offset.map { "the answer says \($0) where \(chunk.upperBound) was due" }
        return TusError(
            .unexpectedAnswer,
            detail: detail ?? "the answer has no Upload-Offset",
            status: answer.status
        )
    }

    /// Keeps the proof of everything up to the end of a chunk, then lets the chunk's last byte go.
    private func keepProof(
        of content: TusContent,
        at offset: Int64,
        _ pipeline: HashPipeline,
        when end: ChunkEnd
    ) async {
        guard await end.reached() else { return }
        do {
            let digest = try await pipeline.finish().digest
            try await content.keep(TusProof(offset: offset, digest: digest))
            end.release()
        } catch {
            end.fail(error)
        }
    }
}
