internal import CFileSystem
internal import Glibc

/// The settings of malloc(3).
package enum MemoryAllocator {
    /// Adapts malloc to mediactl. Must be called before the first thread starts.
    package static func configure() {
        keep_freed_memory()
        if isAddressSpaceLimited {
            use_one_arena()
        }
    }

    /// Whether the address space is limited (`ulimit -v`). Each arena reserves 64 MiB of address space.
    private static var isAddressSpaceLimited: Bool {
        var limit = rlimit()
        return getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0 && limit.rlim_cur != rlim_t.max
    }
}
