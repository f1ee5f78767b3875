internal import MediaStore
internal import MediaTransport

/// Information from the journal, the hash cache and the server's listing about a file to be uploaded.
struct EarlierUploads {
    let uploader: Uploader
    let upload: PreparedUpload
    let control: TransferControl
    let onEvent: @Sendable (UploadEvent) -> Void
    /// The file's digest, if it is known without reading it.
    let digest: String?

    private var host: String { uploader.client.server.scope }

    /// The result, if the upload already has one; nil if the file must be sent.
    ///
    /// A row of the same file (device, inode, size, times) left by an exited process is resolved first. Then, unless
    /// `again` is set, a file that `known` finds is a duplicate without being sent.
    ///
    /// - Throws: `.uploadInProgress`, or a failure of the store or the network.
    func end() async throws(GigHiveError) -> UploadResult? {
        let rows = try uploader.rows(of: upload)
        guard uploader.options.guest == nil else {
            for row in rows where row.isGuest && upload.isForEvent(of: row) {
                if let end = try await guestEnd(of: row) { return end }
            }
            return nil
        }
        for row in rows where try isUnfinished(row) {
            if let end = try await finish(row) {
                return end
            }
        }
        return try await known(rows.filter(\.state.isFinal))
    }

    /// The result, if it can be determined without resolving a row, which is safe without owning the file. nil if `end`
    /// must decide.
    func endOfFinished() async throws(GigHiveError) -> UploadResult? {
        let rows = try uploader.rows(of: upload)
        guard rows.allSatisfy(\.state.isFinal) else { return nil }
        return try await known(rows)
    }

    /// Whether the server may have stored the upload of a row. It has not stored a tus upload that was never finalized;
    /// `TusUploadRun` resumes such an upload, or leaves it to `resume`.
    private func isUnfinished(_ row: UploadRecord) throws(GigHiveError) -> Bool {
        guard !row.state.isFinal else { return false }
        return row.transport == .tus && row.state != .finalized ? try uploader.mayBeFinalizing(row) : true
    }

    // MARK: Interrupted

