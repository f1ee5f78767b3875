internal import MediaStore

/// Results of uploads whose bytes the server has, without a response that contains their token.
extension UploadSettlement {
    /// Records a refused duplicate, according to what the server confirmed.
    ///
    /// - Parameters:
    ///   - finding: What the server confirmed.
    ///   - reply: The refusal.
    mutating func end(_ finding: DuplicateCheck.Finding, of reply: UploadReply) {
        switch finding {
        case .inEvent(let fileID, let served):
            result.fileType = served.kind ?? result.fileType
            endAsDuplicate(of: fileID, served: served)
            if !reply.identifiesExistingFile(record.checksumSHA256) { warnOfUnidentifiedFile() }
        case .elsewhere(let fileID, let served):
            result.fileType = served.kind ?? result.fileType
            endAsRefusedDuplicate(of: fileID)
        case .eventUnknown(let fileID, let reason):
            let cause = reason.detail.isEmpty ? "" : ": \(reason.detail)"
            let detail = "the server already has the file as \(fileID), but its event could not be checked\(cause)"
            result.fileID = fileID
            end(
                .unknownOutcome,
                GigHiveError(.outcomeUnknown, detail: detail, httpStatus: record.httpStatus, fileID: fileID)
            )
        case .contradicted(let error):
            var error = error
            error.httpStatus = record.httpStatus
            end(.failed, error)
            warnOfUnidentifiedFile()
        }
    }

    /// A proxy may replace the response to a stored upload with a 409; the only copy of the token is then lost.
    private mutating func warnOfUnidentifiedFile() {
        guard !result.warnings.contains(.tokenLostEarlier),
            knownTokens(fileID: result.fileID, checksum: record.checksumSHA256).isEmpty
        else { return }
        result.warnings.append(.tokenMayBeLost)
    }

    private mutating func endAsRefusedDuplicate(of fileID: Int64?) {
        result.fileID = fileID
        result.hasDeleteToken = !knownTokens(fileID: fileID, checksum: record.checksumSHA256).isEmpty
        end(
            .refusedDuplicate,
            GigHiveError(.refusedDuplicate, httpStatus: record.httpStatus, fileID: fileID)
        )
    }

    /// The refusal that an earlier process got and did not confirm. Only D3's names bytes of the event itself; of the others
    /// the server is queried later.
    mutating func endAsUnconfirmedDuplicate(_ reply: UploadReply) {
        guard reply.dialect == .assets, let checksum = reply.checksumSHA256, checksum == record.checksumSHA256 else {
            let detail = "the server refused the file as a duplicate; whether the event has it was not checked"
            end(.unknownOutcome, GigHiveError(.outcomeUnknown, detail: detail, httpStatus: reply.status))
            return
        }
        endAsDuplicate(of: reply.existingFileID)
    }

    /// The event has the bytes, as the server confirmed.
    ///
    /// - Parameters:
    ///   - fileID: The id of the server's copy, if known.
    ///   - served: Where the server serves it, if known.
    mutating func endAsDuplicate(of fileID: Int64?, served: ServedName? = nil) {
        let tokens = knownTokens(fileID: fileID, checksum: record.checksumSHA256)
        result.fileID = fileID ?? tokens.first?.fileID
        result.hasDeleteToken = !tokens.isEmpty
        result.isDeletableDuplicate = !tokens.isEmpty
        result.mediaURL = mediaURL(served ?? ServedName(kind: result.fileType))
        warnOfLostToken()
        end(.duplicate, nil)
    }

    /// After a lost race the server has the bytes. The transaction of this upload failed, so that a copy in the event is from
    /// another upload, which has its token.
    mutating func endAfterCollision(_ copy: OutcomeInquiry.Copy, _ error: GigHiveError) {
        guard copy.placement == .event else {
            endAsPresent(copy, cause: error)
            return
        }
        result.fileType = copy.served.kind
        endAsDuplicate(of: copy.fileID, served: copy.served)
    }

    /// The server turned out to have the bytes while they were being sent.
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
            let lost = try? store.uploads(states: [.tokenLost], host: record.host),
            lost.contains(where: {
                $0.checksumSHA256 == checksum
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
                    fileID: result.fileID,
                    transport: cause?.transport
                )
            )
        } else {
            end(.done, nil)
        }
    }
}
