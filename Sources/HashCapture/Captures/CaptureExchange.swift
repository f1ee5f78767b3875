internal import CaptureSubmission
internal import Foundation
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// Takes one record to the server, or finds out whether it is there, and keeps each step before the next one is taken.
/// It knows the store, and has no way to the vault.
struct CaptureExchange: Sendable {
    /// How often signing may fail for one record.
    static let signingLimit = CaptureSession.signingLimit

    let sender: CaptureSender
    let library: LibraryStore
    let clock: @Sendable () -> Date
    let control: TransferControl

    /// A record on its way.
    struct Progress {
        var record: CaptureRecord
        var notices: [CaptureNotice] = []
        /// Seconds that the server's clock is ahead of this machine's.
        var clockOffset: TimeInterval = 0
    }

    // MARK: Sending

    /// Signs a record anew and sends it; once more when the server's clock differs.
    ///
    /// - Throws: `CaptureError` when the store cannot keep what happened.
    func submit(_ record: CaptureRecord) async throws(CaptureError) -> CaptureOutcome {
        try await run(record) { progress throws(CaptureError) in try await attempt(&progress) }
    }

    /// Makes an attempt, and one more when the server's clock differs.
    ///
    /// - Parameters:
    ///   - record: To be submitted.
    ///   - attempt: Keeps each of its steps.
    /// - Returns: Where the record has got to.
    /// - Throws: `CaptureError` when the store cannot keep what happened.
    func run(
        _ record: CaptureRecord,
        _ attempt: (inout Progress) async throws(CaptureError) -> Void
    ) async throws(CaptureError) -> CaptureOutcome {
        var progress = Progress(record: record)
        do throws(CaptureError) {
            if let twin = try twin(of: record), let id = twin.serverCaptureID {
                try accept(&progress, id, twin.verificationURL, status: nil)
                return CaptureOutcome(record: progress.record, notices: progress.notices, isKnown: true)
            }
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

    /// Another record of the same media that the server has accepted meanwhile: by its hash it knows one only, and the
    /// reference server would say no more than 500 (contract 1.3).
    private func twin(of record: CaptureRecord) throws(CaptureError) -> CaptureRecord? {
        try CaptureError.stored { () throws(StoreError) in try library.captures(ofMedia: record.mediaHash) }
            .first { $0.id != record.id && $0.server == record.server && $0.state == .accepted }
    }

    private func attempt(_ progress: inout Progress) async throws(CaptureError) {
        try checkStop()
        let payload = try payload(of: progress.record).restamped(at: time(progress))
        let submission = try await sender.sign(payload)
        CaptureKillPoint.payloadSigned.reach()
        try keepSigned(&progress, body: submission.body.bytes, counter: submission.payloadCounter)
        try checkStop()
        let sentAt = clock()
        let headers = try await sender.headers(of: submission, at: time(progress))
        CaptureKillPoint.requestSigned.reach()
        try keepSubmitted(&progress, at: sentAt)
        let reply = try await sender.send(submission, headers: headers, control: control)
        CaptureKillPoint.answered.reach()
        try settle(&progress, reply)
        CaptureKillPoint.settled.reach()
    }

    private func payload(of record: CaptureRecord) throws(CaptureError) -> HashOnlyPayload {
        guard let bytes = record.unsignedBody, let body = HashOnlyBody(bytes: bytes) else {
            throw CaptureError(.recordUnusable, detail: "the record holds no payload", value: record.id)
        }
        let payload = try HashOnlyPayload.reading(body, profile: sender.device.profile).payload
        guard payload.mediaHash.hex == record.mediaHash else {
            throw CaptureError(
                .recordUnusable,
                detail: "the payload names another hash than the record",
                value: record.id
            )
        }
        return payload
    }

    func settle(_ progress: inout Progress, _ reply: SubmissionReply) throws(CaptureError) {
        switch reply {
        case .accepted(let id, let url):
            try accept(&progress, id, url, status: 202)
        case .duplicate(let id?):
            // The server gives an id only to the device that it belongs to (contract 3.4 no. 4).
            try accept(&progress, id, nil, status: 409)
        case .duplicate(nil):
            throw CaptureError(
                .duplicate,
                detail: "the server has a capture of this media from another device",
                httpStatus: 409
            )
        }
    }

    /// The device's clock is wrong (contract 1.3): the answer tells by how much.
    private func adjustClock(_ progress: inout Progress, _ error: CaptureError) throws(CaptureError) {
        try takeBack(&progress, .queued, error)
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
