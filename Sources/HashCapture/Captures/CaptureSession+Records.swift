public import CaptureSubmission
internal import MediaCrypto
public import MediaStore
public import MediaTransport

extension CaptureSession {
    /// - Throws: `CaptureError` `.captureUnknown` if there is no record with this ID.
    public func record(_ id: String) throws(CaptureError) -> CaptureRecord {
        guard let record = try stored(id) else { throw CaptureError(.captureUnknown, value: id) }
        return record
    }

    var server: String { client.server.description }

    func all() throws(CaptureError) -> [CaptureRecord] {
        try CaptureError.stored(dependencies.library.captures())
    }

    func stored(_ id: String) throws(CaptureError) -> CaptureRecord? {
        try CaptureError.stored(dependencies.library.capture(id))
    }

    func records(ofMedia hash: String) throws(CaptureError) -> [CaptureRecord] {
        try CaptureError.stored(dependencies.library.captures(ofMedia: hash))
    }

    /// A record of this media that this session's server has accepted.
    func accepted(ofMedia hash: String) throws(CaptureError) -> CaptureRecord? {
        try records(ofMedia: hash).first { $0.server == server && $0.mode != nil && $0.state == .accepted }
    }

    func keep(_ record: CaptureRecord) throws(CaptureError) {
        try CaptureError.stored(dependencies.library.keep(record))
    }

    /// This machine's registration with the server.
    ///
    /// - Throws: `.notRegistered`, even if it is registered for a different profile.
    func device() throws(CaptureError) -> CaptureDeviceRecord {
        let record = try CaptureError.stored(dependencies.library.captureDevice(for: server))
        guard let record else { throw CaptureError(.notRegistered, value: server) }
        guard record.profile == profile.rawValue else {
            throw CaptureError(
                .notRegistered,
                detail: "this machine is registered with that server for the profile \(record.profile)",
                value: server
            )
        }
        return record
    }

    func lock(_ device: String, timeout: Duration = .seconds(60)) async throws(CaptureError) -> CounterFile {
        do {
            return try await CounterFile.lock(device: device, in: dependencies.directory, timeout: timeout)
        } catch {
            throw CaptureError(locking: error)
        }
    }
}

extension CaptureSession {
    /// Decrypts the media of a record to a file, and optionally its depth map to a second file. The hash is verified
    /// before the file gets its final name. Existing files are not replaced. The depth map is little-endian binary32.
    ///
    /// - Throws: `CaptureError`: `.mediaMissing` for a capture of a digest only, and others such as `.checksumMismatch`
    ///   and `.targetExists`.
    public func export(_ id: String, to path: [UInt8], depthTo depthPath: [UInt8]?) async throws(CaptureError)
        -> CaptureRecord
    {
        let record = try record(id)
        guard record.isObserved else {
            throw CaptureError(.mediaMissing, detail: "the media was not observed here", value: record.id)
        }
        if depthPath != nil, !record.hasDepth {
            throw CaptureError(.mediaMissing, detail: "the capture has no depth map", value: record.id)
        }
        guard let digest = SHA256Digest(hex: record.mediaHash) else {
            throw CaptureError(.recordUnusable, detail: "the record has no hash", value: record.id)
        }
        _ = try await vault.export(.media, of: record.id, to: path, expecting: digest)
        if let depthPath { _ = try await vault.export(.depth, of: record.id, to: depthPath) }
        return record
    }

    /// Checks body, hash, signature and counter of a record independently. Returns a description of the first mismatch,
    /// or nil.
    public static func disagreement(in record: CaptureRecord) -> String? {
        guard let digest = SHA256Digest(hex: record.mediaHash) else { return "the record has no hash" }
        let bundle = CaptureBundle(record)
        for case .failed(let reason) in [bundle.bodyHash(digest), bundle.signature(), bundle.counter()] {
            return reason
        }
        return nil
    }
}

extension CaptureSession {
    /// The operations that the user allows for one record.
    public enum RetryChoice: Sendable {
        /// Signs a pending record (at most 3 failures), sends a queued record, and queries an unknown outcome.
        case ordinary
        /// In addition, resends a record, with a new counter, that is probably already on the server (`reference`) or
        /// that another device has submitted, and signs again after the third failure.
        case resend
        /// Converts a record without a mode to hash-only, and continues. Discloses only the hash and the analysis,
        /// since such a record has no settings.
        case adoptAsHashOnly
    }

