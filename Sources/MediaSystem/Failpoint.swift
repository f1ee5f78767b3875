internal import Glibc
internal import Synchronization

/// A failpoint: a place where a test build can be killed, to prove that nothing is lost there. Compiled out of every
/// other build: the condition `KILL_POINTS` is set by debug builds and by `scripts/build.sh --build-tests`.
///
/// `MEDIACTL_KILL_AT` selects a failpoint, where the process kills itself with SIGKILL. `MEDIACTL_KILL_AFTER` is the
/// number of passes before that.
package protocol Failpoint: RawRepresentable, Sendable where RawValue == String {}

extension Failpoint {
    /// Kills the process here if requested.
    package func reach() {
        #if KILL_POINTS
            KillOrder.given?.obey(at: rawValue)
        #endif
    }
}

#if KILL_POINTS
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