    /// Resolves the upload left by an exited process.
    private func finish(_ row: UploadRecord) async throws(GigHiveError) -> UploadResult? {
        let result = await uploader.resolve(row, control: control, onEvent: onEvent)
        if let error = result.error, [.uploadInProgress, .storeUnusable].contains(error.code) {
            throw error
        }
        guard try !uploader.canResume(row, after: result) else { return nil }
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

    // MARK: Guests

    /// A guest cannot query files. Only an approved upload is known to be stored: a deletion changes it to rejected
    /// (gighive contract section 5), but leaves a pending upload pending. A pending upload is therefore repeated, and
    /// the server decides.
    private func guestEnd(of row: UploadRecord) async throws(GigHiveError) -> UploadResult? {
        var row = row
        if try uploader.mayBeFinalizing(row) {
            let result = await uploader.resolve(row, control: control, onEvent: onEvent)
            return try uploader.canResume(row, after: result) ? nil : result
        }
        guard row.state == .done, row.failureCode != UploadRecord.deleted, !uploader.options.again else { return nil }
        row.httpStatus = nil
        var result = UploadOutcomeRecorder(store: uploader.store, record: row).result
        if let receipt = result.guest {
            // The server still reports a hidden upload as approved.
            let isHidden = row.failureCode == UploadRecord.hidden
            let state = try await uploader.client.guestState(receipt)
            if let state, !isHidden {
                let standing = GuestStanding(state: state.rawValue, notedAt: uploader.now())
                try GigHiveError.stored(uploader.store.note(standing, of: row.uploadID))
            }
            guard state == .approved else { return nil }
            result.guestState = isHidden ? .hidden : state
        } else {
            // Without the receipt, nothing can be queried; another upload would store the file twice (trap D4-T10).
            result.warnings.append(.guestReceiptLost)
        }
        result.state = .duplicate
        result.isSkipped = true
        result.isResumed = false
        result.attempts = 0
        return result
    }

    // MARK: Known files

    /// The result if the server is known to have the bytes in the upload's event, so sending them would only cause a
    /// 409 (gighive contract section 3): this machine has uploaded them there, from this path or another, or the
    /// listing shows them there. For a different event, they are sent, because D3 links them only then, and the dialect
    /// is unknown beforehand. Files deleted by this machine are always sent again.
    private func known(_ finished: [UploadRecord]) async throws(GigHiveError) -> UploadResult? {
        guard !uploader.options.again else { return nil }
        if let digest {
            return try await known(digest)
        }
        // Without the cache, the journal provides the digest and the earlier uploads; reading the listing
        // would not pay off.
        guard let checksum = finished.compactMap(\.checksumSHA256).first else { return nil }
        return try await sentFromHere(checksum)
    }

    /// The result if the server is known to have the bytes with this digest in the upload's event. With `isServed`, the
    /// listing is read without checking the media first.
    func known(_ checksum: String, isServed: Bool = false) async throws(GigHiveError) -> UploadResult? {
        if let end = try await sentFromHere(checksum) {
            return end
        }
        return try await listed(checksum, isServed: isServed)
    }

    private func sentFromHere(_ checksum: String) async throws(GigHiveError) -> UploadResult? {
        let sent = try GigHiveError.stored(uploader.store.uploads(checksumSHA256: checksum, host: host))
        var queried: Set<Int64> = []
        for row in sent where upload.isForEvent(of: row) && row.state.isStored {
            guard let fileID = row.fileID, queried.insert(fileID).inserted, try !isRemoved(fileID, checksum),
                let served = try await confirmed(row.state, fileID, checksum)
            else { continue }
            return duplicate(of: row, served)
        }
        return nil
    }

    /// The name under which the event's file is served, from the listing or, if that is not read, by its ID, because
    /// sending the file again costs more than a request. The ID proves nothing about the event: it suffices for a file
    /// that the server confirmed as uploaded or linked, unless the listing for that day shows that it has since been
    /// moved; it does not suffice for a duplicate, which releases up to 0.1.0 recorded without a query. nil if the
    /// server does not confirm the file.
    private func confirmed(
        _ state: UploadState,
        _ fileID: Int64,
        _ checksum: String
    ) async throws(GigHiveError) -> ServedName? {
        let needsListing = state != .done && state != .linked
        let isListingCheap = await uploader.inventory.isWorthListing()
        if needsListing || isListingCheap {
            let event = InventoryEvent(upload.details)
            switch try await uploader.inventory.find(checksum, in: event, control: control) {
            case .stored(let stored):
                let isThere = needsListing ? stored.isOnlyInEvent : stored.isInEvent
                return stored.fileID == fileID && isThere ? stored.served : nil
            case .absent: return nil
            case .unavailable: if needsListing { return nil }
            }
        }
        do throws(GigHiveError) {
            let asset = try await uploader.client.briefly(control) { (client) async throws(GigHiveError) in
                try await client.asset(fileID)
            }
            guard let asset, asset.checksumSHA256 == checksum else { return nil }
            // Otherwise, the listing is unavailable or incomplete.
            if !isListingCheap, try await isMoved(checksum) { return nil }
            return asset.servedName
        } catch  where error.isOutage {
            return nil
        }
    }

    /// Whether the listing shows that the event no longer has the file. False if the server has no listing, only an
    /// incomplete one, or none at the moment.
    private func isMoved(_ checksum: String) async throws(GigHiveError) -> Bool {
        let details = upload.details
        do throws(GigHiveError) {
            let index = try await uploader.client.briefly(control) { (client) async throws(GigHiveError) in
                try await InventoryIndex.fetch(client, date: details.eventDate, control: control)
            }
            return index.isComplete && index.find(checksum, in: InventoryEvent(details))?.isInEvent != true
        } catch  where error.isOutage || (error.transport == nil && error.code != .cancelled) {
            return false
        }
    }

    /// The result if the listing shows the bytes in the upload's event. A single query first checks whether the media
    /// are served at all, which is cheaper than the listing and nearly always negative.
    private func listed(_ checksum: String, isServed: Bool) async throws(GigHiveError) -> UploadResult? {
        let event = InventoryEvent(upload.details)
        if !isServed, await !uploader.inventory.isWorthListing() {
            let (name, size) = (upload.fileName, upload.sizeBytes)
            let inquiry = uploader.inquiry(checksum: checksum, fileName: name, sizeBytes: size, event: event)
            guard try await inquiry.isServed(control: control) else { return nil }
        }
        let finding = try await uploader.inventory.find(checksum, in: event, control: control)
        guard case .stored(let stored) = finding, stored.isOnlyInEvent, try !isRemoved(stored.fileID, checksum) else {
            return nil
        }
        var record = uploader.record(of: upload)
        record.checksumSHA256 = checksum
        record.fileID = stored.fileID
        record.state = .duplicate
        var result = skipped(UploadOutcomeRecorder(store: uploader.store, record: record), stored.served)
        result.uploadID = nil
        return result
    }

    private func duplicate(of row: UploadRecord, _ served: ServedName) -> UploadResult {
        var result = skipped(UploadOutcomeRecorder(store: uploader.store, record: row), served)
        if row.state == .tokenLost && !result.hasDeleteToken {
            result.warnings.append(.tokenLostEarlier)
        }
        return result
    }

    private func skipped(_ known: UploadOutcomeRecorder, _ served: ServedName) -> UploadResult {
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
        try GigHiveError.stored(uploader.store.isRemoved(host: host, fileID: fileID, checksumSHA256: checksum))
    }
}

extension Uploader {
    func earlierUploads(
        of upload: PreparedUpload,
        control: TransferControl,
        onEvent: @escaping @Sendable (UploadEvent) -> Void
    ) -> EarlierUploads {
        let digest = isGuest ? nil : knownDigest(upload)
        return EarlierUploads(uploader: self, upload: upload, control: control, onEvent: onEvent, digest: digest)
    }

