internal import Glibc
internal import MediaSystem

/// Input that can be read twice: a regular file, or an unnamed copy of a pipe in the temporary directory, readable by this
/// user only, that ends with the process.
final class SeekableInput: Sendable {
    /// Of the whole input, when it was opened.
    let byteCount: Int64
    private let descriptor: Int32
    private let start: Int64

    /// Opens a file of any kind. Blocks.
    ///
    /// - Throws: `WholeInput.Failure`.
    convenience init(at path: [UInt8]) throws(WholeInput.Failure) {
        let descriptor = try WholeInput.opened(path)
        defer { close(descriptor) }
        try self.init(copying: descriptor)
    }

    /// Takes what a descriptor leads to, from its position on. Blocks until a pipe ends.
    ///
    /// - Parameter descriptor: Stays open.
    /// - Throws: `WholeInput.Failure`.
    init(copying descriptor: Int32) throws(WholeInput.Failure) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .system(errno) }
        if status.st_mode & S_IFMT == S_IFREG {
            let own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
            guard own >= 0 else { throw .system(errno) }
            self.descriptor = own
            start = max(Int64(lseek(descriptor, 0, SEEK_CUR)), 0)
            byteCount = max(Int64(status.st_size) - start, 0)
        } else {
            let copy = try Self.unnamedFile()
            do throws(WholeInput.Failure) {
                byteCount = try Self.copy(descriptor, to: copy)
            } catch {
                close(copy)
                throw error
            }
            self.descriptor = copy
            start = 0
        }
    }

    deinit { close(descriptor) }

    /// Reads a part.
    ///
    /// - Returns: The bytes; fewer only at the end.
    /// - Throws: `WholeInput.Failure`.
    func read(at offset: Int64, count: Int) throws(WholeInput.Failure) -> [UInt8] {
        do throws(FileBytes.Failure) {
            return try FileBytes.read(descriptor, at: start + offset, count: count)
        } catch {
            throw .system(error.code)
        }
    }

    private static func unnamedFile() throws(WholeInput.Failure) -> Int32 {
        var template = Array("\(getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp")/mediactl-XXXXXX".utf8CString)
        // mkstemp creates 0600.
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw .system(errno) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        unlink(template)
        return descriptor
    }

    private static func copy(_ source: Int32, to target: Int32) throws(WholeInput.Failure) -> Int64 {
        var count: Int64 = 0
        var failure: WholeInput.Failure?
        try WholeInput.chunks(from: source) { bytes in
            if let code = FileBytes.write(bytes, to: target, at: count).failure?.code { failure = .system(code) }
            count += Int64(bytes.count)
            return failure == nil
        }
        if let failure { throw failure }
        return count
    }
}
