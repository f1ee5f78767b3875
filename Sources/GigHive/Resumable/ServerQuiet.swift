internal import Foundation
internal import MediaTransport
internal import Tus

/// Determines when a server cannot be working on a finalize any more: after `settleTime`, or once tus has nothing left of the
/// upload.
struct ServerQuiet {
    /// The state of the upload on the tus server.
    enum Look {
        case complete
        case incomplete
        case gone(GigHiveError)
        case unanswered(GigHiveError)
    }

    let tusID: String
    let sizeBytes: Int64
    let uploader: Uploader
    let control: TransferControl
    let onEvent: @Sendable (UploadEvent) -> Void

    func look() async -> Look {
        await control.abandoning { inner in
            do throws(TusError) {
                let status = try await uploader.tus.status(of: tusID, control: inner)
                return status.byteCount == nil || status.byteCount == status.offset ? .complete : .incomplete
            } catch {
                return error.kind == .gone ? .gone(.tus(error)) : .unanswered(.tus(error))
            }
        }
    }

    /// How long the server may still be working on a request that ended then.
    func remaining(since start: Date) -> Duration {
        uploader.settleTime(forBytes: sizeBytes, since: start)
    }

    /// False when the user stopped it.
    func wait(since start: Date, endsWhenGone: Bool) async -> Bool {
        let limit = remaining(since: start)
        onEvent(.waitingForQuiet(limit))
        // From here on by a monotonic clock: the other may be days behind `start`, or jump ahead.
        let end = ContinuousClock.now + limit
        var looks = 0
        while !control.isStopRequested {
            let rest = ContinuousClock.now.duration(to: end)
            if rest <= .zero {
                return true
            }
            if endsWhenGone, case .gone = await look() {
                return true
            }
            looks += 1
            _ = await control.waitForStop(upTo: min(uploader.schedule.pause(after: looks), rest))
        }
        return false
    }
}
