internal import Glibc
internal import Synchronization

/// A place where a build for tests can be made to die, to prove that nothing is lost there. Compiled out of every other build:
/// the condition `KILL_POINTS` is set by debug builds and by `scripts/build.sh --build-tests`.
///
/// `MEDIACTL_KILL_AT` names one; the process then kills itself with SIGKILL when it gets there. With
/// `MEDIACTL_KILL_AFTER` it passes the place so many times first.
package protocol KillPlace: RawRepresentable, Sendable where RawValue == String {}

extension KillPlace {
    /// Dies here if asked to.
    package func reach() {
        #if KILL_POINTS
            KillOrder.given?.obey(at: rawValue)
        #endif
    }
}

#if KILL_POINTS
    /// What the environment asks for.
    private final class KillOrder: Sendable {
        static let given = value("MEDIACTL_KILL_AT").map { KillOrder(place: $0) }

        private let place: String
        private let passesLeft = Mutex(KillOrder.value("MEDIACTL_KILL_AFTER").flatMap { Int($0) } ?? 0)

        private init(place: String) {
            self.place = place
        }

        func obey(at reached: String) {
            guard reached == place else { return }
            let isDue = passesLeft.withLock { left in
                left -= 1
                return left < 0
            }
            if isDue { kill(getpid(), SIGKILL) }
        }

        private static func value(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
    }
#endif
