internal import MediaSystem

/// Failpoints in a registration or a capture; see ``Failpoint``.
enum CaptureFailpoint: String, CaseIterable, Failpoint {
    /// Registration: the key is on disk, but not registered.
    case keyWritten
    /// Registration: the device is registered, but not yet recorded locally.
    case deviceRegistered
    /// The media is encrypted under a temporary name; there is no record.
    case mediaInDraft
    /// The record is stored; the media still has its temporary name.
    case recordKept
    /// The media and its record are stored; nothing is signed.
    case committed
    /// Two counters are used; nothing is signed.
    case countersTaken
    /// The payload is signed, but not yet stored in the record.
    case payloadSigned
    /// The record is `queued`.
    case queued
    /// The request is signed as well.
    case requestSigned
    /// The record is `submitted`; nothing is sent.
    case submitted
    /// The server has responded; the response is not stored.
    case responseReceived
    /// The record has its final state.
    case outcomeRecorded
}
