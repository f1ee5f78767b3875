internal import Foundation
internal import MediaFiles
internal import MediaStore
internal import MediaTransport

/// Brings one upload to its end, in the journal and in the result at once.
struct UploadSettlement {
    let store: TokenStore
    private(set) var record: UploadRecord
    var result: UploadResult
    /// Whether the intent row is in the journal.
    var isPlanned = false {
        didSet { result.uploadID = isPlanned ? record.uploadID : nil }
    }
    /// Whether the rescue file is the only place of what the server said about the token.
    var keepsReply = false
    /// A response with a token whose status does not confirm the upload.
    var unconfirmed: UploadReply?

    init(store: TokenStore, record: UploadRecord, result: UploadResult) {
        self.store = store
        self.record = record
        self.result = result
    }

    /// For a row of the journal.
    init(store: TokenStore, record: UploadRecord) {
        var result = UploadResult(
            path: record.path,
            fileName: record.path.fileName,
            server: record.baseURL,
            state: record.state
        )
        result.uploadID = record.uploadID
        result.sizeBytes = record.sizeBytes
        result.checksumSHA256 = record.checksumSHA256
        result.fileID = record.fileID
        result.attempts = record.attempts
        result.httpStatus = record.httpStatus
        result.details = UploadDetails(record.fields)
        result.transport = record.transport
        result.isResumed = true
        self.init(store: store, record: record, result: result)
        isPlanned = true
        self.result.guest = record.isGuest ? (try? store.guestReceipt(record.uploadID)) : nil
        let tokens = knownTokens(fileID: record.fileID, checksum: record.checksumSHA256)
        self.result.hasDeleteToken = record.fileID != nil && !tokens.isEmpty
        self.result.mediaURL = mediaURL(nil)
    }

    // MARK: Steps

    /// Takes over what a try has measured.
    mutating func note(_ attempt: UploadAttempt) {
        record.attempts += max(1, attempt.metrics.attempts)
        record.checksumSHA256 = attempt.checksum ?? record.checksumSHA256
        record.httpStatus = attempt.status
        result.attempts = record.attempts
        result.bytesSent = attempt.metrics.bodyBytesSent
        result.checksumSHA256 = record.checksumSHA256
        result.httpStatus = attempt.status
        // A refused login and a server that is down have processed nothing.
        if case .refused(let error, _) = attempt.verdict, error.endsRun || attempt.metrics.bodyBytesSent == 0 { return }
        result.hasSentContent = true
    }

    /// The upload goes on, or begins, in this run, with these details from now on.
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

    /// Every byte is on the server.
    mutating func noteSent(checksum: String) async throws(StoreError) {
        note(checksum: checksum)
        record.state = .sent
        result.state = .sent
        try await store.note(record.uploadID, UploadChange(state: .sent, checksumSHA256: checksum))
    }

    /// Records, before finalize is sent again, that the response to an earlier one was lost. The response to the second never
    /// has a token (trap T8); a process that adopts it must not take it for the first.
    mutating func noteLoss() async throws(StoreError) {
        guard !record.state.isFinal, record.state != .unknownOutcome else { return }
        record.state = .unknownOutcome
        try await store.note(
            record.uploadID,
            UploadChange(state: .unknownOutcome, updatedAt: record.updatedAt)
        )
    }

    /// Takes over the status of an answer.
    mutating func note(status: Int?) {
        record.httpStatus = status
        result.httpStatus = status
    }

    /// Takes over a digest found otherwise.
    mutating func note(checksum: String) {
        record.checksumSHA256 = checksum
        result.checksumSHA256 = checksum
    }

    /// The file is about to be sent once more.
    mutating func reopen() {
        result.error = nil
        result.state = .sending
        record.state = .sending
        write(UploadChange(state: .sending, attempts: record.attempts))
    }

    // MARK: Ends

    /// An end before anything was planned.
    mutating func refuse(_ error: GigHiveError) {
        result.state = error.code == .cancelled ? .cancelled : .failed
        result.error = error
    }

    /// An end of this run, not of the upload: its row stays as it is, and the upload can go on later.
    mutating func suspend(_ error: GigHiveError) {
        result.state = .cancelled
        result.error = error
    }

