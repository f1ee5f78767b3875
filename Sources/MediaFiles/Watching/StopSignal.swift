internal import Glibc

/// Wakes a thread that waits in `poll`, from any other thread, at any time.
final class StopSignal: Sendable {
    /// Becomes readable once the signal was given, and stays so.
    let readEnd: Int32
    private let writeEnd: Int32

    /// Nil, with `errno`, when the system has no descriptors left.
    init?() {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { return nil }
        (readEnd, writeEnd) = (ends[0], ends[1])
    }

    /// A full socket has been signalled already, so that failing does no harm.
    func signal() {
        _ = write(writeEnd, [0], 1)
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }
}
