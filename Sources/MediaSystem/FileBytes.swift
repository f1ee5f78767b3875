internal import Glibc

/// Positional reads and writes of an open file, which keep its offset and complete partial transfers.
package enum FileBytes {
    /// The system could not read or write.
    package struct Failure: Error {
        package var code: Int32
    }

    /// Fills a buffer. Returns the number of bytes read, which is smaller than the buffer only at the end of the file.
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

    /// Reads `count` bytes, fewer only at the end of the file.
    package static func read(_ descriptor: Int32, at offset: Int64, count: Int) throws(Failure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let result = bytes.withUnsafeMutableBytes { buffer in
            Result { () throws(Failure) in try read(descriptor, at: offset, into: buffer) }
        }
        bytes.removeLast(count - (try result.get()))
        return bytes
    }

    /// Writes all bytes. Returns the number of bytes written, and the failure that stopped the write, if any.
    package static func write(
        _ bytes: UnsafeRawBufferPointer,
        to descriptor: Int32,
        at offset: Int64
    ) -> (count: Int, failure: Failure?) {
        var written = 0
        while written < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            let count = pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(written))
            if count > 0 {
                written += count
            } else if errno != EINTR {
                return (written, Failure(code: errno))
            }
        }
        return (written, nil)
    }
}
