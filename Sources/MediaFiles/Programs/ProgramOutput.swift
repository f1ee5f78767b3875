internal import Glibc

/// Our end of a pipe that a program writes into; never waits.
struct ProgramOutput: ~Copyable {
    /// -1 once everything was read.
    private(set) var descriptor: Int32

    /// More than any pipe holds: one that writes faster than we read must not keep us from looking for anything else.
    private static let longestTurn = 4 << 20

    /// Takes a descriptor over; -1 has nothing to read.
    init(owning descriptor: Int32) {
        self.descriptor = descriptor
        if descriptor >= 0 { _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Whether everything was read, and nobody can write any more.
    var isAtEnd: Bool { descriptor < 0 }

    /// Hands over what is there, in pieces.
    ///
    /// - Parameters:
    ///   - limit: No more bytes than this; the rest stays where it is.
    ///   - body: Gets each piece.
    mutating func read(upTo limit: Int = longestTurn, _ body: (ArraySlice<UInt8>) -> Void) {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        var rest = min(limit, Self.longestTurn)
        while descriptor >= 0, rest > 0 {
            let count = Glibc.read(descriptor, &buffer, min(buffer.count, rest))
            if count > 0 {
                body(buffer[..<count])
                rest -= count
            } else if count < 0, errno == EAGAIN {
                return
            } else if count == 0 || errno != EINTR {
                close(descriptor)
                descriptor = -1
            }
        }
    }
}
