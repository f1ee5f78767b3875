internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

extension PushRun {
    /// Looks up in the own listing what was sent, and what the server has from somebody.
    ///
    /// - Parameters:
    ///   - existing: Photos whose bytes the server has; they are the user's own when the listing shows them, else another
    ///     user's or nobody's (trap 11).
    ///   - block: Where they are open.
    /// - Throws: What kept the listing from being read; everything stays open then.
    func confirm(_ existing: [PhotoToSend], _ block: inout PushBlock) async throws {
        guard !unconfirmed.isEmpty || !existing.isEmpty else { return }
        try await pull()
        try await confirmSent()
        let listed = try await own.uploaded(existing.map(\.digest.sha256))
        var present: [(PhotoToSend, PhotoRecord)] = []
        for photo in existing {
            if let record = listed[photo.digest.sha256] {
                present.append((photo, record))
            } else {
                end(photo, .foreign)
                block.close(photo)
            }
        }
        try await endPresent(present, &block)
    }

    /// Ends what was sent and is in the listing. A photo that is not there yet stays: rows may appear late (contract
    /// section 5).
    private func confirmSent() async throws {
        let records = try await own.withIDs(unconfirmed.map(\.receipt.id))
        var ended: [PushItem] = []
        var confirmed: [(PhotoToSend, PhotoRecord)] = []
        var late: [SentPhoto] = []
        for sent in unconfirmed {
            if let record = records[sent.receipt.id] {
                ended.append(confirmedItem(of: sent, record))
                if record.sha256 == sent.photo.digest.sha256 { confirmed.append((sent.photo, record)) }
            } else if sent.receipt.isDuplicate {
                ended.append(sent.item(.foreign, photoID: nil))
            } else {
                late.append(sent)
            }
        }
        SyncKillPoint.pushBeforeRecord.reach()
        try await keepCopies(confirmed)
        SyncKillPoint.pushAfterRecord.reach()
        unconfirmed = late
        for item in ended { end(item) }
    }

    private func confirmedItem(of sent: SentPhoto, _ record: PhotoRecord) -> PushItem {
        guard record.sha256 == sent.photo.digest.sha256 else {
            let error = PhotoSyncError(
                .checksumMismatch,
                detail: "the server has other bytes than were sent",
                path: sent.photo.candidate.path,
                photoID: record.id
            )
            return sent.item(.failed, photoID: record.id, error: error)
        }
        // A repeated upload is a duplicate of the try whose answer was lost.
        let wasThere = sent.receipt.isDuplicate && !sent.wasAmbiguous
        return sent.item(wasThere ? .present : .uploaded, photoID: record.id)
    }

    /// Ends photos that are the user's own already.
    func endPresent(_ photos: [(PhotoToSend, PhotoRecord)], _ block: inout PushBlock) async throws {
        try await keepCopies(photos)
        for (photo, record) in photos {
            end(photo, .present, photoID: record.id)
            block.close(photo)
        }
    }

    /// Records which local file is which photo, where it is not recorded yet.
    private func keepCopies(_ photos: [(PhotoToSend, PhotoRecord)]) async throws {
        guard !photos.isEmpty, !options.isDryRun else { return }
        let copies = photos.map { photo, record in
            PhotoCopy(
                server: account.server,
                photoID: record.id,
                path: photo.candidate.absolutePath,
                state: .present,
                source: .pushed,
                sha256: photo.digest.sha256,
                serverSHA256: record.sha256,
                identity: photo.digest.identity
            )
        }
        try await own.record(copies)
    }
}
