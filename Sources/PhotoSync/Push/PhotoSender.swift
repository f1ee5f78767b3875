internal import Foundation
internal import Glibc
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport
internal import Synchronization

/// A hashed file that the server lacks.
struct PhotoToSend: Sendable {
    var candidate: PushCandidate
    var digest: TreeHashing.Digest
}

/// A file that the server has answered for.
struct SentPhoto: Sendable {
    var photo: PhotoToSend
    var takenAt: PhotoTime?
    var receipt: PhotoReceipt
    /// Body bytes of all tries.
    var bytesSent: Int64
    var attempts: Int
    /// Whether an earlier try may have reached the server although its answer was lost.
    var wasAmbiguous: Bool

    /// How it ended.
    func item(_ state: PushItem.State, photoID: String?, error: PhotoSyncError? = nil) -> PushItem {
        PushItem(
            path: photo.candidate.path,
            state: state,
            sizeBytes: photo.digest.identity.size,
            sha256: photo.digest.sha256,
            photoID: photoID,
            takenAt: takenAt,
            bytesSent: bytesSent,
            attempts: attempts,
            error: error
        )
    }
}

/// A file that was not sent, and why.
struct SendFailure: Error {
    var error: PhotoSyncError
    var takenAt: PhotoTime?
    var bytesSent: Int64
    var attempts: Int
}

/// Sends one file, again where that may help (photosync contract section 10).
struct PhotoSender: Sendable {
    let client: PhotoSyncClient
    let deviceID: String
    let retry: RetryPolicy
    let control: TransferControl
    let report: PushReport

    /// Sends a file that still is what was hashed.
    ///
    /// Sending the same bytes again is safe, since the server knows them by their hash: so also an upload whose answer was
    /// lost is repeated.
    func send(_ photo: PhotoToSend) async throws(SendFailure) -> SentPhoto {
        var failure = SendFailure(error: PhotoSyncError(.cancelled), takenAt: nil, bytesSent: 0, attempts: 0)
        do throws(PhotoSyncError) {
            let file = try open(photo)
            failure.takenAt = try PhotoDate.of(file)
            let receipt = try await send(photo, file, &failure)
            guard (try? file.currentStatus()) == file.status else {
                // Whatever the server has now, it is not known to be this file.
                throw changed(photo, while: "it was sent")
            }
            return SentPhoto(
                photo: photo,
                takenAt: failure.takenAt,
                receipt: receipt,
                bytesSent: failure.bytesSent,
                attempts: failure.attempts,
                wasAmbiguous: failure.attempts > 1
            )
        } catch {
            failure.error = error
            throw failure
        }
    }

    private func open(_ photo: PhotoToSend) throws(PhotoSyncError) -> SourceFile {
        let file: SourceFile
        do {
            file = try SourceFile(path: photo.candidate.path)
        } catch {
            throw PhotoSyncError.source(error)
        }
        guard file.status == photo.digest.identity else { throw changed(photo, while: "it waited") }
        return file
    }

    private func changed(_ photo: PhotoToSend, while happening: String) -> PhotoSyncError {
        PhotoSyncError(.sourceChanged, detail: "the file changed while \(happening)", path: photo.candidate.path)
    }

    /// Tries until the server answers with success, or trying again would not help.
    private func send(
        _ photo: PhotoToSend,
        _ file: SourceFile,
        _ account: inout SendFailure
    ) async throws(PhotoSyncError) -> PhotoReceipt {
        let canceled = PhotoSyncError(.cancelled, path: photo.candidate.path)
        var backoff = Backoff(retry)
        var slowPhoto = Backoff(.slowPhoto)
        return try await backoff.run(
            pausing: control.waitForStop(upTo:),
            canceled: canceled,
            retryAfter: { error in
                if error.code == .bodyTooSlow, slowPhoto.next() == nil { return nil }
                return error.isRetryable ? .zero : nil
            }
        ) { () async throws(PhotoSyncError) in
            if control.isStopRequested { throw canceled }
            account.attempts += 1
            let gauge = SendGauge(report: report)
            defer { account.bytesSent += gauge.bytes }
            do throws(PhotoSyncError) {
                return try await sendOnce(photo, file, takenAt: account.takenAt, gauge)
            } catch {
                gauge.takeBack()
                throw error.at(photo.candidate.path)
            }
        }
    }

    private func sendOnce(
        _ photo: PhotoToSend,
        _ file: SourceFile,
        takenAt: PhotoTime?,
        _ gauge: SendGauge
    ) async throws(PhotoSyncError) -> PhotoReceipt {
        let descriptor: Int32
        do {
            descriptor = try file.duplicateDescriptor()
        } catch {
            throw PhotoSyncError.source(error)
        }
        let upload = PhotoUpload(
            content: FileContent(owning: descriptor, byteCount: file.status.size),
            fileName: photo.candidate.fileName,
            takenAt: takenAt,
            deviceID: deviceID
        )
        return try await client.upload(upload, control: control) { gauge.note($0.bytesAcknowledged) }
    }
}

/// What one try has sent, as part of the whole.
private final class SendGauge: Sendable {
    private let report: PushReport
    private let sent = Mutex<Int64>(0)

    init(report: PushReport) {
        self.report = report
    }

    var bytes: Int64 { sent.withLock { $0 } }

    func note(_ total: Int64) {
        let more = sent.withLock { sent in
            defer { sent = max(sent, total) }
            return max(0, total - sent)
        }
        if more > 0 { report.progress { $0.bytesSent += more } }
    }

    /// The try has failed: what it sent must be sent again.
    func takeBack() {
        let bytes = bytes
        if bytes > 0 { report.progress { $0.bytesSent -= bytes } }
    }
}

extension PhotoSyncError {
    /// The same error of a local file.
    func at(_ path: [UInt8]) -> PhotoSyncError {
        var error = self
        error.path = error.path ?? path
        return error
    }
}
