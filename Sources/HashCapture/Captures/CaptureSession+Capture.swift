public import CaptureSubmission
internal import Foundation
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
public import MediaTransport

extension CaptureSession {
    /// Proves one capture: media into the vault, record, signature, submission.
    ///
    /// Cancelling ends it between any two steps; the record says how far it got, and `retry` goes on. A medium that the
    /// server has accepted from here, or may have, is not submitted a second time.
    ///
    /// - Parameters:
    ///   - request: What to prove.
    ///   - control: Breaks a request off.
    ///   - progress: Bytes of the media read so far, and in all.
    /// - Returns: The record as it is now. `error` says what kept it from being accepted.
    /// - Throws: `CaptureError` when there is no record at all.
    public func capture(
        _ request: CaptureRequest,
        control: TransferControl = TransferControl(),
        progress: (@Sendable (_ done: Int64, _ total: Int64) -> Void)? = nil
    ) async throws(CaptureError) -> CaptureOutcome {
        let device = try device()
        let input = try await CaptureInput.read(request, profile: profile)
        let kept = try await keep(input, request, mode: .hashOnly, progress: progress)
        switch kept {
        case .ended(let outcome): return outcome
        case .open(let record, let notices):
            var outcome = try await exchange(record.id, device, control) { exchange, record throws(CaptureError) in
                try await exchange.submit(record)
            }
            outcome.notices = notices + outcome.notices
            return outcome
        }
    }

    /// What became of the local part of a capture.
    enum Kept {
        /// A record is kept, with its media in the vault: to be submitted.
        case open(CaptureRecord, notices: [CaptureNotice])
        /// There is nothing to submit, or it cannot be.
        case ended(CaptureOutcome)
    }

    /// Puts the media into the vault while it is hashed, and keeps a record.
    func keep(
        _ input: CaptureInput,
        _ request: CaptureRequest,
        mode: CaptureRecord.Mode,
        progress: (@Sendable (_ done: Int64, _ total: Int64) -> Void)?
    ) async throws(CaptureError) -> Kept {
        let id = UUID().uuidString.lowercased()
        let vault = vault
        guard let file = input.file, case .file = request.subject else {
            guard case .digest(let digest) = request.subject else { throw CaptureError(.internalError) }
            let (record, notices) = try record(id, input, request, digest, mode: mode)
            if let earlier = try earlier(than: record, notices) { return earlier }
            try keep(record)
            return .open(record, notices: notices)
        }
        let draft = try vault.begin(id: id)
        do throws(CaptureError) {
            let digest = try await vault.keepMedia(file, in: draft, progress: progress)
            let (record, notices) = try record(id, input, request, digest, mode: mode)
            if let earlier = try earlier(than: record, notices) {
                vault.discard(draft)
                return earlier
            }
            if !input.depthBytes.isEmpty { try vault.keepDepth(input.depthBytes, in: draft) }
            CaptureKillPoint.mediaInDraft.reach()
            try keep(record)
            CaptureKillPoint.recordKept.reach()
            do throws(CaptureError) {
                try vault.commit(draft)
            } catch {
                // `adopt` finishes it.
                return .ended(CaptureOutcome(record: record, notices: notices, error: error))
            }
            CaptureKillPoint.committed.reach()
            return .open(record, notices: notices)
        } catch {
            vault.discard(draft)
            throw error
        }
    }

    // MARK: Records

    /// What this medium has at this server already: a capture that is there or probably there, or one that waits to be sent
    /// and would tell the same.
    private func earlier(than record: CaptureRecord, _ notices: [CaptureNotice]) throws(CaptureError) -> Kept? {
        let records = try records(ofMedia: record.mediaHash).filter { $0.server == server && $0.mode != nil }
        if let accepted = records.first(where: { $0.state == .accepted }) {
            return .ended(CaptureOutcome(record: accepted, notices: notices, isKnown: true))
        }
        if let unknown = records.first(where: { $0.state == .unknownOutcome || $0.state == .submitted }) {
            let error = CaptureError(
                .unknownOutcome,
                detail: "an earlier submission of this media is probably there already",
                value: unknown.id
            )
            return .ended(CaptureOutcome(record: unknown, notices: notices, error: error, isKnown: true))
        }
        return records.first { $0.tellsTheSame(as: record) }.map { .open($0, notices: notices) }
    }

