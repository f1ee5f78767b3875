public import MediaStore
internal import MediaTransport

/// Adopts the replies that dead processes left in rescue files. Needs no server; every command calls it at its start.
public enum RescueAdoption {
    /// Stores the tokens found and releases the files. May be killed anywhere and run again.
    ///
    /// A file without a reply is released and leaves its row as it is: `Uploader.resolve` settles that.
    ///
    /// - Returns: What was stored, and which files stay because their tokens cannot be placed, for notes to the user.
    /// - Throws: `GigHiveError` with code `.storeUnusable`; the rescue files stay.
    public static func run(store: TokenStore, directory: DataDirectory) async throws(GigHiveError) -> [UploadWarning] {
        var warnings: [UploadWarning] = []
        do {
            for reply in try RescueFile.abandoned(in: directory) {
                if let warning = try await adopt(reply, store) {
                    warnings.append(warning)
                }
            }
            warnings += try RescueFile.unreadable(in: directory).map { .tokenKept(rescuePath: $0) }
        } catch {
            throw .store(error)
        }
        return warnings
    }

    /// - Returns: What the user should know.
    private static func adopt(
        _ abandoned: AbandonedReply,
        _ store: TokenStore
    ) async throws(StoreError) -> UploadWarning? {
        let status = abandoned.status ?? 0
        var reply = UploadReply.parse(status: status, body: abandoned.body)
        guard abandoned.status != nil, let record = try store.upload(abandoned.uploadID) else {
            // Without its row nothing says where a token belongs; a person may still read it from the file.
            return releaseUnlessNeeded(abandoned, reply, isTokenStored: false)
        }
        guard awaitsReply(record.state) else {
            // Committed already; only the file outlived its process. A row that ended otherwise does not take the only
            // copy of a token along.
            let tokens = try store.tokens(host: record.host).map(\.token)
            let isStored = reply.deleteToken.map { tokens.contains($0) } ?? false
            return releaseUnlessNeeded(abandoned, reply, isTokenStored: isStored)
        }
        // A broken answer may lack the id that asking has found since.
        reply.fileID = reply.fileID ?? record.fileID
        var settlement = UploadSettlement(store: store, record: record)
        switch record.transport {
        case .multipart: await settle(reply, abandoned, &settlement)
        case .tus: try await settleFinalize(reply, abandoned, &settlement)
        }
        if let error = settlement.result.error?.store {
            throw error
        }
        guard !settlement.keepsReply else { return releaseUnlessNeeded(abandoned, reply, isTokenStored: false) }
        abandoned.file.release()
        guard reply.deleteToken != nil, let fileID = settlement.result.fileID else { return nil }
        return .rescued(uploadID: abandoned.uploadID, fileID: fileID)
    }

    private static func settle(
        _ reply: UploadReply,
        _ abandoned: AbandonedReply,
        _ settlement: inout UploadSettlement
    ) async {
        // Whether the body was complete is not known here; a refusal that would hang on it is left for asking.
        switch UploadVerdict.of(reply, head: HTTPResponseHead(status: reply.status), bodyComplete: true) {
        case .stored(let reply):
            await settlement.commit(reply, isSourceUnchanged: true, rescuePath: abandoned.file.path)
        case .duplicate(let reply):
            settlement.endAsUnconfirmedDuplicate(reply)
        case .refused(let error, _):
            settlement.end(.failed, error)
        case .unknown(let error, _), .collided(let error):
            settlement.end(.unknownOutcome, error.asUnknownOutcome)
        }
    }

    /// The answer to a finalize. One that ends nothing only tells whether that finalize may still be in flight.
    private static func settleFinalize(
        _ reply: UploadReply,
        _ abandoned: AbandonedReply,
        _ settlement: inout UploadSettlement
    ) async throws(StoreError) {
        // After a lost answer the row says so until its end.
        let isRepeat = settlement.record.state == .unknownOutcome
        switch FinalizeVerdict.of(reply, head: HTTPResponseHead(status: reply.status)) {
        case .stored(let reply)
        where isRepeat && reply.isWithoutToken && reply.guest == nil && !reply.hasNoTokens:
            settlement.endAsRemembered(reply)
        case .stored(let reply):
            await settlement.commit(reply, isSourceUnchanged: true, rescuePath: abandoned.file.path)
        case .duplicate(let reply):
            settlement.endAsUnconfirmedDuplicate(reply)
        case .tooEarly, .pending, .dead, .unknownUpload, .refused, .unsupportedMedia:
            guard !isRepeat, let tus = try settlement.store.tusRecord(settlement.record.uploadID) else { return }
            try await TusJournal(tus, store: settlement.store).finalizeRefused()
        case .deleted(let error):
            settlement.end(.failed, error)
            try await TusJournal(TusRecord(uploadID: settlement.record.uploadID, parts: []), store: settlement.store)
                .forget()
        case .usedUp, .broken, .collided, .lost:
            break
        }
    }

    /// Releases a file that holds nothing more, and tells of one that does.
    private static func releaseUnlessNeeded(
        _ abandoned: AbandonedReply,
        _ reply: UploadReply,
        isTokenStored: Bool
    ) -> UploadWarning? {
        if reply.deleteToken != nil && !isTokenStored {
            return .tokenKept(rescuePath: abandoned.file.path)
        }
        if reply.hasUnusableToken {
            return .unusableToken(rescuePath: abandoned.file.path)
        }
        abandoned.file.release()
        return nil
    }

    /// Whether a reply may still change a row. `token_lost` may: its token turned up after all.
    private static func awaitsReply(_ state: UploadState) -> Bool {
        !state.isFinal || state == .tokenLost
    }
}
