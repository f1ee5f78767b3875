internal import Glibc

/// Reads at a place in an open file, which leave the file's offset alone and do not stop half-way.
package enum FileBytes {
    /// The system could not read.
    package struct Failure: Error {
        /// The `errno`.
        package var code: Int32
    }

    /// Fills a buffer.
    ///
    /// - Returns: How many bytes were read; fewer than the buffer holds only where the file ends.
    package static func read(
        _ descriptor: Int32,
        at offset: Int64,
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(Failure) -> Int {
        var filled = 0
        while filled < buffer.count {
            let start = buffer.baseAddress.map { $0 + filled }
            let count = pread(descriptor, start, buffer.count - filled, off_t(offset) + off_t(filled))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Failure(code: errno) }
            if count == 0 { break }
            filled += count
        }
        return filled
    }

    /// Reads a number of bytes.
    ///
    /// - Returns: The bytes; fewer only where the file ends.
    package static func read(_ descriptor: Int32, at offset: Int64, count: Int) throws(Failure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let result = bytes.withUnsafeMutableBytes { buffer in
            Result { () throws(Failure) in try read(descriptor, at: offset, into: buffer) }
        }
        bytes.removeLast(count - (try result.get()))
        return bytes
    }
}
