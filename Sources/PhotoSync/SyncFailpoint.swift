internal import MediaSystem

/// Failpoints in PhotoSync commands; see ``Failpoint``.
enum SyncFailpoint: String, CaseIterable, Failpoint {
    /// Pull: a page was received; nothing is stored yet.
    case betweenPageAndCommit
    /// Pull: a page and its cursor are stored.
    case afterPage
    /// Pull: the last page is stored, but the run is not recorded as complete.
    case beforeFinish
    /// Pull: the run is recorded as complete; the counts are not read yet.
    case afterFinish
    /// Claim: only some blocks are claimed.
    case betweenClaims
    /// Claim: everything is claimed, but not yet recorded in the index.
    case afterClaim
    /// Push: the digest is computed; nothing is checked or uploaded.
    case pushAfterHash
    /// Push: the photo is on the server, but not yet recorded locally.
    case pushAfterUpload
    /// Push: the photo is confirmed as owned, but not yet in the library.
    case pushBeforeRecord
    /// Push: the photo is recorded in the library.
    case pushAfterRecord
    /// Download: the name is reserved in the library; nothing is written.
    case downloadPlanned
    /// Download: some of the bytes are in the temporary file.
    case downloadMidBody
    /// Download: all bytes are in the temporary file, not yet verified.
    case downloadAfterBody
    /// Download: verified under the temporary name, and recorded in the library as verified.
    case downloadWritten
    /// Download: renamed, but not yet recorded in the library.
    case downloadRenamed
    /// Repair: the damaged photo is deleted on the server; the original is not uploaded yet.
    case repairDeleted
}
