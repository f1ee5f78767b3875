internal import Foundation
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// Finishes one upload, in the journal and in the result.
struct UploadOutcomeRecorder {
    let store: TokenStore
    @Boxed private(set) var record: UploadRecord
    var result: UploadResult
    /// Whether the intent row is in the journal.
    var isPlanned = false {
        didSet { result.uploadID = isPlanned ? record.uploadID : nil }
    }
    /// Whether the token is committed immediately, without waiting for the tokens of other uploads.
    var isUrgent = true
    /// Whether the rescue file is kept: the response has, or may have, a token that is not in the store.
    var keepsResponse = false
    /// A response with a token whose status does not confirm the upload.
    @BoxedOptional var unconfirmed: UploadResponse?
    var now: @Sendable () -> Date = { Date() }
}

extension UploadOutcomeRecorder {
    /// For an upload that is not in the journal yet.
    init(planning upload: PreparedUpload, over transport: UploadTransport, _ uploader: Uploader) {
        var result = UploadResult(of: upload, server: uploader.client.server.description)
        result.transport = transport
        result.warnings = upload.warnings(over: transport)
        var record = uploader.record(of: upload)
        record.transport = transport
        if transport == .tus { record.state = .planned }
        record.isGuest = uploader.isGuest
        result.isGuest = uploader.isGuest
        self.init(store: uploader.store, record: record, result: result, now: uploader.now)
        isUrgent = !uploader.groupsCommits
    }

    /// For a row in the journal.
    init(store: TokenStore, record: UploadRecord) {
        var result = UploadResult(of: record)
        result.state = record.state
        result.checksumSHA256 = record.checksumSHA256
        result.fileID = record.fileID
        result.attempts = record.attempts
        result.httpStatus = record.httpStatus
        result.details = UploadDetails(record.fields)
        result.isResumed = true
        self.init(store: store, record: record, result: result)
        isPlanned = true
        self.result.guest = record.isGuest ? (try? store.guestReceipt(record.uploadID)) : nil
        let tokens = knownTokens(fileID: record.fileID, checksum: record.checksumSHA256)
        self.result.hasDeleteToken = record.fileID != nil && !tokens.isEmpty
        self.result.mediaURL = mediaURL(nil)
    }

    // MARK: Steps

    /// Writes the intent.
    mutating func plan(isUrgent: Bool) async throws(GigHiveError) {
        try await GigHiveError.storing(await store.plan(record, isUrgent: isUrgent))
        isPlanned = true
    }

    /// Writes the intent once more, with the current time: from now on, the server may be working on the upload.
    mutating func renewIntent() async throws(GigHiveError) {
        record.updatedAt = now()
        let change = UploadChange(state: record.state, updatedAt: record.updatedAt)
        try await GigHiveError.storing(await store.note(record.uploadID, change))
    }

    /// Removes the intent, because nothing is sent. An intent that cannot be removed is resolved like the intent of a
    /// killed process.
    mutating func withdrawIntent() async {
        guard isPlanned else { return }
        try? await store.withdraw(record.uploadID)
        isPlanned = false
    }

    /// Records the measurements of an attempt.
    mutating func note(_ attempt: UploadAttempt) {
        let metrics = attempt.response.metrics
        record.attempts += max(1, metrics.attempts)
        record.checksumSHA256 = attempt.checksum ?? record.checksumSHA256
        result.attempts = record.attempts
        result.bytesSent = metrics.bodyBytesSent
        result.checksumSHA256 = record.checksumSHA256
        note(status: attempt.response.response?.status)
        // A server that refused the login or is down has processed nothing.
        if case .refused(let error, _) = attempt.verdict, error.endsRun || metrics.bodyBytesSent == 0 { return }
        result.hasSentContent = true
    }

