public import MediaStore
internal import MediaTransport

/// Adopts the responses left on disk by exited processes. Needs no server; commands that open the token store call it
/// first.
public enum RescueAdoption {
    /// Stores the tokens found and releases the responses. It can be killed at any point and run again.
    ///
    /// The response to an upload that a running process owns is left to that process, unless it is `uploadID`, which
    /// the caller owns. Waits for another process that is adopting responses at the same time.
    ///
    /// - Returns: The stored tokens, and the files that remain because their tokens cannot be assigned, for
    ///   notes to the user.
    /// - Throws: `GigHiveError` with code `.storeUnusable`; the responses are kept.
    public static func run(
        store: TokenStore,
        directory: DataDirectory,
        owning uploadID: String? = nil
    ) async throws(GigHiveError) -> [UploadWarning] {
        var warnings: [UploadWarning] = []
        do {
            let lock = try await AdoptionLock.acquire(in: directory)
            defer { lock.release() }
            for response in try StoredResponse.abandoned(in: directory) {
                guard response.isReadable else {
                    warnings.append(.tokenKept(rescuePath: response.path))
                    continue
                }
                let warning =
                    response.uploadID == uploadID
                    ? try await adopt(response, store) : try await adoptUnowned(response, store, directory)
                if let warning { warnings.append(warning) }
            }
        } catch {
            throw GigHiveError(error)
        }
        return warnings
    }

    private static func adoptUnowned(
        _ abandoned: StoredResponse,
        _ store: TokenStore,
        _ directory: DataDirectory
    ) async throws(StoreError) -> UploadWarning? {
        guard try store.upload(abandoned.uploadID) != nil else { return try await adopt(abandoned, store) }
        guard let lock = try UploadLock.acquire(abandoned.uploadID, in: directory) else { return nil }
        defer { lock.release() }
        return try await adopt(abandoned, store)
    }

    private static func adopt(
        _ abandoned: StoredResponse,
        _ store: TokenStore
    ) async throws(StoreError) -> UploadWarning? {
        let status = abandoned.status ?? 0
        var response = UploadResponse.parse(status: status, body: abandoned.body)
        guard abandoned.status != nil, let record = try store.upload(abandoned.uploadID) else {
            // Without the upload's row, the file of a token is unknown; `uploads adopt` accepts the token with an ID.
            return releaseUnlessNeeded(abandoned, response, isTokenStored: false)
        }
        // The row that makes a response unnecessary may be in SQLite's log and not on disk yet.
        try store.synchronize()
        guard !record.state.isFinal || record.state == .tokenLost else {
            // Already committed; only the response was left. A row with another result must not cause the only copy of
            // a token to be removed.
            let isStored =
                try response.deleteToken.map { token throws(StoreError) in
                    try store.hasToken(token, host: record.host, ofOtherThan: nil)
                } ?? false
            return releaseUnlessNeeded(abandoned, response, isTokenStored: isStored, checksum: record.checksumSHA256)
        }
        // An invalid response may lack an ID that a query has since found.
        response.fileID = response.fileID ?? record.fileID
        if let token = response.deleteToken, try store.hasToken(token, host: record.host, ofOtherThan: response.fileID)
        {
            // Part of the response to an earlier upload, left by a torn write. It counts as no response.
            abandoned.release()
            return nil
        }
        guard response.deleteToken != nil || !record.state.isFinal else {
            // The server has confirmed the loss; only a token changes that.
            return releaseUnlessNeeded(abandoned, response, isTokenStored: false, checksum: record.checksumSHA256)
        }
        var recorder = UploadOutcomeRecorder(store: store, record: record)
        if (200..<300).contains(status) == false, status != 409, response.deleteToken != nil {
            return try await adoptUnconfirmed(response, abandoned, &recorder)
        }
        switch record.transport {
        case .multipart: await recordResponse(response, abandoned, &recorder)
        case .tus: try await recordFinalize(response, abandoned, &recorder)
        }
        if let error = recorder.result.error?.store {
            throw error
        }
        guard !recorder.keepsResponse, !response.hasUnusableToken,
            !response.mayHoldUnreadToken(besides: record.checksumSHA256)
        else {
            return releaseUnlessNeeded(abandoned, response, isTokenStored: false, checksum: record.checksumSHA256)
        }
        abandoned.release()
        guard response.deleteToken != nil, let fileID = recorder.result.fileID else { return nil }
        return .rescued(uploadID: abandoned.uploadID, fileID: fileID)
    }

