internal import MediaCrypto
public import MediaTransport

extension TusClient {
    /// Creates an upload and sends its first bytes in the same request (extension "creation-with-upload"), which spares a
    /// small file two round trips.
    ///
    /// Never done unasked: when the answer is lost, the server is left with these bytes under an id that nobody knows, and
    /// the next try sends them again. The request is therefore not repeated. `send` goes on from here; it reads the first
    /// bytes once more for the digest.
    ///
    /// - Parameters:
    ///   - content: The bytes. The proof of the first ones is kept before their last byte goes out, like that of a chunk,
    ///     but before the upload has an id.
    ///   - metadata: `Upload-Metadata`.
    ///   - firstBytes: How many to send now, at least 1; no more than the content has.
    ///   - isPartial: Whether it will be joined with others (extension "concatenation").
    ///   - control: Stops it at once.
    ///   - onEvent: Called on any thread; must return quickly.
    /// - Returns: The upload, and how many bytes the server says to have; nil when it does not say.
    /// - Throws: `TusError`.
    public func create(
        _ content: TusContent,
        metadata: [TusMetadata],
        sendingFirst firstBytes: Int64,
        isPartial: Bool = false,
        control: TransferControl = TransferControl(),
        onEvent: @escaping @Sendable (TusEvent) -> Void = { _ in }
    ) async throws(TusError) -> (creation: TusCreation, offset: Int64?) {
        let length = min(firstBytes, content.byteCount)
        guard length > 0 else {
            let creation = try await create(
                byteCount: content.byteCount,
                metadata: metadata,
                isPartial: isPartial,
                control: control
            )
            return (creation, 0)
        }
        var headers = [HTTPHeader("Upload-Length", String(content.byteCount)), Self.offsetStream]
        if isPartial { headers.append(HTTPHeader("Upload-Concat", "partial")) }
        if let value = try TusMetadata.fieldValue(of: metadata) { headers.append(HTTPHeader("Upload-Metadata", value)) }
        let chunk = try ChunkBody(0..<length, of: content, try HashPipeline.forContent())
        let request = request(.post, headers: headers, body: chunk, repeatability: .resumable)
        let outcome = await send(request, chunk, of: content, control, onEvent)
        do throws(TusError) {
            let answer = try outcome.answer.get()
            guard (200..<300).contains(answer.status) else { throw TusError(answer: answer, to: .create) }
            return (try creation(of: answer), answer.head.byteCount("Upload-Offset"))
        } catch {
            var error = error
            error.bytesSent = outcome.bytesSent
            throw error
        }
    }
}

extension HashPipeline {
    /// A pipeline, or the error of this module.
    static func forContent() throws(TusError) -> HashPipeline {
        do throws(CryptoError) {
            return try HashPipeline()
        } catch {
            throw TusError(.sourceFailed, detail: error.detail, underlying: error)
        }
    }
}