    /// The upload is started or resumed in this run, with these details from now on.
    mutating func begin(_ details: UploadDetails) async throws(StoreError) {
        record.attempts += 1
        record.fields = details.fields
        record.state = .sending
        record.failureCode = nil
        result.details = details
        result.attempts = record.attempts
        result.state = .sending
        try await store.note(
            record.uploadID,
            UploadChange(state: .sending, attempts: record.attempts, clearsFailure: true, fields: record.fields)
        )
    }

    mutating func noteSent(checksum: String) async throws(StoreError) {
        note(checksum: checksum)
        record.state = .sent
        result.state = .sent
        try await store.note(record.uploadID, UploadChange(state: .sent, checksumSHA256: checksum))
    }

    /// All bytes were sent from this file. A file that replaced the one in the row is recorded only at this point,
    /// because bytes on the server might previously have come from the earlier file.
    mutating func noteReplaced(by identity: FileIdentity) throws(StoreError) {
        guard record.identity != identity else { return }
        record.identity = identity
        try store.note(identity, of: record.uploadID)
    }

    /// Records, before a finalize request is repeated, that the response to an earlier one was lost. The response to
    /// the second request never has a token (trap T8); a process that adopts it must not mistake it for the first
    /// response.
    mutating func noteLoss() async throws(StoreError) {
        guard !record.state.isFinal, record.state != .unknownOutcome else { return }
        record.state = .unknownOutcome
        try await store.note(record.uploadID, UploadChange(state: .unknownOutcome, updatedAt: record.updatedAt))
    }

    mutating func note(status: Int?) {
        record.httpStatus = status
        result.httpStatus = status
    }

    mutating func note(checksum: String) {
        record.checksumSHA256 = checksum
        result.checksumSHA256 = checksum
    }

    /// The file is about to be sent again.
    mutating func reopen() {
        result.error = nil
        result.state = .sending
        record.state = .sending
        write(UploadChange(state: .sending, attempts: record.attempts))
    }

    // MARK: Results

    /// Ends this run, not the upload: nothing was planned, or its row is unchanged and the upload can be resumed.
    mutating func endRun(_ error: GigHiveError) {
        result.state = error.code == .cancelled ? .cancelled : .failed
        result.error = error
    }

    /// Takes over the result of an earlier upload of the same file.
    mutating func adopt(_ earlier: UploadResult) {
        var end = earlier
        end.path = result.path
        end.fileName = result.fileName
        end.warnings = result.warnings + earlier.warnings
        result = end
    }

    /// Sets a result for which only the row is stored.
    mutating func end(_ state: UploadState, _ error: GigHiveError?) {
        result.state = state
        result.error = error
        // The time during which a server may still be working counts from the loss of the response, or from the last
        // record of an exited process. A query does not restart it.
        if state != .unknownOutcome || (record.state != .unknownOutcome && !result.isResumed) {
            record.updatedAt = now()
        }
        record.state = state
        write(
            UploadChange(
                state: state,
                checksumSHA256: record.checksumSHA256,
                fileID: result.fileID,
                attempts: record.attempts,
                httpStatus: record.httpStatus,
                // Only final states have a code; an unknown outcome may still become any of them.
                failureCode: state.isFinal ? error?.code.rawValue : nil,
                updatedAt: record.updatedAt
            )
        )
    }

    /// The server has responded to a repeated request with its record of the first one, which never has
    /// a token (trap T8).
    ///
    /// If this machine has no token for the file, it was in the lost response, or there was none because the server had
    /// the bytes in another event (gighive contract 4.4).
    mutating func endAsRemembered(_ response: UploadResponse) {
        describe(response)
        if let problem = problem(response, isSourceUnchanged: true) {
            end(.failed, problem)
            return
        }
        let tokens = knownTokens(fileID: response.fileID, checksum: response.checksumSHA256 ?? record.checksumSHA256)
        result.hasDeleteToken = !tokens.isEmpty
        guard tokens.isEmpty else {
            end(.done, nil)
            return
        }
        let detail = "the response with its token was lost, or the server already had the file in another event"
        end(
            .tokenLost,
            GigHiveError(.tokenLost, detail: detail, httpStatus: response.status).with(\.fileID, response.fileID)
        )
    }

