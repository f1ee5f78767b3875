internal import MediaSystem

/// Where an upload can be made to die; ``KillPlace`` tells how.
enum KillPoint: String, CaseIterable, KillPlace {
    /// The intent row is written, nothing is sent.
    case afterIntent
    /// A part of the body is out.
    case midBody
    /// Every byte is out, the answer is awaited.
    case afterBody
    /// The answer is in the rescue file and nowhere else.
    case replyInRescueFile
    /// The answer is understood, its token not yet committed.
    case beforeTokenCommit
    /// The token is committed, the rescue file still there.
    case afterTokenCommit
    /// tus: the upload is created, its id known to this process alone.
    case afterCreate
    /// tus: the id is in the journal, nothing is sent.
    case afterTusID
    /// tus: a chunk is out but for its last byte.
    case midPatch
    /// tus: a chunk is acknowledged, others remain.
    case afterPatch
    /// tus: every chunk is acknowledged, the journal does not say so yet.
    case afterAllBytes
    /// tus: the finalize request is out, its answer not in.
    case finalizeSent

    /// The places that a multipart upload passes.
    static let ofMultipart: [KillPoint] = [
        .afterIntent, .midBody, .afterBody, .replyInRescueFile, .beforeTokenCommit, .afterTokenCommit,
    ]
    /// The places that a tus upload passes.
    static let ofTus: [KillPoint] = [
        .afterIntent, .afterCreate, .afterTusID, .midPatch, .afterPatch, .afterAllBytes, .finalizeSent,
        .replyInRescueFile, .beforeTokenCommit, .afterTokenCommit,
    ]
}
