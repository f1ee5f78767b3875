#if KILL_POINTS
    internal import Foundation
    internal import Synchronization
#endif

/// A place where a build for tests can be made to die, to prove that nothing is lost there. Compiled out of release builds:
/// debug builds set the condition `KILL_POINTS` (Package.swift).
///
/// `MEDIACTL_KILL_AT` names one; the process then kills itself with SIGKILL when it gets there. With
/// `MEDIACTL_KILL_AFTER` it passes the place so many times first.
package protocol KillPlace: RawRepresentable<String>, CaseIterable, Sendable {}

extension KillPlace {
    /// Dies here if asked to.
    @inline(__always)
    package func reach() {
        #if KILL_POINTS
            KillSwitch.pass(rawValue)
        #endif
    }
}

#if KILL_POINTS
    /// What the environment asks for.
    private enum KillSwitch {
        private static let chosen = ProcessInfo.processInfo.environment["MEDIACTL_KILL_AT"]
        private static let passesLeft = Mutex(
            ProcessInfo.processInfo.environment["MEDIACTL_KILL_AFTER"].flatMap { Int($0) } ?? 0
        )

        static func pass(_ place: String) {
            guard chosen == place else { return }
            let isDue = passesLeft.withLock { left in
                left -= 1
                return left < 0
            }
            if isDue { kill(getpid(), SIGKILL) }
        }
    }
#endif