    /// The server has stored a guest's upload, and the only response with the receipt was lost.
    mutating func endWithoutReceipt() {
        result.error = nil
        result.warnings += [.notVerified, .guestReceiptLost]
        end(.done, nil)
    }

    /// The server has responded with success: stores the token, a guest's receipt, and the result in one transaction.
    ///
    /// A file that changed during the upload, or arrived damaged, becomes `failed`, and its token is stored, so the bad
    /// copy can be deleted. A token that cannot be stored leaves the upload `finalized`, its response in the rescue
    /// file and the token in `result.unstoredToken`.
    ///
    /// `tokenless` is the meaning of a success without a token; nil if it is unknown.
    mutating func commit(
        _ response: UploadResponse,
        isSourceUnchanged: Bool,
        tokenless: DuplicateCheck.KnownContent? = nil,
        rescuePath: String?
    ) async {
        // An earlier attempt may have an unknown outcome.
        result.error = nil
        describe(response)
        // The response contains the name of the file that was sent; the server keeps the earlier name.
        if let served = tokenless?.served { result.mediaURL = mediaURL(served) }
        let problem = problem(response, isSourceUnchanged: isSourceUnchanged)
        let tokens =
            response.deleteToken == nil
            ? knownTokens(fileID: response.fileID, checksum: response.checksumSHA256 ?? record.checksumSHA256) : []
        let entry = entry(response)
        if let token = response.deleteToken, entry == nil {
            leaveUnstored(token, "the response contains a token but no ID", nil, rescuePath)
            return
        }
        let unusable = response.hasUnusableToken ? unusableToken(rescuePath) : nil
        let state = problem == nil ? storedState(response, tokenless?.state, isTokenKnown: !tokens.isEmpty) : .failed
        do {
            try await store.commit(
                record.uploadID,
                UploadChange(
                    state: state,
                    checksumSHA256: record.checksumSHA256 ?? response.checksumSHA256,
                    fileID: response.fileID,
                    attempts: record.attempts,
                    httpStatus: response.status,
                    failureCode: (problem ?? unusable)?.code.rawValue
                ),
                token: entry,
                guest: response.guest,
                stored: storedFile(response),
                isUrgent: isUrgent
            )
        } catch {
            if let token = response.deleteToken {
                leaveUnstored(token, error.detail, error, rescuePath)
                return
            }
            result.error = GigHiveError(error)
        }
        result.state = state
        result.error = problem ?? result.error ?? unusable
        result.hasDeleteToken = entry != nil || !tokens.isEmpty
        result.isDeletableDuplicate = !tokens.isEmpty
        // A guest hides the file with the receipt. Damaged bytes have an error with the server's digest instead.
        if response.deleteToken == nil && tokens.isEmpty && response.guest == nil && problem?.code != .checksumMismatch
        {
            result.warnings.append(.noDeleteToken)
        }
        if response.hasUnusableToken {
            keepsResponse = true
            result.warnings.append(.unusableToken(rescuePath: rescuePath))
        }
    }

    private func storedState(_ response: UploadResponse, _ tokenless: UploadState?, isTokenKnown: Bool) -> UploadState {
        guard response.isWithoutToken, response.guest == nil else { return .done }
        return tokenless ?? (isTokenKnown ? .linked : .done)
    }

    private func unusableToken(_ rescuePath: String?) -> GigHiveError {
        GigHiveError(
            .tokenNotStored,
            detail: "the server sent an invalid token",
            httpStatus: result.httpStatus
        ).with(\.fileID, result.fileID).with(\.rescuePath, rescuePath)
    }

