internal import CFileSystem
internal import Glibc

/// The addresses that the process may use (`ulimit -v`).
package enum AddressSpace {
    /// Saves addresses where they are limited: each thread would get an arena of its own for its memory, which takes 64 MiB.
    package static func saveIfLimited() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0, limit.rlim_cur != rlim_t.max else {
            return
        }
        use_one_arena()
    }
}
