internal import MediaStore
internal import MediaTransport
internal import Tus

/// Uploads to a server that counts chunks, limits unfinished uploads, and stores the file with its last chunk.
extension TusUploadRun {
    /// Where the server stores the file with its last chunk, and limits unfinished uploads: waits until both may happen. An
    /// upload that waits has no slot, which another upload may need.
    mutating func enterServer() async -> Bool {
        guard features.offsetUnit == .chunks else { return true }
        guard !control.isStopRequested else { return false }
        uploader.turn?.end()
        // In this order everywhere, so that no upload keeps a place while another with the pass waits for one.
        place?.end()
        place = nil
        guard await pass.enter() else { return false }
        let place = await uploader.tusPlaces.take()
        self.place = place
        if let lock = await lockAmongProcesses() { place.keep(lock) }
        return await uploader.mayBegin(control)
    }

    /// Waits until fewer than four uploads of this machine are unfinished on the server.
    ///
    /// - Returns: nil when the upload was stopped, and where locks cannot be made: the server's own limit remains.
    private func lockAmongProcesses() async -> UploadLock? {
        let name = SourceLock.name(ofPlaceOn: settlement.record.host, isGuest: uploader.options.guest != nil)
        while !control.isStopRequested {
            for number in 0..<TusPlaces.limit {
                do throws(StoreError) {
                    let lock = try UploadLock.acquire("\(name)-\(number)", in: uploader.directory)
                    if let lock { return lock }
                } catch {
                    return nil
                }
            }
            _ = await control.waitForStop(upTo: .milliseconds(500))
        }
        return nil
    }

    /// Before anything is sent: what the user loses compared with multipart (gighive-d4 contract 3 and 4.6).
    mutating func tellLimits() {
        guard features.offsetUnit == .chunks else { return }
        let ignored = upload.details.fields.map(\.name).filter {
            ["participants", "keywords", "location", "rating", "notes"].contains($0)
        }
        if !ignored.isEmpty { settlement.result.warnings.append(.detailsIgnored(ignored)) }
        let largest = Uploader.fixedChunkSizes.upperBound
        onEvent(
            .limited(
                TusLimits(
                    isWithoutToken: uploader.options.guest == nil,
                    ignoredDetails: ignored,
                    reducedChunkBytes: uploader.options.chunks.chunkBytes > largest ? largest : nil,
                    isInOnePart: uploader.options.parallelParts > 1
                )
            )
        )
    }

    /// Looks for the content on the server before an upload is created: such a server accepts content that it has, and keeps
    /// the details of the first upload (gighive-d4 contract section 6).
    ///
    /// - Returns: The result if the event has the content.
    mutating func findContent() async throws(GigHiveError) -> UploadResult? {
        guard features.offsetUnit == .chunks, uploader.options.guest == nil, let digest = await contentDigest() else {
            return nil
        }
        if !uploader.options.again {
            let uploads = EarlierUploads(uploader: uploader, upload: upload, control: control, onEvent: onEvent)
            if let known = try await uploads.known(digest, isServed: true) { return known }
        }
        let event = InventoryEvent(upload.details)
        if case .stored(let stored) = try await uploader.inventory.find(digest, in: event, control: control) {
            storedBefore = stored
        }
        return nil
    }

    private func contentDigest() async -> String? {
        if let known = uploader.knownDigest(upload) { return known }
        guard let identity = upload.identity else { return nil }
        return await FileDigest.hex(path: upload.path, identity: identity)
    }

    /// An upload keeps the details that it was created with (gighive-d4 contract 4.6). With other details it begins again.
    func forgetOtherDetails(of row: UploadRecord, _ record: TusRecord) async throws(StoreError) -> TusRecord {
        guard features.offsetUnit == .chunks, !record.tusIDs.isEmpty,
            row.fields.storedOverTus != upload.details.fields.storedOverTus
        else { return record }
        let detail = "this server does not change the details of an upload that was started"
        onEvent(.restarting(because: GigHiveError(.notResumable, detail: detail, path: upload.path)))
        onEvent(.leavingUnfinished)
        let journal = TusJournal(record, store: uploader.store)
        try await journal.forget()
        return await journal.record
    }

    /// Forgets an upload that the server cannot complete, the first time.
    ///
    /// - Returns: false if another must not be begun.
    mutating func beginsAgain(_ journal: TusJournal) async -> Bool {
        place?.noteAbandoned()
        guard (try? await journal.forget()) != nil, !hasBegunAgain, !control.isStopRequested else { return false }
        hasBegunAgain = true
        return true
    }

    /// The upload, if a stop came too late: where the server stores the file with its last chunk, only its answer shows
    /// whether that has arrived.
    mutating func deliveredBeforeStop(_ journal: TusJournal) async -> String? {
        let record = await journal.record
        guard record.mayBeStored, let part = record.parts.first, let tusID = part.tusID, let proof = part.proofs.last,
            let status = try? await uploader.tus.status(of: tusID), status.offset == upload.sizeBytes
        else { return nil }
        do throws(StoreError) {
            try await journal.completed(as: tusID)
            try await settlement.noteSent(checksum: proof.digest)
            return tusID
        } catch {
            return nil
        }
    }
}

extension [UploadField] {
    /// Those that a server with tus in PHP stores.
    fileprivate var storedOverTus: [UploadField] {
        filter { ["event_date", "org_name", "event_type", "label"].contains($0.name) }
    }
}

extension GigHiveError {
    /// Whether the server may go on counting a dead upload as unfinished: only a response with a status shows that it has
    /// marked the upload as failed, or has it no longer (gighive-d4 contract 4.4 and 4.5).
    var mayBeUnfinished: Bool { httpStatus == nil }
}