    private mutating func describe(_ response: UploadResponse) {
        result.fileID = response.fileID
        result.fileType = response.fileType
        result.stored = response.stored
        result.isTokenlessByDesign = response.hasNoTokens
        result.guest = response.guest ?? result.guest
        result.httpStatus = response.status
        result.isVerified = response.checksumSHA256 != nil && response.checksumSHA256 == record.checksumSHA256
        result.mediaURL = mediaURL(ServedName(kind: response.fileType, names: [response.fileName]))
        if response.checksumSHA256 == nil {
            result.warnings.append(.notVerified)
        }
        if response.form == .html {
            result.warnings.append(.respondedInHTML)
        }
        if let token = response.deleteToken, !token.isWellFormed {
            result.warnings.append(.oddToken)
        }
    }

    private func problem(_ response: UploadResponse, isSourceUnchanged: Bool) -> GigHiveError? {
        guard let sent = record.checksumSHA256 else {
            return result.isResumed
                ? nil
                : GigHiveError(
                    .unexpectedResponse,
                    detail: "the server responded before the whole file was sent",
                    httpStatus: response.status
                ).with(\.fileID, response.fileID)
        }
        if let stored = response.checksumSHA256, stored != sent {
            return GigHiveError(
                .checksumMismatch,
                detail: "sent \(sent), the server has \(stored)\(response.fileID.map { " as \($0)" } ?? "")",
                httpStatus: response.status,
                value: stored
            ).with(\.fileID, response.fileID)
                .with(\.neededLogin, response.deleteToken == nil && response.guest == nil ? .admin : nil)
        }
        guard isSourceUnchanged else {
            return GigHiveError(
                .sourceChanged,
                detail: "the file was modified during the upload",
                httpStatus: response.status,
                path: record.path
            ).with(\.fileID, response.fileID).with(\.neededLogin, response.deleteToken == nil ? .admin : nil)
        }
        return nil
    }

    private mutating func leaveUnstored(
        _ token: DeleteToken,
        _ detail: String,
        _ error: StoreError?,
        _ rescuePath: String?
    ) {
        keepsResponse = true
        result.unstoredToken = token
        result.state = .finalized
        result.error = GigHiveError(
            .tokenNotStored,
            detail: detail,
            httpStatus: result.httpStatus,
            underlying: error
        ).with(\.fileID, result.fileID).with(\.rescuePath, rescuePath)
        // Only the rescue file matters; the row is updated for `uploads status`. A repeated call does not change the
        // row's time.
        guard record.state != .finalized || record.fileID != result.fileID else { return }
        try? store.update(record.uploadID, UploadChange(state: .finalized, fileID: result.fileID))
    }

    private mutating func write(_ change: UploadChange) {
        do {
            try store.update(record.uploadID, change)
        } catch {
            result.error = result.error ?? GigHiveError(error)
        }
    }
}

/// Results of uploads whose bytes the server has, without a response that contains their token.
extension UploadOutcomeRecorder {
    /// Records a refused duplicate, according to the server's confirmation. `mayBeOwn` is whether an earlier attempt may
    /// have stored it.
    mutating func end(_ finding: DuplicateCheck.Finding, of response: UploadResponse, mayBeOwn: Bool = false) {
        switch finding {
        case .inEvent(let fileID, let served):
            result.fileType = served.kind ?? result.fileType
            endAsDuplicate(of: fileID, served: served)
            if mayBeOwn || !response.identifiesExistingFile(record.checksumSHA256) { warnOfPossibleLoss() }
        case .elsewhere(let fileID, let served):
            result.fileType = served.kind ?? result.fileType
            endAsRefusedDuplicate(of: fileID)
        case .noEvent(let fileID, let served):
            result.fileType = served.kind ?? result.fileType
            endAsRefusedDuplicate(of: fileID, isInNoEvent: true)
            if mayBeOwn { warnOfPossibleLoss() }
        case .eventUnknown(let fileID, let reason):
            let cause = reason.detail.isEmpty ? "" : ": \(reason.detail)"
            let detail = "the server already has the file as \(fileID), but its event could not be checked\(cause)"
            result.fileID = fileID
            let error = GigHiveError(.unknownOutcome, detail: detail, httpStatus: record.httpStatus)
                .with(\.fileID, fileID).with(\.field, "event")
            end(.unknownOutcome, error)
        case .contradicted(let error):
            var error = error
            error.httpStatus = record.httpStatus
            end(.failed, error)
            warnOfPossibleLoss()
        }
    }

