internal import Foundation
internal import MediaFiles
internal import MediaSystem
internal import Outcomes

/// Checks for threads and file descriptors: without enough of them, libdispatch and libcurl wait forever or terminate
/// the process.
enum ProcessResources {
    /// Number of threads in addition to one per core: the transfer loop, signals, digests and files.
    private static let extraThreads = 4
    /// Number of descriptors used by a transfer: databases, locks, the file, sockets, and the runtime's descriptors.
    private static let descriptorCount = 24

    /// Bytes of address space that the runtime and libcurl reserve later. Without them, allocations fail during a command.
    private static let laterAddressSpace = 40 << 20

    /// nil if nothing is missing.
    static func shortage() -> UserFacingError? {
        MemoryAllocator.configure()
        if let code = missingDescriptors() {
            return UserFacingError(
                .resourcesExhausted,
                "not enough file descriptors: \(SystemError.words(code))",
                hint: "raise the limit with: ulimit -n 1024"
            )
        }
        if let code = missingThreads() {
            return UserFacingError(
                .resourcesExhausted,
                "cannot start threads: \(SystemError.words(code))",
                hint: "raise the limits on processes and memory (ulimit -u, ulimit -v)"
            )
        }
        return nil
    }

    /// Returns the `errno` of the first descriptor that cannot be opened.
    private static func missingDescriptors() -> Int32? {
        var opened: [Int32] = []
        defer { opened.forEach { close($0) } }
        for _ in 0..<descriptorCount {
            // The standard streams are open (`StandardStreams`).
            let descriptor = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
            guard descriptor >= 0 else { return errno }
            opened.append(descriptor)
        }
        return nil
    }

    /// Returns the `errno` of the first thread that cannot be started.
    private static func missingThreads() -> Int32? {
        let end = DispatchSemaphore(value: 0)
        var started = 0
        var code: Int32 = 0
        // `activeProcessorCount` opens files, so it is read after the descriptors have been checked.
        let wanted = extraThreads + ProcessInfo.processInfo.activeProcessorCount
        while code == 0, started < wanted {
            code = DedicatedThread.start { end.wait() }
            if code == 0 { started += 1 }
        }
        if code == 0 { code = missingAddressSpace() }
        for _ in 0..<started { end.signal() }
        return code == 0 ? nil : code
    }

    /// Returns the `errno` of the failed reservation; 0 if the address space is available.
    private static func missingAddressSpace() -> Int32 {
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
        let space = mmap(nil, laterAddressSpace, PROT_NONE, flags, -1, 0)
        guard let space, space != MAP_FAILED else { return errno }
        munmap(space, laterAddressSpace)
        return 0
    }
}

extension Program {
    /// Reports a lack of threads or file descriptors before anything needs them. Returns the exit code; nil if there
    /// are enough.
    public static func refuseTooFewResources() -> Int32? {
        guard let shortage = ProcessResources.shortage() else { return nil }
        let isJSON = CommandLine.arguments.dropFirst().contains("--json")
        let preferences = OutputPreferences(isJSON: isJSON)
        let context = CommandContext.process(interruption: Interruption())
        Console(context, schema: "mediactl.error/1", preferences: preferences).fail(shortage)
        return shortage.exitCode.rawValue
    }
}

/// Descriptors 0 to 2 of a program that was started without some of them (`>&-`).
enum StandardStreams {
    /// Opens the missing descriptors before anything else is opened. Otherwise, a socket or the journal would get the
    /// number of a standard stream, and messages would be written to it. A missing descriptor becomes `/dev/null`,
    /// opened for the opposite direction, so reading or writing fails with EBADF as on a closed descriptor.
    static func fillGaps() {
        for (descriptor, direction) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
            // open(2) returns the lowest free number, and all lower ones are taken.
            _ = open("/dev/null", direction)
        }
    }
}

/// The Swift runtime's crash reports.
enum CrashReports {
    /// Disables the runtime's backtraces: they prompt on a terminal and print memory, which may contain a password or a
    /// token. `SWIFT_BACKTRACE` in the environment, which the runtime has already read, still enables them.
    static func disable() {
        guard getenv("SWIFT_BACKTRACE") == nil else { return }
        for number in [SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP] {
            signal(number, SIG_DFL)
        }
    }
}
