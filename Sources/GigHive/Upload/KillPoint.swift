internal import Foundation

/// Places where a debug build can be made to die, to prove that nothing is lost there. Compiled out of release builds.
///
/// `MEDIACTL_KILL_AT` names one; the process then kills itself with SIGKILL when it gets there.
enum KillPoint: String, CaseIterable {
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

    /// Dies here if asked to.
    @inline(__always)
    func reach() {
        #if DEBUG
            if Self.chosen == self {
                kill(getpid(), SIGKILL)
            }
        #endif
    }

    #if DEBUG
        private static let chosen = ProcessInfo.processInfo.environment["MEDIACTL_KILL_AT"].flatMap(KillPoint.init)
    #endif
}