    /// A proxy may replace the response to a stored upload with a 409; the only copy of the token is then lost.
    private mutating func warnOfPossibleLoss() {
        guard !result.warnings.contains(.tokenLostEarlier),
            knownTokens(fileID: result.fileID, checksum: record.checksumSHA256).isEmpty
        else { return }
        result.warnings.append(.tokenMayBeLost)
    }

    private mutating func endAsRefusedDuplicate(of fileID: Int64?, isInNoEvent: Bool = false) {
        result.fileID = fileID
        result.hasDeleteToken = !knownTokens(fileID: fileID, checksum: record.checksumSHA256).isEmpty
        var error = GigHiveError(.refusedDuplicate, httpStatus: record.httpStatus).with(\.fileID, fileID)
        if isInNoEvent {
            error.detail = "the server lists it in no event"
            error.field = "event"
        }
        end(.refusedDuplicate, error)
    }

    /// Records a refusal that an earlier process received and did not confirm. Only a refusal by D3 shows that the
    /// event itself has the bytes; after any other, the server is queried later.
    mutating func endAsUnconfirmedDuplicate(_ response: UploadResponse) {
        guard response.dialect == .assets, let checksum = response.checksumSHA256, checksum == record.checksumSHA256
        else {
            let detail = "the server refused the file as a duplicate; whether the event has it was not checked"
            end(.unknownOutcome, GigHiveError(.unknownOutcome, detail: detail, httpStatus: response.status))
            return
        }
        endAsDuplicate(of: response.existingFileID)
    }

    /// The event has the bytes, as the server confirmed. `fileID` and `served` are the server's copy, if known.
    mutating func endAsDuplicate(of fileID: Int64?, served: ServedName? = nil) {
        let tokens = knownTokens(fileID: fileID, checksum: record.checksumSHA256)
        result.fileID = fileID ?? tokens.first?.fileID
        result.hasDeleteToken = !tokens.isEmpty
        result.isDeletableDuplicate = !tokens.isEmpty
        result.mediaURL = mediaURL(served ?? ServedName(kind: result.fileType))
        takeEarlierReceipt()
        warnOfLostToken()
        end(.duplicate, nil)
    }

    /// Takes over the receipt and the state of a guest's earlier upload of the same file.
    private mutating func takeEarlierReceipt() {
        guard record.isGuest, let fileID = result.fileID,
            let rows = try? store.guestUploads(host: record.host, fileID: fileID)
        else { return }
        for row in rows where row.checksumSHA256 == record.checksumSHA256 {
            guard let receipt = try? store.guestReceipt(row.uploadID) else { continue }
            result.guest = receipt
            result.guestState = (try? store.guestStandings())?[row.uploadID].flatMap { GuestState(rawValue: $0.state) }
            return
        }
    }

    /// After a lost race, the server has the bytes. The transaction of this upload failed, so a copy in the event is
    /// from another upload, which has its token.
    mutating func endAfterCollision(_ copy: OutcomeInquiry.Copy, _ error: GigHiveError) {
        guard copy.placement == .event else {
            endAsPresent(copy, cause: error)
            return
        }
        result.fileType = copy.served.kind
        endAsDuplicate(of: copy.fileID, served: copy.served)
    }

