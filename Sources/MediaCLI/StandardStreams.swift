internal import Foundation

/// The descriptors 0 to 2 of a program that was started without some of them (`>&-`).
enum StandardStreams {
    /// Fills the gaps, before anything else is opened: otherwise a socket or the journal gets the number of a standard
    /// stream, and messages are written into it.
    ///
    /// A gap becomes `/dev/null`, opened for the opposite direction, so that reading or writing fails with EBADF as it
    /// does on a closed descriptor.
    static func fillGaps() {
        for (descriptor, direction) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
            // The lowest free number is given, and all below are taken.
            _ = open("/dev/null", direction)
        }
    }
}
