internal import Glibc
internal import Synchronization

extension SHA256Digest {
    /// The digest of the first bytes of an open file, read with `pread` on a thread of its own; the file offset stays.
    ///
    /// Cancelling ends the reading after at most one block of 1 MiB and throws `CancellationError`.
    ///
    /// - Parameters:
    ///   - descriptor: Open for reading; it must stay open until this returns.
    ///   - byteCount: How many bytes, from the start.
    /// - Returns: The digest of exactly `byteCount` bytes.
    /// - Throws: `CryptoError`, with `systemError` when reading failed; also when the file ends before `byteCount`.
    public static func ofFile(descriptor: Int32, byteCount: Int64) async throws -> SHA256Digest {
        let isCancelled = Atomic(false)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let started = DedicatedThread.start {
                    continuation.resume(
                        with: Result {
                            try hashFile(descriptor, byteCount) { isCancelled.load(ordering: .relaxed) }
                        }
                    )
                }
                if !started { continuation.resume(throwing: CryptoError("no thread to hash on", systemError: EAGAIN)) }
            }
        } onCancel: {
            isCancelled.store(true, ordering: .relaxed)
        }
    }

    private static func hashFile(
        _ descriptor: Int32,
        _ byteCount: Int64,
        isCancelled: () -> Bool
    ) throws -> SHA256Digest {
        var hasher = try SHA256Hasher()
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
        defer { block.deallocate() }
        var offset: Int64 = 0
        while offset < byteCount {
            if isCancelled() { throw CancellationError() }
            let wanted = Int(min(Int64(block.count), byteCount - offset))
            let got = pread(descriptor, block.baseAddress, wanted, off_t(offset))
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw CryptoError("cannot read", systemError: errno) }
            guard got > 0 else { throw CryptoError("the file ended after \(offset) of \(byteCount) bytes") }
            hasher.update(UnsafeRawBufferPointer(rebasing: block[..<got]))
            offset += Int64(got)
        }
        return try hasher.snapshot()
    }
}
