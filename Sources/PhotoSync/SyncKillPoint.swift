internal import MediaSystem

/// Where a run with a photo server can be made to die; ``KillPlace`` tells how.
enum SyncKillPoint: String, CaseIterable, KillPlace {
    /// Pull: a page has come, nothing of it is stored.
    case betweenPageAndCommit
    /// Pull: a page and its cursor are stored.
    case afterPage
    /// Pull: the last page is stored, the run not recorded as complete.
    case beforeFinish
    /// Pull: the run is recorded as complete, the counts not yet read.
    case afterFinish
    /// Claim: some blocks are claimed, others not.
    case betweenClaims
    /// Claim: everything is claimed, the index does not say so yet.
    case afterClaim
    /// Push: the digest is known, nothing is asked or sent.
    case pushAfterHash
    /// Push: the server has the photo, this process alone knows it.
    case pushAfterUpload
    /// Push: the photo is confirmed as owned, the library does not say so yet.
    case pushBeforeRecord
    /// Push: the library says that the photo is there.
    case pushAfterRecord
    /// Download: the name is taken in the library, nothing is written.
    case downloadPlanned
    /// Download: a part of the bytes is in the temporary file.
    case downloadMidBody
    /// Download: all bytes are in the temporary file, not yet verified.
    case downloadAfterBody
    /// Download: verified under the temporary name, and the library says so.
    case downloadWritten
    /// Download: under its name, the library does not say so yet.
    case downloadRenamed

    /// The places that a pull passes.
    static let ofPull: [SyncKillPoint] = [.betweenPageAndCommit, .afterPage, .beforeFinish, .afterFinish]
}
