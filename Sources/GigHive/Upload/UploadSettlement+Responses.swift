internal import MediaStore

/// Responses that do not confirm an upload, and may contain its token nevertheless.
extension UploadSettlement {
    /// Takes over a response. The token of one that does not confirm the upload waits for what the server reports.
    mutating func note(response reply: UploadReply?, isConfirmation: Bool) {
        keepsReply = false
        unconfirmed = isConfirmation || reply?.deleteToken == nil ? nil : reply
    }

    /// Stores the token of an unconfirmed response for the file that the server reports. A response about another file
    /// keeps its token.
    ///
    /// - Parameter fileID: The ID of the server's copy, if known.
    mutating func storeToken(confirmedBy fileID: Int64?) async {
        guard var reply = unconfirmed, let fileID, reply.fileID ?? fileID == fileID else { return }
        reply.fileID = fileID
        await storeToken(of: reply)
    }

    /// Decides whether the rescue file of a response stays, at the end of an attempt: as long as it has a token that is not in
    /// the store, or may have one.
    ///
    /// - Parameters:
    ///   - reply: The response; nil if none had begun.
    ///   - rescuePath: The file.
    mutating func finish(response reply: UploadReply?, rescuePath: String) async {
        if let reply = unconfirmed {
            // Without the server's word the response's own ID counts; it was not contradicted.
            if result.fileID == nil || result.fileID == reply.fileID { await storeToken(of: reply) }
            guard unconfirmed != nil else { return }
            unconfirmed = nil
            keepsReply = true
            result.warnings.append(.tokenKept(rescuePath: rescuePath))
        } else if !keepsReply, let reply, reply.hasUnusableToken {
            keepsReply = true
            result.warnings.append(.unusableToken(rescuePath: rescuePath))
        } else if !keepsReply, let reply, reply.mayHoldUnreadToken(besides: record.checksumSHA256) {
            keepsReply = true
            result.warnings.append(.responseKept(path: rescuePath))
        }
    }

    private mutating func storeToken(of reply: UploadReply) async {
        guard let entry = entry(reply) else { return }
        do throws(StoreError) {
            try await store.commit(record.uploadID, UploadChange(), token: entry)
            unconfirmed = nil
            result.hasDeleteToken = true
        } catch {
            result.error = result.error ?? .store(error)
        }
    }
}
