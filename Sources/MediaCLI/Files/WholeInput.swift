internal import Glibc
internal import MediaSystem

/// Reads files of any kind to their end: regular ones, pipes, somebody's standard input. Blocks.
enum WholeInput {
    /// Why there are no bytes.
    enum Failure: Error, Equatable {
        /// The `errno` of opening or reading.
        case system(Int32)
        /// There is more than the limit.
        case tooLarge
        case cancelled
    }

    /// Everything in a file.
    ///
    /// - Parameters:
    ///   - path: Of the file.
    ///   - limit: Bytes at most.
    /// - Returns: Its bytes.
    /// - Throws: `Failure`.
    static func all(at path: [UInt8], limit: Int) throws(Failure) -> [UInt8] {
        let descriptor = try opened(path)
        defer { close(descriptor) }
        return try all(from: descriptor, limit: limit)
    }

    /// Opens a file for reading. O_NONBLOCK: opening a FIFO does not wait for its writer; reading does.
    ///
    /// - Throws: `Failure`.
    static func opened(_ path: [UInt8]) throws(Failure) -> Int32 {
        let descriptor = open(path.cString, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw .system(errno) }
        return descriptor
    }

    /// Everything up to the end of what a descriptor leads to; it may be somebody's non-blocking pipe.
    ///
    /// - Parameters:
    ///   - descriptor: Stays open.
    ///   - limit: Bytes at most.
    ///   - isCancelled: Asked ten times a second while nothing comes.
    /// - Returns: The bytes.
    /// - Throws: `Failure`.
    static func all(
        from descriptor: Int32,
        limit: Int,
        isCancelled: () -> Bool = { false }
    ) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        try chunks(from: descriptor, isCancelled: isCancelled) { chunk in
            bytes += chunk
            return bytes.count <= limit
        }
        guard bytes.count <= limit else { throw .tooLarge }
        return bytes
    }

    /// Reads to the end as above, and hands over each piece.
    ///
    /// - Parameters:
    ///   - descriptor: Stays open.
    ///   - isCancelled: Asked ten times a second while nothing comes.
    ///   - body: Returns whether to continue.
    /// - Throws: `Failure`.
    static func chunks(
        from descriptor: Int32,
        isCancelled: () -> Bool = { false },
        _ body: (UnsafeRawBufferPointer) -> Bool
    ) throws(Failure) {
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            guard !isCancelled() else { throw .cancelled }
            // A FIFO that nobody has opened for writing yet would read as empty, but is not ready.
            var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&event, 1, 100) > 0 else { continue }
            let got = read(descriptor, &chunk, chunk.count)
            if got < 0, errno == EINTR || errno == EAGAIN { continue }
            guard got >= 0 else { throw .system(errno) }
            guard got > 0 else { return }
            guard chunk.withUnsafeBytes({ body(UnsafeRawBufferPointer(rebasing: $0[..<got])) }) else { return }
        }
    }
}
