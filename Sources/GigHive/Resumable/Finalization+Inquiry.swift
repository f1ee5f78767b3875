internal import MediaStore
internal import MediaTransport

/// What the server has when the response does not show it.
extension Finalization {
    /// The upload id is gone. Without an earlier finalize nothing was stored.
    func settleGone(
        _ error: GigHiveError,
        _ settlement: inout UploadSettlement
    ) async throws(StoreError) -> Step {
        guard let lostAt else {
            try await journal.forget()
            return .end(.sendAgain(error))
        }
        return try await ask(error, for: quiet.remaining(since: lostAt), &settlement)
    }

    /// A 500 of a script that has ended, perhaps after it had stored the file (trap T7): while tus has the bytes, it has not.
    func settleBroken(
        _ error: GigHiveError,
        _ settlement: inout UploadSettlement
    ) async throws(StoreError) -> Step {
        switch await quiet.look() {
        case .complete, .incomplete:
            try await noteAnswered()
            return fail(error, &settlement)
        case .gone, .unanswered:
            return try await ask(error, for: nil, &settlement)
        }
    }

    /// Asks for the file by its digest, for as long as the server may still be working on it (nil: it has finished).
    func ask(
        _ error: GigHiveError,
        for limit: Duration?,
        _ settlement: inout UploadSettlement
    ) async throws(StoreError) -> Step {
        guard let checksum = settlement.record.checksumSHA256 else {
            settlement.end(.unknownOutcome, error.asUnknownOutcome)
            return .end(.settled)
        }
        onEvent(.resolving(for: limit ?? .zero))
        switch await inquiry(checksum, settlement).run(for: limit, control: control) {
        case .present(let copy) where copy.placement != .otherEvent:
            await settlement.storeToken(confirmedBy: copy.fileID)
            settlement.endAsPresent(copy, cause: error)
            return await ended()
        case .present where limit == nil, .absent where limit == nil:
            // What failed once will fail again; sending everything anew is the user's to decide.
            try await journal.forget()
            return fail(error, &settlement)
        case .present, .absent:
            try await journal.forget()
            return .end(.sendAgain(error))
        case .unanswered(let reason): settlement.end(.unknownOutcome, error.asUnknownOutcome(reason))
        case .stopped: settlement.end(.unknownOutcome, error.asUnknownOutcome)
        }
        return .end(.settled)
    }
}