    /// While the bytes were being sent, the server turned out to have them.
    mutating func endAsKnown(_ known: UploadResult) {
        if let checksum = known.checksumSHA256 {
            note(checksum: checksum)
        }
        result.fileType = known.fileType
        result.isSkipped = true
        endAsDuplicate(of: known.fileID)
        result.mediaURL = known.mediaURL ?? result.mediaURL
    }

    /// Reports an upload from this machine that left these bytes on the server without a token.
    private mutating func warnOfLostToken() {
        guard !result.hasDeleteToken, let checksum = record.checksumSHA256,
            let uploads = try? store.uploads(checksumSHA256: checksum, host: record.host),
            uploads.contains(where: {
                $0.state == .tokenLost
                    && ($0.fileID == nil || result.fileID == nil || $0.fileID == result.fileID)
            })
        else { return }
        result.warnings.append(.tokenLostEarlier)
    }

    /// The server has the file; its response, with the token, was lost.
    mutating func endAsPresent(_ copy: OutcomeInquiry.Copy, cause: GigHiveError?) {
        let tokens = knownTokens(fileID: copy.fileID, checksum: record.checksumSHA256)
        result.fileID = copy.fileID ?? tokens.first?.fileID
        result.fileType = copy.served.kind
        // The name of a stored file is its digest.
        result.isVerified = true
        result.hasDeleteToken = !tokens.isEmpty
        result.mediaURL = mediaURL(copy.served)
        if tokens.isEmpty {
            let noEvent = copy.placement == .noEvent ? "the server stored the file without adding it to its event" : ""
            end(
                .tokenLost,
                GigHiveError(
                    .tokenLost,
                    detail: [cause?.detail ?? "", noEvent].filter { !$0.isEmpty }.joined(separator: "; "),
                    httpStatus: cause?.httpStatus,
                    underlying: cause?.transport
                ).with(\.fileID, result.fileID)
            )
        } else {
            end(.done, nil)
        }
    }
}

/// Responses that do not confirm an upload, but may contain its token.
extension UploadOutcomeRecorder {
    /// Adopts a response. If it does not confirm the upload, its token is stored when a query confirms the file, or
    /// else by `finish`.
    mutating func note(response: UploadResponse?, isConfirmation: Bool) {
        keepsResponse = false
        unconfirmed = isConfirmation || response?.deleteToken == nil ? nil : response
    }

    /// Stores the token of an unconfirmed response for the file that the server reports, unless the response concerns a
    /// different file.
    mutating func storeToken(confirmedBy fileID: Int64?) async {
        guard var response = unconfirmed, let fileID, response.fileID ?? fileID == fileID else { return }
        response.fileID = fileID
        await storeToken(of: response)
    }

    /// Decides at the end of an attempt whether the rescue file of a response is kept: as long as it has, or may have,
    /// a token that is not in the store.
    mutating func finish(response: UploadResponse?, rescuePath: String) async {
        if let response = unconfirmed {
            // If the server reported no ID, the response's own ID is used; it was not contradicted.
            if result.fileID == nil || result.fileID == response.fileID { await storeToken(of: response) }
            guard unconfirmed != nil else { return }
            unconfirmed = nil
            keepsResponse = true
            result.warnings.append(.tokenKept(rescuePath: rescuePath))
        } else if !keepsResponse, let response, response.hasUnusableToken {
            keepsResponse = true
            result.warnings.append(.unusableToken(rescuePath: rescuePath))
        } else if !keepsResponse, let response, response.mayHoldUnreadToken(besides: record.checksumSHA256) {
            keepsResponse = true
            result.warnings.append(.responseKept(path: rescuePath))
        }
    }

    private mutating func storeToken(of response: UploadResponse) async {
        guard let entry = entry(response) else { return }
        do throws(StoreError) {
            try await store.commit(record.uploadID, UploadChange(), token: entry)
            unconfirmed = nil
            result.hasDeleteToken = true
        } catch {
            result.error = result.error ?? GigHiveError(error)
        }
    }
}
