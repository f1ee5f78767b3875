internal import MediaStore
internal import MediaTransport

/// What the journal, the hash cache and the server's listing know of a file that is to be uploaded.
struct EarlierUploads {
    let uploader: Uploader
    let upload: PreparedUpload
    let control: TransferControl
    let onEvent: @Sendable (UploadEvent) -> Void
    /// The file's digest, where it is known without reading it.
    let digest: String?

    init(
        uploader: Uploader,
        upload: PreparedUpload,
        control: TransferControl,
        onEvent: @escaping @Sendable (UploadEvent) -> Void
    ) {
        self.uploader = uploader
        self.upload = upload
        self.control = control
        self.onEvent = onEvent
        digest = uploader.knownDigest(upload)
    }

    private var host: String { uploader.client.server.scope }

    /// Whether the upload has its end already.
    ///
    /// A row of the very same file (device, inode, size, times) that a dead process left is settled first. Then, unless
    /// `again`, the file is a duplicate without being sent when `known` says so.
    ///
    /// - Returns: The end; nil when the file is to be sent.
    /// - Throws: `GigHiveError`: `.uploadInProgress`, a store that fails, or a network that does.
    func end() async throws(GigHiveError) -> UploadResult? {
        let rows = try rows()
        for row in rows where try isUnsettled(row) {
            if let end = try await settle(row) {
                return end
            }
        }
        return try await known(rows.filter(\.state.isFinal))
    }

    /// Whether the upload has its end already, told without settling anything: safe without owning the file.
    ///
    /// - Returns: The end; nil when `end` has to tell.
    func endOfFinished() async throws(GigHiveError) -> UploadResult? {
        let rows = try rows()
        guard rows.allSatisfy(\.state.isFinal) else { return nil }
        return try await known(rows)
    }

    /// Whether the server may have stored what a row has sent. Of a tus upload that was never finalized it has stored
    /// nothing; `TusUploadRun` goes on with that, or leaves it to `resume`.
    private func isUnsettled(_ row: UploadRecord) throws(GigHiveError) -> Bool {
        guard !row.state.isFinal else { return false }
        return row.transport == .tus && row.state != .finalized ? try uploader.mayBeFinalizing(row) : true
    }

    private func rows() throws(GigHiveError) -> [UploadRecord] {
        guard let identity = upload.identity else { return [] }
        return try GigHiveError.reading { () throws(StoreError) in
            try uploader.store.uploads(identity: identity, host: host)
        }
    }

    // MARK: Cut short

    /// Resolves what a dead process left.
    private func settle(_ row: UploadRecord) async throws(GigHiveError) -> UploadResult? {
        let result = await uploader.resolve(row, control: control, onEvent: onEvent)
        if let error = result.error, [.uploadInProgress, .storeUnusable].contains(error.code) {
            throw error
        }
        guard try !uploader.canGoOn(row, after: result) else { return nil }
        switch result.state {
        case .done, .duplicate, .linked, .tokenLost:
            return upload.isForEvent(of: row) && !uploader.options.again ? result : nil
        case .refusedDuplicate:
            return upload.isForEvent(of: row) ? result : nil
        case .planned, .sending, .sent, .finalized, .unknownOutcome, .failed, .cancelled:
            // Sending the file again now could store it twice or lose its token.
            return result
        }
    }

    // MARK: Known

    /// Whether the server is known to have the bytes in that event, so that sending them would only bring a 409
    /// (gighive contract section 3): this machine has sent them there, from this path or another, or the listing shows
    /// them there. For another event they are sent, because D3 links them only then, and nothing tells its dialect
    /// beforehand. What was deleted from here is always sent again; guests may not read the listing.
    private func known(_ finished: [UploadRecord]) async throws(GigHiveError) -> UploadResult? {
        guard !uploader.options.again, uploader.options.guest == nil else { return nil }
        if let digest {
            return try await known(digest)
        }
        // Without the cache the journal knows the digest, and what was sent; the listing is not worth it then.
        guard let checksum = finished.compactMap(\.checksumSHA256).first else { return nil }
        return try await sentFromHere(checksum)
    }

