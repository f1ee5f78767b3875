internal import Foundation
internal import MediaCrypto
internal import MediaTransport

/// What came of one `PATCH`.
struct PatchOutcome {
    /// nil when the server has the whole chunk.
    var error: TusError?
    var bytesSent: Int64 = 0
    var duration = Duration.zero
    /// Whether all of the chunk went through the hash and its proof is kept.
    var isKept = false
}

extension TusClient {
    /// Sends a chunk once.
    func patch(
        _ id: String,
        _ content: TusContent,
        _ chunk: Range<Int64>,
        _ pipeline: HashPipeline,
        _ checksum: DigestAlgorithm?,
        _ control: TransferControl,
        _ onEvent: @escaping @Sendable (TusEvent) -> Void
    ) async -> PatchOutcome {
        let end = ChunkEnd()
        let body: ChunkBody
        let request: HTTPRequest
        do throws(TusError) {
            body = ChunkBody(
                file: try content.openChecked(),
                start: content.start + chunk.lowerBound,
                byteCount: Int64(chunk.count),
                pipeline: pipeline,
                end: end
            )
            request = try await patchRequest(id, at: chunk.lowerBound, body, checksum)
        } catch {
            return PatchOutcome(error: error)
        }
        async let keeping: Void = keepProof(of: content, at: chunk.upperBound, pipeline, when: end)
        var outcome: PatchOutcome
        do throws(TransportError) {
            let answer = try await http.execute(request, control: control) { progress in
                onEvent(.progress(offset: chunk.lowerBound + progress.bytesAcknowledged, progress))
            }
            outcome = PatchOutcome(
                error: refusal(in: answer, of: chunk),
                bytesSent: answer.metrics.bodyBytesSent,
                duration: answer.metrics.duration
            )
        } catch {
            outcome = PatchOutcome(error: TusError(error), bytesSent: error.metrics.bodyBytesSent)
        }
        end.transferEnded()
        await keeping
        if let failure = end.failure {
            let isStopped = Task.isCancelled || control.isStopRequested
            outcome.error =
                isStopped ? TusError(.cancelled) : TusError(.journal, detail: "\(failure)", underlying: failure)
        }
        outcome.isKept = end.isReleased
        return outcome
    }

    private func patchRequest(
        _ id: String,
        at offset: Int64,
        _ body: ChunkBody,
        _ checksum: DigestAlgorithm?
    ) async throws(TusError) -> HTTPRequest {
        var headers = [
            HTTPHeader("Upload-Offset", String(offset)),
            HTTPHeader("Content-Type", "application/offset+octet-stream"),
        ]
        if let checksum {
            do {
                let digest = try await checksum.digest(
                    ofFile: body.file.descriptor,
                    from: body.start,
                    byteCount: body.byteCount
                )
                let value = Data(digest).base64EncodedString()
                headers.append(HTTPHeader("Upload-Checksum", "\(checksum.tusName) \(value)"))
            } catch is CancellationError {
                throw TusError(.cancelled)
            } catch {
                throw TusError(.sourceFailed, detail: "\(error)", underlying: error)
            }
        }
        return request(.patch, try resource(id), headers: headers, body: body, repeatability: .resumable)
    }

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
