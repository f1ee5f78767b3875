internal import Glibc

/// Asks whether a file is open for writing anywhere on this machine.
enum WriterProbe {
    enum Openness: Sendable {
        /// Nobody has it open for writing.
        case closed
        /// Somebody has, and will cause an event by closing it.
        case open
        /// The system does not tell.
        case unknown
    }

    /// fcntl(2), "Leases": a read lease is granted only while no descriptor is open for writing, with EAGAIN otherwise; for
    /// files of others it takes a privilege.
    ///
    /// - Parameter descriptor: Open for reading only. Its signal for input is changed.
    /// - Returns: What the lease tells.
    static func openness(_ descriptor: Int32) -> Openness {
        // A writer that comes while the lease is held makes the system signal us. The default, SIGIO, would end this process;
        // SIGURG is ignored unless asked for.
        guard fcntl(descriptor, setSignal, SIGURG) == 0 else { return .unknown }
        guard fcntl(descriptor, setLease, Int32(F_RDLCK)) == 0 else { return errno == EAGAIN ? .open : .unknown }
        _ = fcntl(descriptor, setLease, Int32(F_UNLCK))
        return .closed
    }

    // `F_SETSIG` and `F_SETLEASE` of Linux, which Swift's Glibc module does not offer.
    private static let setSignal: Int32 = 10
    private static let setLease: Int32 = 1_024
}
