public import MediaStore
internal import MediaTransport

/// Adopts the replies that dead processes left in rescue files. Needs no server; every command calls it at its start.
public enum RescueAdoption {
    /// Stores the tokens found and releases the files. May be killed anywhere and run again.
    ///
    /// A file without a reply is released and leaves its row as it is: `Uploader.resolve` settles that.
    ///
    /// - Returns: What was found, for a note to the user.
    /// - Throws: `GigHiveError` with code `.storeUnusable`; the rescue files stay.
    public static func run(store: TokenStore, directory: DataDirectory) async throws(GigHiveError) -> [UploadWarning] {
        var warnings: [UploadWarning] = []
        do {
            for reply in try RescueFile.abandoned(in: directory) {
                if let fileID = try await adopt(reply, store) {
                    warnings.append(.rescued(uploadID: reply.uploadID, fileID: fileID))
                }
            }
        } catch {
            throw .store(error)
        }
        return warnings
    }

    /// - Returns: The id whose token was stored.
    private static func adopt(_ abandoned: AbandonedReply, _ store: TokenStore) async throws(StoreError) -> Int64? {
        guard let status = abandoned.status else {
            abandoned.file.release()
            return nil
        }
        var reply = UploadReply.parse(status: status, body: abandoned.body)
        guard let record = try store.upload(abandoned.uploadID) else {
            // Without its row nothing says where a token belongs; a person may still read it from the file.
            if reply.deleteToken == nil {
                abandoned.file.release()
            }
            return nil
        }
        guard awaitsReply(record.state) else {
            // Committed already; only the file outlived its process.
            abandoned.file.release()
            return nil
        }
        // A broken answer may lack the id that asking has found since.
        reply.fileID = reply.fileID ?? record.fileID
        var settlement = UploadSettlement(store: store, record: record)
        // Whether the body was complete is not known here; a refusal that would hang on it is left for asking.
        switch UploadVerdict.of(reply, head: HTTPResponseHead(status: status), bodyComplete: true) {
        case .stored(let reply):
            await settlement.commit(reply, isSourceUnchanged: true, rescuePath: abandoned.file.path)
        case .duplicate(let fileID):
            settlement.endAsDuplicate(of: fileID)
        case .refused(let error, _):
            settlement.end(.failed, error)
        case .unknown(let error, _):
            settlement.end(.unknownOutcome, error.asUnknownOutcome)
        }
        if let error = settlement.result.error?.store {
            throw error
        }
        guard settlement.result.unstoredToken == nil else { return nil }
        abandoned.file.release()
        return reply.deleteToken == nil ? nil : settlement.result.fileID
    }

    /// Whether a reply may still change a row. `token_lost` may: its token turned up after all.
    private static func awaitsReply(_ state: UploadState) -> Bool {
        !state.isFinal || state == .tokenLost
    }
}
