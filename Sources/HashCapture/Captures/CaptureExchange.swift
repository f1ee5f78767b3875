internal import CaptureSubmission
internal import Foundation
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// Submits one record, or queries whether it is on the server, and stores each step before the next. It can access the
/// store but not the vault.
struct CaptureExchange: Sendable {
    let sender: CaptureSender
    let library: LibraryStore
    let clock: @Sendable () -> Date
    let control: TransferControl

    struct Progress {
        var record: CaptureRecord
        /// A new submission of a record that the server may already have; stored when it is sent.
        var resubmission: CaptureRecord.Submission?
        var notices: [CaptureNotice] = []
        /// Number of seconds by which the server's clock is ahead.
        var clockOffset: TimeInterval = 0
    }

    // MARK: Submitting

    /// Signs a record and submits it; repeats this once if the server's clock differs.
    ///
    /// - Throws: `CaptureError` if the store fails.
    func submit(_ record: CaptureRecord) async throws(CaptureError) -> CaptureOutcome {
        try await run(record) { progress throws(CaptureError) in try await attempt(&progress) }
    }

    /// Makes an attempt, and another one if the server's clock differs. `attempt` stores each of its steps.
    ///
    /// - Throws: `CaptureError` if the store fails.
    func run(
        _ record: CaptureRecord,
        _ attempt: (inout Progress) async throws(CaptureError) -> Void
    ) async throws(CaptureError) -> CaptureOutcome {
        var progress = Progress(record: record)
        do throws(CaptureError) {
            do throws(CaptureError) {
                try await attempt(&progress)
            } catch {
                guard error.code == .clockWrong else { throw error }
                try adjustClock(&progress, error)
                try await attempt(&progress)
            }
            return CaptureOutcome(record: progress.record, notices: progress.notices)
        } catch {
            return try await failed(progress, error)
        }
    }

    private func attempt(_ progress: inout Progress) async throws(CaptureError) {
        try checkStop()
        let payload = try payload(of: progress.record).restamped(at: time(progress))
        let submission = try await sender.sign(payload)
        CaptureFailpoint.payloadSigned.reach()
        try keepSigned(&progress, body: submission.body.bytes, counter: submission.payloadCounter)
        let digest = try SHA256Digest.of(submission.body.bytes)
        try await deliver(&progress, digest, counter: submission.requestCounter) { headers throws(CaptureError) in
            try await sender.client.submit(
                submission.body,
                headers: headers,
                requestID: submission.requestID,
                profile: sender.device.profile,
                control: control
            )
        }
    }

    /// Signs a request whose body has this digest, sends it, and stores each step.
    func deliver(
        _ progress: inout Progress,
        _ digest: SHA256Digest,
        counter: UInt32,
        _ send: ([HTTPHeader]) async throws(CaptureError) -> SubmissionResponse
    ) async throws(CaptureError) {
        try checkStop()
        let sentAt = clock()
        let headers = try await sender.headers(of: digest, counter: counter, at: time(progress))
        CaptureFailpoint.requestSigned.reach()
        try keepSubmitted(&progress, at: sentAt)
        let response = try await send(headers)
        CaptureFailpoint.responseReceived.reach()
        try recordOutcome(&progress, response)
        CaptureFailpoint.outcomeRecorded.reach()
    }

    private func payload(of record: CaptureRecord) throws(CaptureError) -> HashOnlyPayload {
        guard let bytes = record.unsignedBody, let body = HashOnlyBody(bytes: bytes) else {
            throw CaptureError(.recordUnusable, detail: "the record has no payload", value: record.id)
        }
        let payload = try HashOnlyPayload.reading(body, profile: sender.device.profile).payload
        guard payload.mediaHash.hex == record.mediaHash else {
            throw CaptureError(
                .recordUnusable,
                detail: "payload and record have different hashes",
                value: record.id
            )
        }
        return payload
    }

