internal import CaptureSubmission
internal import Foundation
internal import MediaStore

// A server stores one capture per media file, hash-only or full, and the reference server responds to any other
// submission with 500 (contract 1.3).
extension CaptureRecord {
    /// The outcome if the server has accepted the same media as a different record: that record, or an error if it
    /// lacks the media of a full upload. This record is closed, since its own data is not on the server. nil if there
    /// is no such record.
    func superseded(in library: LibraryStore, at time: Date) throws(CaptureError) -> CaptureOutcome? {
        guard let twin = try twins(in: library).first(where: { $0.state == .accepted }), isExcluded(by: twin) else {
            return nil
        }
        let closed = try closed(by: twin, in: library, at: time)
        do throws(CaptureError) {
            return try outcome(after: twin)
        } catch {
            return CaptureOutcome(record: closed, error: error)
        }
    }

    /// Whether the data of this record is not on the server, which has accepted another record of the media. If this
    /// record may have been sent, it may be the one on the server, unless the server's response shows that it stored
    /// the other record.
    private func isExcluded(by accepted: CaptureRecord) -> Bool { submissions == 0 || accepted.httpStatus == 202 }

    /// Another record of the same media that may be on the server, since the outcome of its submission is unknown.
    func unknownTwin(in library: LibraryStore) throws(CaptureError) -> CaptureRecord? {
        try twins(in: library).first { $0.state.mayBeOnServer }
    }

    /// Like `unknownTwin`, but also finds a full upload without a response that the server did not have when it was
    /// queried.
    func unresolvedTwin(in library: LibraryStore) throws(CaptureError) -> CaptureRecord? {
        try twins(in: library).first { twin in
            twin.state.mayBeOnServer || (twin.mode == .full && twin.state.isUnsent && twin.submissions > 0)
        }
    }

    private func twins(in library: LibraryStore) throws(CaptureError) -> [CaptureRecord] {
        try CaptureError.stored(library.captures(ofMedia: mediaHash))
            .filter { $0.id != id && $0.server == server && $0.mode != nil }
    }

    /// The error for submitting this media again while this record may be on the server.
    var unknownEarlier: CaptureError {
        CaptureError(
            .unknownOutcome,
            detail: "an earlier submission of this media may be on the server",
            value: id
        )
    }

    /// The outcome of submitting this record after the server has accepted another record of the same media.
    ///
    /// - Throws: `.duplicate` if that record lacks the media of a full upload.
    func outcome(after accepted: CaptureRecord) throws(CaptureError) -> CaptureOutcome {
        guard mode != .full || accepted.mode == .full else {
            let detail = "only its hash, as capture \(accepted.id.prefix(8))"
            throw CaptureError(.duplicate, detail: detail, value: accepted.id)
        }
        return CaptureOutcome(record: accepted, notices: notSent(after: accepted), isKnown: true)
    }

    /// Closes the unsent records of the same media after the server has accepted this record. After a failure, the next
    /// retry of such a record closes it.
    func closeOthers(in library: LibraryStore, at time: Date) {
        for other in (try? twins(in: library)) ?? [] where other.state.isUnsent && other.isExcluded(by: self) {
            _ = try? other.closed(by: self, in: library, at: time)
        }
    }

    private func closed(
        by accepted: CaptureRecord,
        in library: LibraryStore,
        at time: Date
    ) throws(CaptureError) -> CaptureRecord {
        var record = self
        record.state = .rejected
        record.errorCode = OutcomeCode.duplicate.rawValue
        record.errorDetail = "as capture \(accepted.id.prefix(8))"
        record.httpStatus = nil
        record.updatedAt = time
        try CaptureError.stored(library.keep(record))
        return record
    }
}
