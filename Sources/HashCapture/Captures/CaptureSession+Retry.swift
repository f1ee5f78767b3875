public import CaptureSubmission
internal import MediaCrypto
internal import MediaStore
public import MediaTransport

extension CaptureSession {
    /// What a user allows for one record.
    public enum RetryChoice: Sendable {
        /// Signs what is pending (3 failures at most), sends what is queued, asks for what is unknown.
        case ordinary
        /// Also sends once more, under a new counter, what is probably already there (`reference`), and signs again after
        /// the third failure.
        case resend
        /// Makes a record without a mode a hash-only one, and goes on. Nothing but hash and analysis is told then, since
        /// such a record holds no settings.
        case adoptAsHashOnly
    }

    /// Goes on with a record that is not settled. The media of a full upload is never sent by this.
    ///
    /// - Parameters:
    ///   - id: The record's id, or how it begins.
    ///   - choice: What the user allows.
    ///   - control: Breaks a request off.
    /// - Returns: The record as it is then. `error` says what kept it from being accepted.
    /// - Throws: `CaptureError` `.captureUnknown`, `.localOnly` for a record without a mode, `.notRegistered`.
    public func retry(
        _ id: String,
        _ choice: RetryChoice = .ordinary,
        control: TransferControl = TransferControl()
    ) async throws(CaptureError) -> CaptureOutcome {
        var record = try record(id)
        guard record.server == server else {
            throw CaptureError(.captureUnknown, detail: "the capture is for \(record.server)", value: record.id)
        }
        if record.mode == nil {
            guard case .adoptAsHashOnly = choice else {
                throw CaptureError(
                    .localOnly,
                    detail: "the record is from before hash-only captures; nothing is sent for it unless asked for",
                    value: record.id
                )
            }
            record = try adoptedAsHashOnly(record)
        }
        if record.state == .submitted {
            try await adopt()
        }
        if record.state == .accepted || record.state == .rejected {
            return CaptureOutcome(record: record, error: Self.refusal(of: record), isKnown: true)
        }
        return try await exchange(record.id, try device(), control) { exchange, record throws(CaptureError) in
            try await goOn(with: record, choice, exchange)
        }
    }

    private func goOn(
        with record: CaptureRecord,
        _ choice: RetryChoice,
        _ exchange: CaptureExchange
    ) async throws(CaptureError) -> CaptureOutcome {
        var isResend = false
        if case .resend = choice { isResend = true }
        switch record.state {
        case .accepted, .rejected:
            return CaptureOutcome(record: record, error: Self.refusal(of: record), isKnown: true)
        case .submitted:
            return CaptureOutcome(record: record, error: CaptureError(.busy, isRetryable: true, value: record.id))
        case .pending where record.signingFailures >= CaptureExchange.signingLimit && !isResend:
            return CaptureOutcome(record: record, error: CaptureExchange.signingExhausted(nil))
        case .pending, .queued:
            return try await send(record, exchange)
        case .unknownOutcome:
            return try await resolve(record, isResend: isResend, exchange)
        }
    }

    /// Only a hash-only record is sent from here.
    private func send(_ record: CaptureRecord, _ exchange: CaptureExchange) async throws(CaptureError) -> CaptureOutcome
    {
        guard record.mode == .hashOnly else {
            let error = CaptureError(
                .localOnly,
                detail: "the media of a full upload is sent only when it is asked for by name",
                value: record.id
            )
            return CaptureOutcome(record: record, error: error)
        }
        return try await exchange.submit(record)
    }

    /// Asks the server where it can be asked; what is not there, and cannot be there twice, is sent again.
    private func resolve(
        _ record: CaptureRecord,
        isResend: Bool,
        _ exchange: CaptureExchange
    ) async throws(CaptureError) -> CaptureOutcome {
        let unknown = CaptureError(
            .unknownOutcome,
            detail: "the server probably has it, and cannot be asked by hash",
            value: record.id
        )
        guard profile == .mediactl1 else {
            // One deliberate resend; it can only add a 500 (contract 1.3).
            guard isResend, record.submissions < 2 else { return CaptureOutcome(record: record, error: unknown) }
            return try await send(record, exchange)
        }
        let asked = try await exchange.ask(CaptureExchange.Progress(record: record), unknown)
        guard asked.record.state == .unknownOutcome || asked.record.state == .queued, let error = asked.error else {
            return asked
        }
        // Asking failed. A server without the question still answers 409 to a duplicate; any other failure would meet a
        // submission too.
        let cause = (error.underlying as? CaptureError)?.code
        guard cause == nil || cause == .unexpectedAnswer || cause == .notFound else { return asked }
        return try await send(asked.record, exchange)
    }

    // MARK: Old records

    /// Gives a record of before modes the most private payload there is.
    private func adoptedAsHashOnly(_ old: CaptureRecord) throws(CaptureError) -> CaptureRecord {
        guard let digest = SHA256Digest(hex: old.mediaHash), let type = CaptureMediaType(rawValue: old.mediaType) else {
            throw CaptureError(.recordUnusable, detail: "hash or media type cannot be read", value: old.id)
        }
        guard type == .photo else {
            throw CaptureError(.videoMembersMissing, detail: "the record has no hash chain", value: old.id)
        }
        var settings = PrivacySettings()
        (settings.location, settings.timestamp, settings.deviceInfo) = (.none, .none, .none)
        let analysis = old.analysis.flatMap(DepthAnalysis.init(json:)) ?? .unavailable
        let payload = HashOnlyPayload(
            mediaHash: digest,
            mediaType: type,
            depthAnalysis: analysis,
            metadata: CaptureMetadata(),
            flags: MetadataFlags(of: CaptureMetadata(), location: .none, timestamp: .none, deviceInfo: .none),
            capturedAt: "1970-01-01T00:00:00Z"
        ).restamped(at: surroundings.now())
        var record = old
        record.mode = .hashOnly
        record.state = .pending
        record.profile = profile.rawValue
        record.analysis = analysis.json
        record.settings = settings.json
        record.unsignedBody = try payload.body(for: profile, assertion: Assertion.placeholder).bytes
        record.updatedAt = surroundings.now()
        try keep(record)
        return record
    }

    private static func refusal(of record: CaptureRecord) -> CaptureError? {
        guard record.state == .rejected else { return nil }
        return CaptureError(
            record.errorCode.flatMap(CaptureError.Code.init) ?? .badRequest,
            detail: record.errorDetail ?? "",
            httpStatus: record.httpStatus,
            value: record.id
        )
    }
}