    /// Resumes an unfinished record. Never sends the media of a full upload. `error` in the outcome is the reason why
    /// the record was not accepted. If the server has, or may have, the media as a different record, the outcome is
    /// that record, with the options that were not sent. The server is queried for an accepted record: a capture that
    /// it no longer has is sent again.
    ///
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
            guard choice == .adoptAsHashOnly else {
                throw CaptureError(
                    .localOnly,
                    detail: "it was made before modes existed",
                    value: record.id
                )
            }
            record = try adoptedAsHashOnly(record)
        }
        if record.state == .submitted {
            try await adopt()
        }
        // The hash alone does not finish an upload of the media.
        while let accepted = try accepted(ofMedia: record.mediaHash), record.mode != .full || accepted.mode == .full {
            guard var outcome = await confirm(accepted, control) else { continue }
            guard outcome.error != nil else { break }
            if record.id != accepted.id { outcome.notices = record.notSent(after: accepted) }
            return outcome
        }
        record = try self.record(record.id)
        if record.state == .rejected,
            let outcome = try record.superseded(in: dependencies.library, at: dependencies.now())
        {
            return outcome
        }
        if record.state == .accepted || record.state == .rejected {
            return CaptureOutcome(record: record, error: record.refusal, isKnown: true)
        }
        return try await exchange(record.id, try device(), control) { exchange, record throws(CaptureError) in
            try await resume(with: record, choice, exchange)
        }
    }

    private func resume(
        with record: CaptureRecord,
        _ choice: RetryChoice,
        _ exchange: CaptureExchange
    ) async throws(CaptureError) -> CaptureOutcome {
        let isResend = choice == .resend
        switch record.state {
        case .accepted, .rejected:
            return CaptureOutcome(record: record, error: record.refusal, isKnown: true)
        case .submitted:
            return CaptureOutcome(record: record, error: CaptureError(.busy, isRetryable: true, value: record.id))
        case .pending where record.signingFailures >= CaptureSession.signingLimit && !isResend:
            return CaptureOutcome(record: record, error: CaptureExchange.signingExhausted(nil))
        case .pending, .queued:
            return try await send(record, exchange)
        case .unknownOutcome:
            return try await resolve(record, isResend: isResend, exchange)
        }
    }

    /// Sends only hash-only records.
    private func send(_ record: CaptureRecord, _ exchange: CaptureExchange) async throws(CaptureError) -> CaptureOutcome
    {
        guard record.mode == .hashOnly else {
            let error = CaptureError(
                .localOnly,
                detail: "it is an upload of the media itself",
                value: record.id
            )
            return CaptureOutcome(record: record, error: error)
        }
        return try await exchange.submit(record)
    }

    /// Queries the server if it supports that; sends the record again if the capture is not there and the record would
    /// not be a duplicate.
    private func resolve(
        _ record: CaptureRecord,
        isResend: Bool,
        _ exchange: CaptureExchange
    ) async throws(CaptureError) -> CaptureOutcome {
        let detail =
            profile == .mediactl1
            ? "it was submitted as another device" : "the server probably has it, and cannot be queried by hash"
        let unknown = CaptureError(.unknownOutcome, detail: detail, value: record.id)
        guard profile == .mediactl1 else {
            // One deliberate resend; at worst it causes another 500 (contract 1.3).
            guard isResend, record.submissions < 2 else { return CaptureOutcome(record: record, error: unknown) }
            return try await send(record, exchange)
        }
        var queried = try await exchange.query(CaptureExchange.Progress(record: record), unknown)
        guard queried.record.state == .unknownOutcome || queried.record.state == .queued, let error = queried.error
        else {
            return queried
        }
        // The query failed. A server that does not support the query still responds with 409 to a duplicate; after any
        // other failure, a submission would fail as well.
        let cause = (error.underlying as? CaptureError)?.code
        guard cause == nil || cause == .unexpectedResponse || cause == .notFound else { return queried }
        // The server shows a capture only to the device that sent it, and refuses it as a duplicate from any other
        // device.
        queried.needsResend = record.mode == .hashOnly && queried.record.isSubmitted(notBy: exchange.sender.device.id)
        return queried.needsResend && !isResend ? queried : try await send(queried.record, exchange)
    }

    // MARK: Old records

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
            flags: MetadataFlags(location: .none, timestamp: .none, deviceInfo: .none),
            capturedAt: MetadataFilter.day(of: dependencies.now())
        )
        var record = old
        record.mode = .hashOnly
        record.state = .pending
        record.profile = profile.rawValue
        record.analysis = analysis.json
        record.settings = settings.json
        record.unsignedBody = try payload.body(for: profile, assertion: Assertion.placeholder).bytes
        record.updatedAt = dependencies.now()
        try keep(record)
        return record
    }
}

extension CaptureRecord {
    /// The error of the last attempt, as stored.
    package var storedError: CaptureError {
        let code: OutcomeCode =
            errorCode.flatMap { .init(rawValue: $0) }
            ?? (state == .rejected ? .badRequest : state == .pending ? .signingFailed : .unknownOutcome)
        return CaptureError(code, detail: errorDetail ?? "", httpStatus: httpStatus, value: id)
    }

    /// The error of a capture that the server refused permanently: the capture proves nothing on that server.
    package var refusal: CaptureError? { state == .rejected ? storedError : nil }
}
