internal import CaptureSubmission
internal import Foundation
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem

/// What is kept of an exchange, before its next step.
extension CaptureExchange {
    /// `queued`, with what was signed and by whom; what may be there already stays `unknown_outcome` until it is sent.
    func keepSigned(_ progress: inout Progress, body: [UInt8], counter: UInt32) throws(CaptureError) {
        let device = sender.device
        try keep(&progress) { record in
            record.state = record.submissions > 0 ? .unknownOutcome : .queued
            record.body = body
            record.deviceID = device.id
            record.publicKey = device.signer.publicKey.sec1
            record.rpID = device.rpID
            record.counter = counter
            record.keyLevel = device.level.rawValue
        }
        CaptureKillPoint.queued.reach()
    }

    /// `submitted`: from now on the server may have it.
    func keepSubmitted(_ progress: inout Progress, at time: Date) throws(CaptureError) {
        try keep(&progress) { record in
            record.state = .submitted
            record.submissions += 1
            record.submittedAt = time
        }
        CaptureKillPoint.submitted.reach()
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
        try CaptureError.stored { () throws(StoreError) in try library.keep(progress.record) }
    }
}
