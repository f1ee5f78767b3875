internal import MediaStore
internal import MediaTransport

/// What the journal knows of the very same file (device, inode, size, times) on the same server.
struct EarlierUploads {
    let uploader: Uploader
    let upload: PreparedUpload
    let control: TransferControl
    let onEvent: @Sendable (UploadEvent) -> Void

    /// Whether the upload has its end already.
    ///
    /// A row that a dead process left is settled first. A finished upload to the same event is a duplicate when the
    /// server still has the file under that id (unless `force`); then nothing is sent.
    ///
    /// - Returns: The end; nil when the file is to be sent.
    /// - Throws: `GigHiveError`: `.uploadInProgress`, a store that fails, or a server that does not say.
    func end() async throws(GigHiveError) -> UploadResult? {
        guard let identity = upload.identity else { return nil }
        let rows: [UploadRecord]
        do {
            rows = try uploader.store.uploads(identity: identity, host: uploader.client.server.scope)
        } catch {
            throw .store(error)
        }
        var finished: [UploadRecord] = []
        for row in rows {
            if row.state.isFinal {
                finished.append(row)
            } else if row.transport == .tus, try !uploader.mayBeFinalizing(row) {
                // None of it is stored; `TusUploadRun` goes on with it, or leaves it to `resume`.
                continue
            } else if let end = try await settle(row) {
                return end
            }
        }
        guard !uploader.options.force else { return nil }
        for row in finished where isSameEvent(row) {
            if let end = try await duplicate(of: row) {
                return end
            }
        }
        return nil
    }

    /// Resolves what a dead process left.
    private func settle(_ row: UploadRecord) async throws(GigHiveError) -> UploadResult? {
        let result = await uploader.resolve(row, control: control, onEvent: onEvent)
        if let error = result.error, [.uploadInProgress, .storeUnusable].contains(error.code) {
            throw error
        }
        switch result.state {
        case .failed, .cancelled:
            return nil
        case .done, .duplicate, .tokenLost:
            return isSameEvent(row) && !uploader.options.force ? result : nil
        case .planned, .sending, .sent, .finalized, .unknownOutcome:
            // Sending the file again now could store it twice or lose its token.
            return result
        }
    }

    private func duplicate(of row: UploadRecord) async throws(GigHiveError) -> UploadResult? {
        guard [.done, .duplicate, .tokenLost].contains(row.state), let fileID = row.fileID,
            let checksum = row.checksumSHA256,
            let asset = try await uploader.client.asset(fileID), asset.checksumSHA256 == checksum
        else { return nil }
        var result = UploadSettlement(store: uploader.store, record: row).result
        result.state = .duplicate
        result.isResumed = false
        result.attempts = 0
        result.httpStatus = nil
        result.fileType = asset.fileType
        result.isDeletableDuplicate = result.hasDeleteToken
        if row.state == .tokenLost && !result.hasDeleteToken {
            result.warnings.append(.tokenLostEarlier)
        }
        return result
    }

    private func isSameEvent(_ row: UploadRecord) -> Bool {
        let names: Set<String> = ["event_date", "org_name"]
        let event = { (fields: [UploadField]) in fields.filter { names.contains($0.name) } }
        return event(row.fields) == event(upload.details.fields)
    }
}
