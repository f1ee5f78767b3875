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
        onEvent(.limited(isWithoutToken: uploader.options.guest == nil, ignoredDetails: ignored))
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