    /// A token in a response whose status contradicts it: it is stored for the ID in the response, or for the file that
    /// the server has since reported. A query determines the outcome of the upload.
    private static func adoptUnconfirmed(
        _ response: UploadResponse,
        _ abandoned: StoredResponse,
        _ recorder: inout UploadOutcomeRecorder
    ) async throws(StoreError) -> UploadWarning? {
        let record = recorder.record
        let isReported = record.state == .tokenLost
        guard let fileID = response.fileID, let entry = recorder.entry(response) else {
            recorder.end(.unknownOutcome, GigHiveError(.unknownOutcome, httpStatus: response.status))
            return .tokenKept(rescuePath: abandoned.path)
        }
        let change = UploadChange(
            state: isReported ? .done : .unknownOutcome,
            httpStatus: response.status,
            clearsFailure: isReported,
            updatedAt: record.updatedAt
        )
        try await recorder.store.commit(record.uploadID, change, token: entry)
        abandoned.release()
        return .rescued(uploadID: abandoned.uploadID, fileID: fileID)
    }

    private static func recordResponse(
        _ response: UploadResponse,
        _ abandoned: StoredResponse,
        _ recorder: inout UploadOutcomeRecorder
    ) async {
        // Whether the body was complete is unknown here; a refusal that depends on that is left to a query.
        switch UploadVerdict.of(response, head: HTTPResponseHead(status: response.status), bodyComplete: true) {
        case .stored(let response):
            await recorder.commit(response, isSourceUnchanged: true, rescuePath: abandoned.path)
        case .duplicate(let response):
            recorder.endAsUnconfirmedDuplicate(response)
        case .refused(let error, _):
            recorder.end(.failed, error)
        case .unknown(let error, _), .collided(let error):
            recorder.end(.unknownOutcome, error.asUnknownOutcome)
        }
    }

    /// The response to a finalize request. A response without a result only shows whether that request may still be in
    /// flight.
    private static func recordFinalize(
        _ response: UploadResponse,
        _ abandoned: StoredResponse,
        _ recorder: inout UploadOutcomeRecorder
    ) async throws(StoreError) {
        // After a lost response, the row has this state until its end.
        let isRepeat = recorder.record.state == .unknownOutcome
        switch FinalizeVerdict.of(response, head: HTTPResponseHead(status: response.status)) {
        case .stored(let response)
        where isRepeat && response.isWithoutToken && response.guest == nil && !response.hasNoTokens:
            recorder.endAsRemembered(response)
        case .stored(let response):
            await recorder.commit(response, isSourceUnchanged: true, rescuePath: abandoned.path)
        case .duplicate(let response):
            recorder.endAsUnconfirmedDuplicate(response)
        case .tooEarly, .pending, .dead, .unknownUpload, .refused, .unsupportedMedia:
            guard !isRepeat, let tus = try recorder.store.tusRecord(recorder.record.uploadID) else { return }
            try await TusJournal(tus, store: recorder.store).finalizeRefused()
        case .deleted(let error):
            recorder.end(.failed, error)
            try await TusJournal(TusRecord(uploadID: recorder.record.uploadID, parts: []), store: recorder.store)
                .forget()
        case .usedUp, .broken, .collided, .lost:
            break
        }
    }

    /// Releases a file that has nothing left to store; warns about any other.
    private static func releaseUnlessNeeded(
        _ abandoned: StoredResponse,
        _ response: UploadResponse,
        isTokenStored: Bool,
        checksum: String? = nil
    ) -> UploadWarning? {
        if response.deleteToken != nil && !isTokenStored {
            return .tokenKept(rescuePath: abandoned.path)
        }
        if response.hasUnusableToken {
            return .unusableToken(rescuePath: abandoned.path)
        }
        if abandoned.status != nil, response.mayHoldUnreadToken(besides: checksum) {
            return .responseKept(path: abandoned.path)
        }
        abandoned.release()
        return nil
    }
}