    func recordOutcome(_ progress: inout Progress, _ response: SubmissionResponse) throws(CaptureError) {
        switch response {
        case .accepted(let id, let url):
            progress.record.earlierSubmissions = nil
            try accept(&progress, id, url, status: 202)
        case .duplicate(let id?):
            // The server returns an ID only to the device that owns the capture (contract 3.4 no. 4). Earlier attempts
            // to submit this record, if any, were refused, so the ID belongs to a record with an unresolved submission.
            if progress.record.submissions == 1, let owner = try progress.record.unresolvedTwin(in: library) {
                var other = Progress(record: owner)
                other.record.dropSubmissions(exceptOf: sender.device.id)
                try accept(&other, id, nil, status: 409)
                throw CaptureError(.duplicate, detail: "as capture \(owner.id.prefix(8))", httpStatus: 409)
            }
            progress.record.restoreEarlierSubmission(of: sender.device.id)
            try accept(&progress, id, nil, status: 409)
            if progress.record.submissions == 1 { progress.notices.append(.acceptedEarlier) }
        case .duplicate(nil):
            // The submission was refused, so only earlier ones may have been accepted.
            let isOurs = progress.record.submissions > 1 && progress.record.isSubmitted(notBy: sender.device.id)
            throw CaptureError(
                .duplicate,
                detail: "from another device" + (isOurs ? ", probably this machine's earlier one" : ""),
                httpStatus: 409
            )
        }
    }

    /// Handles a wrong device clock (contract 1.3): takes the offset from the response.
    private func adjustClock(_ progress: inout Progress, _ error: CaptureError) throws(CaptureError) {
        try undo(&progress, .queued, error)
        guard let date = error.serverTime else { throw error }
        progress.clockOffset = date.timeIntervalSince(clock())
        progress.notices.append(.clockDiffers(seconds: Int64(progress.clockOffset.rounded())))
    }

    func time(_ progress: Progress) -> Date { clock().addingTimeInterval(progress.clockOffset) }

    var isStopped: Bool { control.isStopRequested || Task.isCancelled }

    func checkStop() throws(CaptureError) {
        if isStopped { throw CaptureError(.cancelled) }
    }
}

extension CaptureExchange {
    /// Resolves the unknown outcome of a record without sending it. `error` is the error that made the outcome unknown.
    /// The record becomes `accepted` if it is on the server and `queued` if it cannot be there; otherwise, it is
    /// unchanged and the outcome has the error. A 500 without a capture is a server error.
    ///
    /// - Throws: `CaptureError` if the store fails.
    func query(_ progress: Progress, _ error: CaptureError) async throws(CaptureError) -> CaptureOutcome {
        var progress = progress
        // The reference server has no query by hash (contract 6.4).
        guard sender.device.profile == .mediactl1, let hash = SHA256Digest(hex: progress.record.mediaHash) else {
            return CaptureOutcome(record: progress.record, notices: progress.notices, error: error)
        }
        let remote: RemoteCapture?
        do {
            remote = try await sender.remote(byHash: hash, at: time(progress), control: control)
        } catch {
            return CaptureOutcome(record: progress.record, notices: progress.notices, error: Self.unknown(error))
        }
        if let remote, progress.record.mode == .full, remote.isMediaStored != true {
            let error = CaptureError(.duplicate, detail: "only its hash")
            try keep(&progress, error) { $0.state = .rejected }
            return CaptureOutcome(record: progress.record, notices: progress.notices, error: error)
        }
        if let remote {
            progress.record.dropSubmissions(exceptOf: sender.device.id)
            try accept(&progress, remote.captureID, remote.verificationURL, status: 200)
            return CaptureOutcome(record: progress.record, notices: progress.notices)
        }
        // The server has finished without a capture. A request whose response was lost may still be in transit; a full
        // upload is not repeated until the user requests it, and would then be a duplicate.
        var error = error
        let hasFailed = SubmissionVerdict(error) == .failedInside
        if hasFailed || progress.record.mode == .full {
            error = Self.withoutCapture(error)
            try keep(&progress, error) { record in
                if hasFailed {
                    record.submissions -= 1
                    record.withdrawLastSubmission()
                }
                // The server shows a capture only to the device that sent it.
                let mayBeOnServer = record.submissions > 0 && record.isSubmitted(notBy: sender.device.id)
                record.state = mayBeOnServer ? .unknownOutcome : .queued
            }
        }
        return CaptureOutcome(record: progress.record, notices: progress.notices, error: error)
    }