    /// The rows in the journal for the same file on this server.
    func rows(of upload: PreparedUpload) throws(GigHiveError) -> [UploadRecord] {
        guard let identity = upload.identity else { return [] }
        return try GigHiveError.stored(store.uploads(identity: identity, host: client.server.scope))
    }

    /// An unfinished upload over tus of the same file to the same event that can be resumed.
    func resumable(_ upload: PreparedUpload) throws(GigHiveError) -> UploadRecord? {
        for row in try rows(of: upload) where row.isGuest == isGuest && upload.isForEvent(of: row) {
            if try Self.isResumable(row, in: store) { return row }
        }
        return nil
    }
}

/// Verifies a response about bytes that the server already has (gighive contract section 3): that it has exactly these
/// bytes, and whether the event of the upload has them. The response alone does not show that: D2 refuses bytes that
/// any event has, and leaves the event of the refused upload empty.
struct DuplicateCheck: Sendable {
    enum Finding: Sendable {
        /// The event has these bytes.
        case inEvent(fileID: Int64?, ServedName)
        /// Other events have the bytes; this one does not.
        case elsewhere(fileID: Int64?, ServedName)
        /// No event has the bytes: the server stored the file without adding it to its event (trap T7).
        case noEvent(fileID: Int64, ServedName)
        /// The server has the bytes; whether the event has them could not be checked.
        case eventUnknown(fileID: Int64, GigHiveError)
        /// The server contradicts its response.
        case contradicted(GigHiveError)
    }

    let uploader: Uploader
    let event: InventoryEvent
    let control: TransferControl

    /// Verifies a 409 for bytes with this SHA-256. A listing older than the request does not show that the event lacks
    /// them.
    func refusal(_ response: UploadResponse, checksum: String?, since began: ContinuousClock.Instant) async -> Finding {
        guard let fileID = response.existingFileID else {
            return await listed(checksum, fileID: nil, ServedName(kind: nil), since: began)
        }
        if let sent = checksum, let stated = response.checksumSHA256, stated != sent {
            return .contradicted(otherBytes(sent, stated, fileID))
        }
        var served = ServedName(kind: nil)
        // An event link does not grant permission to query files.
        if uploader.options.guest == nil {
            do throws(GigHiveError) {
                guard let asset = try await uploader.client.asset(fileID) else {
                    let detail = "the server refused the file as a duplicate of \(fileID), which does not exist"
                    return .contradicted(GigHiveError(.unexpectedResponse, detail: detail).with(\.fileID, fileID))
                }
                if let sent = checksum, let stored = asset.checksumSHA256, stored != sent {
                    return .contradicted(otherBytes(sent, stored, fileID))
                }
                served = asset.servedName
            } catch {
                // The refusal itself contains ID and digest.
                guard response.checksumSHA256 == checksum, checksum != nil else {
                    return .eventUnknown(fileID: fileID, error)
                }
            }
        }
        // D3 refuses only files that the event itself has.
        guard response.dialect != .assets else { return .inEvent(fileID: fileID, served) }
        return await listed(checksum, fileID: fileID, served, since: began)
    }

