internal import MediaSystem

/// Where a registration or a capture can be made to die; ``KillPlace`` tells how.
enum CaptureKillPoint: String, CaseIterable, KillPlace {
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
}