    private func record(
        _ id: String,
        _ input: CaptureInput,
        _ request: CaptureRequest,
        _ digest: SHA256Digest,
        mode: CaptureRecord.Mode
    ) throws(CaptureError) -> (CaptureRecord, [CaptureNotice]) {
        let payload = payload(of: input, digest, request)
        var record = CaptureRecord(
            id: id,
            server: server,
            profile: profile.rawValue,
            mode: mode,
            mediaHash: digest.hex,
            mediaType: input.mediaType.rawValue,
            createdAt: surroundings.now()
        )
        record.path = input.file?.path
        record.mediaBytes = input.file?.status.size
        record.isObserved = input.file != nil
        record.hasDepth = input.file != nil && !input.depthBytes.isEmpty
        record.analysis = input.analysis.json
        record.settings = request.settings.json
        record.analysisMilliseconds = input.analysisMilliseconds
        if mode == .hashOnly {
            record.unsignedBody = try payload.body(for: profile, assertion: Assertion.placeholder).bytes
        }
        return (record, input.notices(about: payload, request, profile: profile))
    }

    // MARK: Exchanges

    /// Runs one exchange for a record, with the device's counter locked and the record as it is then.
    func exchange(
        _ id: String,
        _ device: CaptureDeviceRecord,
        _ control: TransferControl,
        _ body: (CaptureExchange, CaptureRecord) async throws(CaptureError) -> CaptureOutcome
    ) async throws(CaptureError) -> CaptureOutcome {
        guard let record = try stored(id) else { throw CaptureError(.captureUnknown, value: id) }
        let counter: CounterFile
        do throws(CaptureError) {
            counter = try await lock(device.deviceID)
        } catch {
            return CaptureOutcome(record: record, error: error)
        }
        defer { counter.release() }
        guard let record = try stored(id) else { throw CaptureError(.captureUnknown, value: id) }
        if record.state == .accepted { return CaptureOutcome(record: record, isKnown: true) }
        let signer: any CaptureSigner
        do throws(CaptureError) {
            signer = try await DeviceKey(surroundings.directory).signer(for: device)
        } catch {
            return try unsigned(record, error)
        }
        let sender = CaptureSender(
            client: client,
            device: CaptureDevice(device, profile, signer),
            counter: counter
        )
        let exchange = CaptureExchange(
            sender: sender,
            library: surroundings.library,
            clock: surroundings.now,
            control: control
        )
        return try await body(exchange, record)
    }

    /// The key could not even be opened: the record waits for another try, of which there are three.
    private func unsigned(_ record: CaptureRecord, _ error: CaptureError) throws(CaptureError) -> CaptureOutcome {
        var record = record
        guard record.state == .pending || record.state == .queued, error.code != .cancelled else {
            return CaptureOutcome(record: record, error: error)
        }
        record.state = .pending
        record.body = nil
        record.signingFailures += 1
        record.errorCode = error.code.rawValue
        record.errorDetail = error.detail
        record.updatedAt = surroundings.now()
        try keep(record)
        return CaptureOutcome(record: record, error: error)
    }
}

extension CaptureRecord {
    /// Whether this record waits to be sent and would say what another one says; but for a time that is only "now".
    fileprivate func tellsTheSame(as other: CaptureRecord) -> Bool {
        guard state == .pending || state == .queued, signingFailures < CaptureExchange.signingLimit,
            (mode, profile, mediaType) == (other.mode, other.profile, other.mediaType), isObserved == other.isObserved,
            hasDepth == other.hasDepth, settings == other.settings, analysis == other.analysis,
            let profile = CaptureProfile(rawValue: profile), let mine = unsignedBody, let theirs = other.unsignedBody,
            mode == .hashOnly
        else { return false }
        let payloads = [mine, theirs].map { bytes in
            HashOnlyBody(bytes: bytes).flatMap { try? HashOnlyPayload.reading($0, profile: profile).payload }
        }
        guard let mine = payloads[0], var theirs = payloads[1] else { return false }
        if mine.flags.timestampLevel == .none { theirs.capturedAt = mine.capturedAt }
        return mine == theirs
    }
}
