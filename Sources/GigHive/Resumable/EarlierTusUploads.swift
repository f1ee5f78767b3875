internal import MediaStore
internal import MediaTransport

/// What the journal knows of the very same file on the same server, for an upload over tus.
struct EarlierTusUploads {
    let uploader: Uploader
    let upload: PreparedUpload
    let control: TransferControl
    let onEvent: @Sendable (UploadEvent) -> Void

    /// Whether the upload has its end already.
    ///
    /// - Returns: The end; nil when the file is to be sent.
    /// - Throws: `GigHiveError`.
    func end() async throws(GigHiveError) -> UploadResult? {
        guard uploader.options.guest != nil else {
            return try await EarlierUploads(uploader: uploader, upload: upload, control: control, onEvent: onEvent)
                .end()
        }
        for row in try rows() where row.isGuest && upload.isForEvent(of: row) {
            if let end = try await guestEnd(of: row) {
                return end
            }
        }
        return nil
    }

    /// An upload of the same file to the same event that has not come to its end, and can.
    func resumable() throws(GigHiveError) -> UploadRecord? {
        let isGuest = uploader.options.guest != nil
        for row in try rows() where row.isGuest == isGuest && upload.isForEvent(of: row) {
            if try Uploader.isResumable(row, in: uploader.store) {
                return row
            }
        }
        return nil
    }

    private func rows() throws(GigHiveError) -> [UploadRecord] {
        guard let identity = upload.identity else { return [] }
        return try GigHiveError.reading { () throws(StoreError) in
            try uploader.store.uploads(identity: identity, host: uploader.client.server.scope)
        }
    }

    // MARK: Guests

    /// A guest cannot query files. Only an approved upload is known to be stored: a deletion makes it rejected (gighive
    /// contract section 5), but leaves a pending one pending, so that one is uploaded again and the server decides.
    private func guestEnd(of row: UploadRecord) async throws(GigHiveError) -> UploadResult? {
        var row = row
        if try uploader.mayBeFinalizing(row) {
            let result = await uploader.resolve(row, control: control, onEvent: onEvent)
            return try uploader.canGoOn(row, after: result) ? nil : result
        }
        guard row.state == .done, !uploader.options.again else { return nil }
        row.httpStatus = nil
        var result = UploadSettlement(store: uploader.store, record: row).result
        if let receipt = result.guest {
            guard try await uploader.client.guestStatus(receipt)?.state == .approved else { return nil }
        } else {
            // Without its status code nothing can be queried; sent again it would be stored twice (trap D4-T10).
            result.warnings.append(.guestReceiptLost)
        }
        result.state = .duplicate
        result.isSkipped = true
        result.isResumed = false
        result.attempts = 0
        return result
    }
}