    /// Queries the server before an unsent record is sent, if the server may have another record of the same media,
    /// whose ID it would return. The outcome is that record, as long as the server has it or may have it; otherwise
    /// nil.
    ///
    /// - Throws: `CaptureError` if the store fails.
    func outcome(ofTwinOf record: CaptureRecord) async throws(CaptureError) -> CaptureOutcome? {
        guard record.state.isUnsent, let twin = try record.unknownTwin(in: library) else { return nil }
        var outcome = try await query(Progress(record: twin), twin.unknownEarlier)
        if let superseding = try record.superseded(in: library, at: clock()) { return superseding }
        guard outcome.record.state.mayBeOnServer else { return nil }
        outcome.notices = record.notSent(after: outcome.record)
        outcome.isKnown = true
        return outcome
    }

    /// The error of a submission after which the server has no capture: the error for its response status, or for a
    /// lost response.
    private static func withoutCapture(_ error: CaptureError) -> CaptureError {
        var error = error
        error.isRetryable = true
        if let status = error.httpStatus, status >= 400 {
            error.code = OutcomeTable.outcome(of: status, from: .captures).code
        } else {
            error.code = .transport
            if error.underlying == nil { error.detail = "the response was lost; the server has no media" }
        }
        return error
    }

    private static func unknown(_ cause: CaptureError) -> CaptureError {
        CaptureError(
            .unknownOutcome,
            detail: "querying the server failed: \(cause.description)",
            httpStatus: cause.httpStatus,
            isRetryable: cause.isRetryable,
            underlying: cause
        ).with(\.serverCode, cause.serverCode)
    }
}

// Handles failed attempts.
extension CaptureExchange {
    func failed(_ progress: Progress, _ error: CaptureError) async throws(CaptureError) -> CaptureOutcome {
        if error.code == .storeUnusable || error.code == .diskFull { throw error }
        var progress = progress
        var error = error
        switch SubmissionVerdict(error) {
        case .unsigned:
            try keep(&progress, error) { record in
                if error.code == .signingFailed { record.signingFailures += 1 }
                if record.submissions == 0 { (record.state, record.body) = (.pending, nil) }
            }
            if progress.record.signingFailures >= CaptureSession.signingLimit { error = Self.signingExhausted(error) }
        case .again: try undo(&progress, .queued, error)
        case .rejected: try undo(&progress, .rejected, error)
        case .unknown, .failedInside:
            try keep(&progress, error) { $0.state = .unknownOutcome }
            if progress.record.submissions > 0, !isStopped {
                return try await query(progress, error)
            }
        }
        return CaptureOutcome(record: progress.record, notices: progress.notices, error: error)
    }

    /// Resets the record to `queued` or sets it to `rejected`: the server did not accept this attempt. It may have
    /// accepted an earlier attempt with an unknown outcome.
    func undo(
        _ progress: inout Progress,
        _ state: CaptureRecord.State,
        _ error: CaptureError
    ) throws(CaptureError) {
        try keep(&progress, error) { record in
            if record.state == .submitted {
                record.submissions -= 1
                if error.code == .duplicate {
                    record.withdrawSubmissions(of: sender.device.id)
                } else {
                    record.withdrawLastSubmission()
                }
            }
            let isOpen = record.submissions > 0 && state == .queued
            record.state = isOpen ? .unknownOutcome : record.body == nil ? .pending : state
        }
    }

    /// The error after the last permitted signing failure.
    static func signingExhausted(_ error: CaptureError?) -> CaptureError {
        let cause = error.map { $0.detail.isEmpty ? "" : ": \($0.detail)" } ?? ""
        return CaptureError(
            .signingFailed,
            detail: "signing has failed \(CaptureSession.signingLimit) times\(cause)",
            underlying: error
        )
    }
}

// Stores each change before the next step.
extension CaptureExchange {
    /// Stores the record as `queued`, with the signed body and the signer. A record that may be on the server is not
    /// changed until the body is sent.
    func keepSigned(_ progress: inout Progress, body: [UInt8], counter: UInt32) throws(CaptureError) {
        let device = sender.device
        var submission = CaptureRecord.Submission(body: body)
        submission.deviceID = device.id
        submission.publicKey = device.signer.publicKey.sec1
        submission.rpID = device.rpID
        submission.counter = counter
        submission.keyLevel = device.level.rawValue
        submission.submittedAt = progress.record.submittedAt
        if progress.record.submissions > 0 {
            progress.resubmission = submission
        } else {
            try keep(&progress) { record in
                record.state = .queued
                record.submission = submission
            }
        }
        CaptureFailpoint.queued.reach()
    }

