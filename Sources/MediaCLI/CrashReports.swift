internal import Foundation

/// What Swift's runtime shows when a program crashes.
enum CrashReports {
    /// Turns the runtime's backtraces off: they stop for questions on a terminal and print memory, which may hold a
    /// password or a token. `SWIFT_BACKTRACE` in the environment, which the runtime has read by now, keeps them.
    static func disable() {
        guard getenv("SWIFT_BACKTRACE") == nil else { return }
        for number in [SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP] {
            signal(number, SIG_DFL)
        }
    }
}