    /// As above, for a digest.
    func known(_ checksum: String) async throws(GigHiveError) -> UploadResult? {
        if let end = try await sentFromHere(checksum) {
            return end
        }
        return try await listed(checksum)
    }

    private func sentFromHere(_ checksum: String) async throws(GigHiveError) -> UploadResult? {
        let sent = try GigHiveError.reading { () throws(StoreError) in
            try uploader.store.uploads(checksumSHA256: checksum, host: host)
        }
        var asked: Set<Int64> = []
        for row in sent where upload.isForEvent(of: row) && row.state.isStored {
            guard let fileID = row.fileID, asked.insert(fileID).inserted, try !isRemoved(fileID, checksum),
                let served = try await confirmed(row.state, fileID, checksum)
            else { continue }
            return duplicate(of: row, served)
        }
        return nil
    }

    /// Whether the event has a file: by the listing, and where that does not show it, by its id, because sending the file
    /// again costs more than a request. The id proves nothing about the event: it is enough for what the server confirmed as
    /// uploaded or linked, and not for a duplicate, which releases up to 0.1.0 recorded without asking.
    ///
    /// - Returns: Where it is served; nil when the file is not there.
    private func confirmed(
        _ state: UploadState,
        _ fileID: Int64,
        _ checksum: String
    ) async throws(GigHiveError) -> ServedName? {
        let needsListing = state != .done && state != .linked
        let isListingCheap = await uploader.inventory.isWorthListing()
        if needsListing || isListingCheap {
            let event = InventoryEvent(upload.details)
            let finding = try await uploader.inventory.find(checksum, in: event, control: control)
            if case .stored(let stored) = finding {
                let isThere = needsListing ? stored.isOnlyInEvent : stored.isInEvent
                return stored.fileID == fileID && isThere ? stored.served : nil
            }
            if needsListing { return nil }
        }
        do throws(GigHiveError) {
            let asset = try await uploader.client.briefly(control) { (client) async throws(GigHiveError) in
                try await client.asset(fileID)
            }
            return asset?.checksumSHA256 == checksum ? asset?.servedName : nil
        } catch  where error.code == .serverUnavailable {
            return nil
        }
    }

    /// The end when the listing shows the bytes in that event. A single question begins with whether the media are served
    /// at all, which is cheaper than the listing and nearly always no.
    private func listed(_ checksum: String) async throws(GigHiveError) -> UploadResult? {
        if await !uploader.inventory.isWorthListing() {
            let inquiry = uploader.inquiry(upload, checksum: checksum)
            guard try await inquiry.isServed(control: control) else { return nil }
        }
        let event = InventoryEvent(upload.details)
        let finding = try await uploader.inventory.find(checksum, in: event, control: control)
        guard case .stored(let stored) = finding, stored.isOnlyInEvent, try !isRemoved(stored.fileID, checksum) else {
            return nil
        }
        var record = uploader.record(of: upload)
        record.checksumSHA256 = checksum
        record.fileID = stored.fileID
        record.state = .duplicate
        var result = skipped(UploadSettlement(store: uploader.store, record: record), stored.served)
        result.uploadID = nil
        return result
    }

    private func duplicate(of row: UploadRecord, _ served: ServedName) -> UploadResult {
        var result = skipped(UploadSettlement(store: uploader.store, record: row), served)
        if row.state == .tokenLost && !result.hasDeleteToken {
            result.warnings.append(.tokenLostEarlier)
        }
        return result
    }

    private func skipped(_ known: UploadSettlement, _ served: ServedName) -> UploadResult {
        var result = known.result
        result.mediaURL = known.mediaURL(served)
        result.state = .duplicate
        result.isSkipped = true
        result.isResumed = false
        result.attempts = 0
        result.httpStatus = nil
        result.fileType = served.kind
        result.isDeletableDuplicate = result.hasDeleteToken
        return result
    }

    private func isRemoved(_ fileID: Int64, _ checksum: String) throws(GigHiveError) -> Bool {
        try GigHiveError.reading { () throws(StoreError) in
            try uploader.store.isRemoved(host: host, fileID: fileID, checksumSHA256: checksum)
        }
    }
}
