import Foundation

/// A stored file that is being served: opened once, so what replaces it under its name does not mix with it.
final class OpenFile: Sendable {
    /// Bytes.
    let size: Int
    /// Whole seconds since 1970.
    let modifiedAt: Int
    /// Owned by this object alone: opened in `init`, closed in `deinit`; `pread` keeps no position.
    private let descriptor: CInt

    /// Nil when there is no such file, or it cannot be read.
    init?(path: String) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else { return nil }
        size = Int(status.st_size)
        modifiedAt = Int(status.st_mtim.tv_sec)
    }

    deinit {
        close(descriptor)
    }

    /// At most so many bytes; fewer at the end.
    func read(at offset: Int, count: Int) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            let result = pread(descriptor, buffer.baseAddress, count, off_t(offset))
            guard result >= 0 else { throw SystemError(call: "pread", code: errno) }
            filled = result
        }
    }
}
