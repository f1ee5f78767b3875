internal import MediaSystem

/// Failpoints of an upload; see ``Failpoint``.
enum UploadFailpoint: String, CaseIterable, Failpoint {
    /// The intent row is written; nothing is sent.
    case afterIntent
    /// Part of the body is sent.
    case midBody
    /// Every byte is sent; the response is pending.
    case afterBody
    /// The response is only in the rescue file.
    case responseInRescueFile
    /// The response is parsed; its token is not yet committed.
    case beforeTokenCommit
    /// The token is committed; the rescue file still exists.
    case afterTokenCommit
    /// tus: the upload is created; its ID is known only to this process.
    case afterCreate
    /// tus: the ID is in the journal; nothing is sent.
    case afterTusID
    /// tus: a chunk is sent except its last byte.
    case midPatch
    /// tus: a chunk is acknowledged; others remain.
    case afterPatch
    /// tus: every chunk is acknowledged, but not yet in the journal.
    case afterAllBytes
    /// tus: the finalize request is sent; its response is pending.
    case finalizeSent
}
