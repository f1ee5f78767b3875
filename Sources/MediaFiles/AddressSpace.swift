internal import CFileSystem
internal import Glibc

/// The process's address space limit (`ulimit -v`).
package enum AddressSpace {
    /// With a limit, all threads share one memory arena; otherwise each thread reserves 64 MiB.
    package static func saveIfLimited() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0, limit.rlim_cur != rlim_t.max else {
            return
        }
        use_one_arena()
    }
}