    /// The end that an earlier upload of the same file has had.
    mutating func adopt(_ earlier: UploadResult) {
        var end = earlier
        end.path = result.path
        end.fileName = result.fileName
        end.warnings = result.warnings + earlier.warnings
        result = end
    }

    /// An end without anything to store.
    mutating func end(_ state: UploadState, _ error: GigHiveError?) {
        result.state = state
        result.error = error
        // How long a server may still work counts from the loss of the answer, or from when a dead process was last heard
        // of. Asking does not start that time anew.
        if state != .unknownOutcome || (record.state != .unknownOutcome && !result.isResumed) {
            record.updatedAt = Date()
        }
        record.state = state
        write(
            UploadChange(
                state: state,
                checksumSHA256: record.checksumSHA256,
                fileID: result.fileID,
                attempts: record.attempts,
                httpStatus: record.httpStatus,
                // A code is for ends; an unknown outcome may still become any of them.
                failureCode: state.isFinal ? error?.code.rawValue : nil,
                updatedAt: record.updatedAt
            )
        )
    }

    /// The server has answered a repeated request with what it remembers of the first one, which never holds a token
    /// (trap T8).
    ///
    /// No token of this machine for the file means that it was in the answer that got lost, or that there was none because
    /// the server had the bytes under another event (gighive contract 4.4).
    mutating func endAsRemembered(_ reply: UploadReply) {
        describe(reply)
        if let problem = problem(reply, isSourceUnchanged: true) {
            end(.failed, problem)
            return
        }
        let tokens = knownTokens(fileID: reply.fileID, checksum: reply.checksumSHA256 ?? record.checksumSHA256)
        result.hasDeleteToken = !tokens.isEmpty
        guard tokens.isEmpty else {
            end(.done, nil)
            return
        }
        let detail = "the response with its token was lost, or the server already had the file in another event"
        end(.tokenLost, GigHiveError(.tokenLost, detail: detail, httpStatus: reply.status, fileID: reply.fileID))
    }

    /// The server has stored a guest's upload, and its only response with a receipt was lost.
    mutating func endWithoutReceipt() {
        result.error = nil
        result.warnings += [.notVerified, .guestReceiptLost]
        end(.done, nil)
    }

    /// The server has answered with success: stores the token, what a guest gets, and the end in one transaction.
    ///
    /// A file that changed under way, or arrived damaged, ends as `failed` with its token stored, so that the bad copy
    /// can be deleted. A token that cannot be stored leaves the upload `finalized`, its reply in the rescue file and the
    /// token in `result.unstoredToken`.
    ///
    /// `tokenless` is the state of a success without a token; nil if nothing else is known.
    mutating func commit(
        _ reply: UploadReply,
        isSourceUnchanged: Bool,
        tokenless: UploadState? = nil,
        rescuePath: String?
    ) async {
        // An earlier try may have ended this upload as unknown.
        result.error = nil
        describe(reply)
        let problem = problem(reply, isSourceUnchanged: isSourceUnchanged)
        let tokens =
            reply.deleteToken == nil
            ? knownTokens(fileID: reply.fileID, checksum: reply.checksumSHA256 ?? record.checksumSHA256) : []
        let entry = entry(reply)
        if let token = reply.deleteToken, entry == nil {
            leaveUnstored(token, "the response contains a token but no ID", nil, rescuePath)
            return
        }
        let unusable = reply.hasUnusableToken ? unusableToken(rescuePath) : nil
        let state = problem == nil ? storedState(reply, tokenless, isTokenKnown: !tokens.isEmpty) : .failed
        do {
            try await store.commit(
                record.uploadID,
                UploadChange(
                    state: state,
                    checksumSHA256: record.checksumSHA256 ?? reply.checksumSHA256,
                    fileID: reply.fileID,
                    attempts: record.attempts,
                    httpStatus: reply.status,
                    failureCode: (problem ?? unusable)?.code.rawValue
                ),
                token: entry,
                guest: reply.guest,
                stored: storedFile(reply)
            )
        } catch {
            if let token = reply.deleteToken {
                leaveUnstored(token, error.detail, error, rescuePath)
                return
            }
            result.error = .store(error)
        }
        result.state = state
        result.error = problem ?? result.error ?? unusable
        result.hasDeleteToken = entry != nil || !tokens.isEmpty
        result.isDeletableDuplicate = !tokens.isEmpty
        // A guest takes the file back with the receipt.
        // Damaged bytes have an error with the server's digest instead.
        if reply.deleteToken == nil && tokens.isEmpty && reply.guest == nil && problem?.code != .checksumMismatch {
            result.warnings.append(.noDeleteToken)
        }
        if reply.hasUnusableToken {
            keepsReply = true
            result.warnings.append(.unusableToken(rescuePath: rescuePath))
        }
    }

