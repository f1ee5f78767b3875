internal import Glibc
internal import Synchronization

/// Reading a file front to back, away from the few threads of Swift's pool.
package enum FileReading {
    private static let blockSize = 1 << 20

    /// Runs blocking work on a thread of its own.
    ///
    /// - Parameter work: Gets a function that says whether the task was cancelled.
    /// - Returns: What `work` returns.
    /// - Throws: What `work` throws; `CryptoError` when the system has no thread to give.
    package static func onOwnThread<Value: Sendable>(
        _ work: @escaping @Sendable (_ isCancelled: @escaping @Sendable () -> Bool) throws -> Value
    ) async throws -> Value {
        let flag = CancellationFlag()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let started = DedicatedThread.start {
                    continuation.resume(with: Result { try work { flag.isSet } })
                }
                if !started { continuation.resume(throwing: CryptoError("no thread to hash on", systemError: EAGAIN)) }
            }
        } onCancel: {
            flag.set()
        }
    }

    /// Reads exactly `byteCount` bytes from `offset` on with `pread`, in blocks of at most 1 MiB that are valid during
    /// the call only.
    ///
    /// - Throws: What `body` throws; `CryptoError`, with `systemError` when reading failed, and when the file ends early.
    static func read(
        _ descriptor: Int32,
        from offset: Int64,
        byteCount: Int64,
        _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: blockSize, alignment: 4096)
        defer { block.deallocate() }
        var done: Int64 = 0
        while done < byteCount {
            let wanted = Int(min(Int64(block.count), byteCount - done))
            let target = UnsafeMutableRawBufferPointer(rebasing: block[..<wanted])
            let got = try readOnce(descriptor, at: offset + done, into: target)
            guard got > 0 else {
                throw CryptoError("the file ended after \(offset + done) of \(offset + byteCount) bytes")
            }
            try body(UnsafeRawBufferPointer(rebasing: block[..<got]))
            done += Int64(got)
        }
    }

    /// Reads with `pread`, once.
    ///
    /// - Returns: How many bytes, 0 at the end of the file.
    /// - Throws: `CryptoError`, with `systemError`.
    static func readOnce(
        _ descriptor: Int32,
        at offset: Int64,
        into buffer: UnsafeMutableRawBufferPointer
    ) throws(CryptoError) -> Int {
        while true {
            let got = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
            if got >= 0 { return got }
            guard errno == EINTR else { throw CryptoError("cannot read", systemError: errno) }
        }
    }

    private final class CancellationFlag: Sendable {
        private let flag = Atomic(false)

        var isSet: Bool { flag.load(ordering: .relaxed) }

        func set() { flag.store(true, ordering: .relaxed) }
    }
}
