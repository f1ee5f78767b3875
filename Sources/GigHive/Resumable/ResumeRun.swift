internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport
internal import Tus

/// One call to `Uploader.resume`.
struct ResumeRun: Sendable {
    let uploader: Uploader
    let record: UploadRecord
    let details: UploadDetails?
    let control: TransferControl
    let onEvent: @Sendable (UploadEvent) -> Void

    func perform() async -> UploadResult {
        do {
            return try await resume()
        } catch {
            // The upload is unchanged; only this call has failed.
            var result = UploadOutcomeRecorder(store: uploader.store, record: record).result
            result.isResumed = false
            result.error = error
            return result
        }
    }

    private func resume() async throws(GigHiveError) -> UploadResult {
        try Uploader.checkResumable(record, in: uploader.store)
        try checkAccess()
        try checkDetails()
        var resolved: UploadResult?
        if try isUnfinished() {
            let end = await uploader.resolve(record, details: details, control: control, onEvent: onEvent)
            guard end.error?.code != .notResumable, try uploader.canResume(record, after: end) else { return end }
            resolved = end
            // There is nothing on the server that could be resumed.
            if record.transport == .tus, let error = end.error, try tusRecord()?.tusIDs.isEmpty ?? true {
                onEvent(.restarting(because: error))
                if error.mayBeUnfinished { onEvent(.leavingUnfinished) }
            }
        }
        let upload = try await prepared()
        if record.transport == .multipart {
            var result = await uploader.send(upload, control: control, onEvent: onEvent)
            result.warnings = (resolved?.warnings ?? []) + result.warnings
            return result
        }
        guard let features = try await uploader.tusFeatures(control, onEvent) else {
            throw GigHiveError(.tusUnavailable, detail: "the server cannot resume uploads", path: record.path)
        }
        if features.countsChunks { try uploader.checkCreation(of: upload) }
        return await uploader.sendOverTus(upload, features, continuing: record, control, onEvent)
    }

    /// Whether the server may already have stored the file.
    private func isUnfinished() throws(GigHiveError) -> Bool {
        switch record.transport {
        case .multipart: !record.state.isFinal
        case .tus: record.state == .finalized ? true : try uploader.mayBeFinalizing(record)
        }
    }

    /// Details cannot be corrected after the last chunk if the server stores the file with it (gighive-d4 contract 5).
    private func checkDetails() throws(GigHiveError) {
        guard let details, details != UploadDetails(record.fields) else { return }
        guard try tusRecord()?.mayBeStored == true else { return }
        let detail = "the server may have stored the file with its earlier details"
        throw GigHiveError(.notResumable, detail: detail, path: record.path)
    }

    private func tusRecord() throws(GigHiveError) -> TusRecord? {
        try GigHiveError.stored(uploader.store.tusRecord(record.uploadID))
    }

    private func checkAccess() throws(GigHiveError) {
        guard record.host == uploader.client.server.scope else {
            throw GigHiveError(.notResumable, detail: "it belongs to \(record.host)", path: record.path)
        }
        guard record.isGuest == (uploader.options.guest != nil) else {
            guard record.isGuest else {
                let detail = "it was started with a login, not a link"
                throw GigHiveError(.notResumable, detail: detail, path: record.path)
            }
            throw GigHiveError(.notResumable, path: record.path, value: record.uploadID).with(\.field, "event_link")
        }
        // The server would add the file to the link's event (gighive contract section 6).
        if let event = uploader.options.guest?.event,
            InventoryEvent(date: event.eventDate, orgName: event.orgName) != InventoryEvent(record.fields)
        {
            let own = "\(record.fields["org_name"] ?? ""), \(record.fields["event_date"] ?? "")"
            let detail = "it is for the event of \(own); the link is for that of \(event.orgName), \(event.eventDate)"
            throw GigHiveError(.notResumable, detail: detail, path: record.path)
        }
    }

    /// The file, if it is unchanged since the upload started, or still has the bytes that were sent.
    private func prepared() async throws(GigHiveError) -> PreparedUpload {
        guard let details = details ?? UploadDetails(record.fields) else {
            throw GigHiveError(.notResumable, detail: "the journal does not have its details", path: record.path)
        }
        guard let identity = record.identity else {
            return try uploader.asGuest(try uploader.prepare(record.path, spool: try keptInput(), details: details))
        }
        let upload: PreparedUpload
        do {
            upload = try uploader.prepare(record.path, details: details)
        } catch  where error.code == .fileNotFound {
            throw Self.missing(record)
        }
        // Over tus, the bytes that were sent are compared.
        var isSame =
            upload.identity == identity
            || record.transport == .multipart && upload.identity?.isProbablyUnchanged(since: identity) == true
        if !isSame { isSame = try await uploader.hasSentBytes(of: record, upload, control, onEvent) }
        guard isSame else { throw Self.changed(record) }
        return try uploader.asGuest(upload)
    }

    static func missing(_ record: UploadRecord) -> GigHiveError {
        guard !record.isDirectoryUnknown else {
            let detail = "not found in the current directory"
            return GigHiveError(.notResumable, detail: detail, path: record.path).with(\.field, "directory")
        }
        return GigHiveError(.notResumable, detail: "the file is missing", path: record.path, value: record.uploadID)
    }

    static func changed(_ record: UploadRecord) -> GigHiveError {
        let detail = "the file was modified since the upload started"
        return GigHiveError(.sourceChanged, detail: detail, path: record.path, value: record.uploadID)
    }

    private func keptInput() throws(GigHiveError) -> SpoolFile {
        let spool = try GigHiveError.stored(SpoolFile.kept(for: record.uploadID, in: uploader.directory))
        guard let spool, spool.byteCount == record.sizeBytes else {
            let detail = "the copy of standard input no longer exists"
            throw GigHiveError(.notResumable, detail: detail, path: record.path, value: record.uploadID)
        }
        return spool
    }
}