    private func storedState(_ reply: UploadReply, _ tokenless: UploadState?, isTokenKnown: Bool) -> UploadState {
        guard reply.isWithoutToken, reply.guest == nil else { return .done }
        return tokenless ?? (isTokenKnown ? .linked : .done)
    }

    private func unusableToken(_ rescuePath: String?) -> GigHiveError {
        GigHiveError(
            .tokenNotStored,
            detail: "the server sent an invalid token",
            httpStatus: result.httpStatus,
            fileID: result.fileID,
            rescuePath: rescuePath
        )
    }

    private mutating func describe(_ reply: UploadReply) {
        result.fileID = reply.fileID
        result.fileType = reply.fileType
        result.stored = reply.stored
        result.isTokenlessByDesign = reply.hasNoTokens
        result.guest = reply.guest ?? result.guest
        result.httpStatus = reply.status
        result.isVerified = reply.checksumSHA256 != nil && reply.checksumSHA256 == record.checksumSHA256
        result.mediaURL = mediaURL(ServedName(kind: reply.fileType, names: [reply.fileName]))
        if reply.checksumSHA256 == nil {
            result.warnings.append(.notVerified)
        }
        if reply.form == .html {
            result.warnings.append(.answeredInHTML)
        }
        if let token = reply.deleteToken, !token.isWellFormed {
            result.warnings.append(.oddToken)
        }
    }

    private func problem(_ reply: UploadReply, isSourceUnchanged: Bool) -> GigHiveError? {
        guard let sent = record.checksumSHA256 else {
            return result.isResumed
                ? nil
                : GigHiveError(
                    .unexpectedAnswer,
                    detail: "the server responded before the whole file was sent",
                    httpStatus: reply.status,
                    fileID: reply.fileID
                )
        }
        if let stored = reply.checksumSHA256, stored != sent {
            return GigHiveError(
                .checksumMismatch,
                detail: "sent \(sent), the server has \(stored)\(reply.fileID.map { " as \($0)" } ?? "")",
                httpStatus: reply.status,
                value: stored,
                fileID: reply.fileID,
                neededLogin: reply.deleteToken == nil && reply.guest == nil ? .admin : nil
            )
        }
        guard isSourceUnchanged else {
            return GigHiveError(
                .sourceChanged,
                detail: "the file was modified during the upload",
                httpStatus: reply.status,
                path: record.path,
                fileID: reply.fileID
            )
        }
        return nil
    }

    private mutating func leaveUnstored(
        _ token: DeleteToken,
        _ detail: String,
        _ error: StoreError?,
        _ rescuePath: String?
    ) {
        keepsReply = true
        result.unstoredToken = token
        result.state = .finalized
        result.error = GigHiveError(
            .tokenNotStored,
            detail: detail,
            httpStatus: result.httpStatus,
            fileID: result.fileID,
            rescuePath: rescuePath,
            store: error
        )
        // The rescue file is what counts; this row only tells `uploads status` the same. It keeps its time when it is
        // told so again.
        guard record.state != .finalized || record.fileID != result.fileID else { return }
        try? store.update(record.uploadID, UploadChange(state: .finalized, fileID: result.fileID))
    }

    private mutating func write(_ change: UploadChange) {
        do {
            try store.update(record.uploadID, change)
        } catch {
            result.error = result.error ?? .store(error)
        }
    }
}
