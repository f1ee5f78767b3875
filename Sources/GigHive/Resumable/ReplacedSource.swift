internal import MediaCrypto
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// Files that were copied, restored or touched since their upload started: they are resumed if they still begin with the
/// bytes that were sent.
extension Uploader {
    /// An unfinished tus upload to the same event, from the same path or inode, if the file begins with the bytes
    /// already sent. An upload whose bytes differ is reported and stays in the journal.
    ///
    /// - Throws: `.cancelled`, or a failure of the file or the store.
    func resumableReplaced(
        _ upload: PreparedUpload,
        _ control: TransferControl,
        _ onEvent: @escaping @Sendable (UploadEvent) -> Void
    ) async throws(GigHiveError) -> UploadRecord? {
        guard let identity = upload.identity else { return nil }
        let rows = try GigHiveError.stored(
            store.unfinishedTusUploads(path: upload.journalPath, identity: identity, host: client.server.scope)
        )
        for row in rows where row.identity != identity && row.isGuest == isGuest && upload.isForEvent(of: row) {
            guard try Self.isResumable(row, in: store), try !mayBeFinalizing(row), try isUnowned(row) else { continue }
            if try await hasSentBytes(of: row, upload, control, onEvent) { return row }
            if try GigHiveError.stored(store.tusRecord(row.uploadID))?.tusIDs.isEmpty == false {
                onEvent(.restarting(because: GigHiveError(.sourceChanged, path: upload.path, value: row.uploadID)))
            }
        }
        return nil
    }

    /// Whether a file begins with the bytes that an upload over tus has sent, up to the end of the last chunk whose
    /// digest is stored, in every part. False if no digest is stored.
    ///
    /// - Throws: `.cancelled`, or a failure of the file or the store.
    func hasSentBytes(
        of row: UploadRecord,
        _ upload: PreparedUpload,
        _ control: TransferControl,
        _ onEvent: @escaping @Sendable (UploadEvent) -> Void
    ) async throws(GigHiveError) -> Bool {
        guard row.transport == .tus, row.sizeBytes == upload.sizeBytes,
            let parts = try GigHiveError.stored(store.tusRecord(row.uploadID))?.parts
        else { return false }
        let sent = parts.compactMap { part in part.proofs.last.map { (start: part.start, proof: $0) } }
        guard !sent.isEmpty else { return false }
        let file = try upload.open()
        let byteCount = sent.reduce(0) { $0 + $1.proof.offset }
        var verified: Int64 = 0
        for (start, proof) in sent {
            do {
                let pipeline = try HashPipeline()
                try await pipeline.append(
                    file: file.descriptor,
                    from: start,
                    byteCount: proof.offset
                ) { [verified] done in
                    if control.isStopRequested { throw CancellationError() }
                    onEvent(.verifying(bytes: verified + done, byteCount: byteCount))
                }
                guard try await pipeline.finish().digest.hex == proof.digest else { return false }
            } catch is CancellationError {
                throw GigHiveError(.cancelled, path: upload.path)
            } catch {
                throw GigHiveError(.fileUnreadable, detail: "\(error)", path: upload.path)
            }
            verified += proof.offset
        }
        return file.isUnchanged
    }

    /// Whether no running process owns a row.
    private func isUnowned(_ row: UploadRecord) throws(GigHiveError) -> Bool {
        guard let lock = try GigHiveError.stored(UploadLock.acquire(row.uploadID, in: directory)) else { return false }
        lock.release()
        return true
    }
}
