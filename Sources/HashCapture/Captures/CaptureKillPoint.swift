internal import Foundation
internal import Synchronization

/// Places where a debug build can be made to die, to prove that nothing is lost there. Compiled out of release builds.
///
/// `MEDIACTL_KILL_AT` names one; the process then kills itself with SIGKILL when it gets there. With
/// `MEDIACTL_KILL_AFTER` it passes the place so many times first.
enum CaptureKillPoint: String, CaseIterable {
    /// Registration: the key is on the disk, the server has not heard of it.
    case keyWritten
    /// Registration: the server knows the device, this process alone knows that.
    case deviceRegistered
    /// The media is encrypted under a temporary name, there is no record.
    case mediaInDraft
    /// The record is kept, the media still has its temporary name.
    case recordKept
    /// Media and record are there, nothing is signed.
    case committed
    /// Two counters are used up, nothing is signed.
    case countersTaken
    /// The payload is signed, the record does not say so.
    case payloadSigned
    /// The record says `queued`.
    case queued
    /// The request is signed as well.
    case requestSigned
    /// The record says `submitted`, nothing is sent.
    case submitted
    /// The server has answered, the record does not say so.
    case answered
    /// The record says how it ended.
    case settled

    /// The places that a capture passes, in their order.
    static let ofCapture: [CaptureKillPoint] = allCases.filter { ![.keyWritten, .deviceRegistered].contains($0) }

    /// Dies here if asked to.
    @inline(__always)
    func reach() {
        #if DEBUG
            guard Self.chosen == self else { return }
            let isDue = Self.passesLeft.withLock { left in
                left -= 1
                return left < 0
            }
            if isDue {
                kill(getpid(), SIGKILL)
            }
        #endif
    }

    #if DEBUG
        private static let chosen = ProcessInfo.processInfo.environment["MEDIACTL_KILL_AT"]
            .flatMap(CaptureKillPoint.init)
        private static let passesLeft = Mutex(
            ProcessInfo.processInfo.environment["MEDIACTL_KILL_AFTER"].flatMap { Int($0) } ?? 0
        )
    #endif
}
