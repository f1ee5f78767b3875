internal import CaptureSubmission
internal import Foundation
internal import MediaStore

// A server stores at most one submission of a media file. Until it is known which one is stored, all submissions are
// kept: each is the only evidence of what was signed.
extension CaptureRecord {
    /// Makes `next` the last submission; the server may have accepted the one before it.
    mutating func resubmit(_ next: Submission) {
        if let submission {
            earlierSubmissions = (earlierSubmissions ?? []) + [submission]
        }
        submission = next
    }

    /// Drops the last submission, which the server refused, and restores the one before it.
    mutating func withdrawLastSubmission() {
        guard let earlier = earlierSubmissions?.last else { return }
        submission = earlier
        keepEarlier(earlierSubmissions?.dropLast() ?? [])
    }

    /// The server does not have any of this device's submissions, but has the media from another device: restores the
    /// last submission from another device, if there is one.
    mutating func withdrawSubmissions(of device: String) {
        let others = (earlierSubmissions ?? []).filter { $0.deviceID != device }
        guard let last = others.last else { return withdrawLastSubmission() }
        submission = last
        keepEarlier(others.dropLast())
    }

    /// The server refused the last submission, since it has accepted an earlier one from the same device: restores the
    /// earlier one. If there are several, the others are kept.
    mutating func restoreEarlierSubmission(of device: String) {
        let own = (earlierSubmissions ?? []).filter { $0.deviceID == device }
        submission = own.first ?? submission
        keepEarlier(own.dropFirst())
    }

    /// The server has accepted a submission from this device: drops submissions from other devices.
    mutating func dropSubmissions(exceptOf device: String) {
        let own = ((earlierSubmissions ?? []) + [submission].compactMap { $0 }).filter { $0.deviceID == device }
        guard let last = own.last else { return }
        submission = last
        keepEarlier(own.dropLast())
    }

    /// This record after the server has lost the accepted capture: unsent again.
    func lost(at time: Date) -> CaptureRecord {
        var record = self
        record.state = body == nil ? .pending : .queued
        (record.submissions, record.earlierSubmissions) = (0, nil)
        (record.serverCaptureID, record.verificationURL) = (nil, nil)
        record.errorCode = OutcomeCode.captureNotFound.rawValue
        record.errorDetail = "the server no longer has it"
        record.httpStatus = 404
        record.updatedAt = time
        return record
    }

    private mutating func keepEarlier(_ earlier: ArraySlice<Submission>) {
        earlierSubmissions = earlier.isEmpty ? nil : Array(earlier)
    }

    /// Whether a device other than this one has sent a submission that the server may have.
    func isSubmitted(notBy device: String) -> Bool {
        deviceID != device || (earlierSubmissions ?? []).contains { $0.deviceID != device }
    }

    /// Whether the server, which refused the last submission, may have accepted an earlier one.
    var mayBeAcceptedEarlier: Bool { state == .rejected && submissions > 0 && httpStatus != nil }
}