    private func otherBytes(_ sent: String, _ stored: String, _ fileID: Int64) -> GigHiveError {
        let detail = "the server refused \(sent) as a duplicate of other bytes, \(stored)"
        return GigHiveError(.unexpectedResponse, detail: detail).with(\.fileID, fileID)
    }

    private func listed(
        _ checksum: String?,
        fileID: Int64?,
        _ served: ServedName,
        since began: ContinuousClock.Instant
    ) async -> Finding {
        let unlisted = GigHiveError(.unexpectedResponse, detail: "this user cannot read the server's listing")
        guard let checksum, uploader.options.guest == nil else {
            return unknown(fileID, unlisted)
        }
        do throws(GigHiveError) {
            switch try await uploader.inventory.find(checksum, in: event, since: began, control: control) {
            case .stored(let stored) where stored.isInEvent && !stored.isOnlyInEvent:
                let detail = "the server lists the file in several events because of its label"
                return unknown(stored.fileID, GigHiveError(.unexpectedResponse, detail: detail))
            case .stored(let stored) where stored.isInEvent:
                return .inEvent(fileID: stored.fileID, stored.served)
            case .stored(let stored):
                return .elsewhere(fileID: stored.fileID, stored.served)
            case .absent:
                guard let fileID else {
                    let detail = "the server refused the file as a duplicate, and does not list it"
                    return .contradicted(GigHiveError(.unexpectedResponse, detail: detail))
                }
                return .noEvent(fileID: fileID, served)
            case .unavailable:
                return unknown(fileID, await uploader.inventory.refusal ?? unlisted)
            }
        } catch {
            return unknown(fileID, error)
        }
    }

    private func unknown(_ fileID: Int64?, _ reason: GigHiveError) -> Finding {
        guard let fileID else { return .contradicted(reason) }
        return .eventUnknown(fileID: fileID, reason)
    }

    /// What a success without a delete token means, and the name under which the file is served.
    struct KnownContent: Sendable {
        var state: UploadState
        var served: ServedName?
    }

    /// The meaning of a success without a delete token: usually the server already had the bytes, and added them to the
    /// event (D3, `linked`) or assigned them a different number (D1, `duplicate`). Returns nil if the server does not
    /// show that; the token may be missing even for new bytes.
    func content(
        ofTokenless response: UploadResponse,
        checksum: String?,
        since began: ContinuousClock.Instant
    ) async -> KnownContent? {
        guard uploader.options.guest == nil, response.guest == nil, let fileID = response.fileID else { return nil }
        switch response.dialect {
        case nil: return nil
        case .assets?:
            guard let checksum,
                case .stored(let stored) = try? await uploader.inventory.find(
                    checksum,
                    in: event,
                    since: began,
                    control: control
                )
            else { return nil }
            guard stored.fileID == fileID, stored.isInSeveralEvents else { return nil }
            return KnownContent(state: .linked, served: stored.served)
        case .sessions?:
            guard let asset = try? await uploader.client.asset(fileID), let session = asset.sessionID else {
                return nil
            }
            var content = KnownContent(state: .duplicate, served: asset.servedName)
            guard session == response.eventID else {
                if !wasLinkedFromHere(fileID, checksum) { content.state = .linked }
                return content
            }
            // The file keeps its first number.
            return asset.sequence == response.stored?.position ? nil : content
        }
    }

    /// Whether an earlier upload from this machine added a file to the event; the response is the same in both cases.
    private func wasLinkedFromHere(_ fileID: Int64, _ checksum: String?) -> Bool {
        guard let checksum,
            let earlier = try? uploader.store.uploads(checksumSHA256: checksum, host: uploader.client.server.scope)
        else { return false }
        return earlier.contains { $0.fileID == fileID && $0.state.isStored && InventoryEvent($0.fields) == event }
    }
}