    /// Stores the record as `submitted`: from here on, the server may have received the request.
    func keepSubmitted(_ progress: inout Progress, at time: Date) throws(CaptureError) {
        let resubmission = progress.resubmission
        progress.resubmission = nil
        try keep(&progress) { record in
            if let resubmission { record.resubmit(resubmission) }
            record.state = .submitted
            record.submissions += 1
            record.submittedAt = time
        }
        CaptureFailpoint.submitted.reach()
    }

    func accept(
        _ progress: inout Progress,
        _ id: String,
        _ url: String?,
        status: Int?
    ) throws(CaptureError) {
        try keep(&progress) { record in
            record.state = .accepted
            record.serverCaptureID = id
            record.verificationURL = url ?? record.verificationURL
            record.httpStatus = status
            record.errorCode = nil
            record.errorDetail = nil
        }
        progress.record.closeOthers(in: library, at: clock())
    }

    func keep(
        _ progress: inout Progress,
        _ error: CaptureError? = nil,
        _ change: (inout CaptureRecord) -> Void
    ) throws(CaptureError) {
        change(&progress.record)
        if let error {
            progress.record.errorCode = error.code.rawValue
            progress.record.errorDetail = error.detail
            progress.record.httpStatus = error.httpStatus
        }
        progress.record.updatedAt = clock()
        try CaptureError.stored(library.keep(progress.record))
    }
}

/// The consequence of a failed submission for its record (hash-only contract 1.3); covers all errors.
enum SubmissionVerdict: Equatable {
    /// The server did not accept the capture, but may accept it later: `queued`.
    case again
    /// The server has accepted the capture, or may have accepted it, without confirmation: `unknown_outcome`.
    case unknown
    /// The server failed, possibly after storing the capture: `unknown_outcome` until a query shows that there is no
    /// capture.
    case failedInside
    /// The server rejected this capture permanently: `rejected`.
    case rejected
    /// Nothing was signed: `pending`.
    case unsigned

    /// Classifies an error from `CaptureClient.submit`, or from an earlier step.
    ///
    /// A device problem (its key, counter, level or clock) does not concern the capture, which may still be submitted
    /// under a different registration and stays `queued`.
    init(_ error: CaptureError) {
        switch error.code {
        case .signingFailed, .keyUnusable, .tpmUnusable, .counterExhausted: self = .unsigned
        // 500 comes from the server itself; 502 and 504 come from a proxy whose server may still be processing the
        // request.
        case .unknownOutcome: self = error.httpStatus == 500 ? .failedInside : .unknown
        case .transport: self = error.isRetryable ? .again : .unknown
        // Thrown only before the whole body was sent.
        case .cancelled: self = .again
        case .serverError, .rateLimited, .requestTimeout, .locked, .clockWrong, .redirected, .busy: self = .again
        case .assertionRefused, .requestSignatureRefused, .counterOutdated, .unauthorized, .forbidden: self = .again
        case .deviceUnknown, .deviceUnverified, .notRegistered: self = .again
        case .duplicate: self = .rejected
        // This does not concern the capture: a duplicate has its own code.
        case .conflict: self = .again
        // The error is retryable if a proxy refused the request.
        case .badRequest, .unsupportedMedia, .payloadTooLarge: self = error.isRetryable ? .again : .rejected
        case .unexpectedResponse, .notFound, .captureNotFound: self = Self.ofUnexpected(error.httpStatus)
        case .storeUnusable, .diskFull, .recordUnusable, .internalError: self = .again
        // Detected before anything was sent.
        case .sourceChanged, .fileUnreadable, .fileNotFound: self = .again
        default: self = .unknown
        }
    }

    /// Classifies an unexpected response. A 404 or 405 without a code comes from a wrong URL, and shows nothing about
    /// the capture.
    private static func ofUnexpected(_ status: Int?) -> SubmissionVerdict {
        switch status {
        case .some(404), .some(405): .again
        case .some(400..<500): .rejected
        default: .unknown
        }
    }
}
