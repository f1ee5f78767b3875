internal import MediaSystem
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
                let code = DedicatedThread.start {
                    continuation.resume(with: Result { try work { flag.isSet } })
                }
                if code != 0 { continuation.resume(throwing: CryptoError("no thread to hash on", systemError: code)) }
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
            let got = try fill(target, from: descriptor, at: offset + done)
            guard got > 0 else {
                throw CryptoError("the file ended after \(offset + done) of \(offset + byteCount) bytes")
            }
            try body(UnsafeRawBufferPointer(rebasing: block[..<got]))
            done += Int64(got)
        }
    }

    /// Fills a buffer, as far as the file goes.
    ///
    /// - Returns: How many bytes, 0 at the end of the file.
    /// - Throws: `CryptoError`, with `systemError`.
    static func fill(
        _ buffer: UnsafeMutableRawBufferPointer,
        from descriptor: Int32,
        at offset: Int64
    ) throws(CryptoError) -> Int {
        do {
            return try FileBytes.read(descriptor, at: offset, into: buffer)
        } catch {
            throw CryptoError("cannot read", systemError: error.code)
        }
    }

    private final class CancellationFlag: Sendable {
        private let flag = Atomic(false)

        var isSet: Bool { flag.load(ordering: .relaxed) }

        func set() { flag.store(true, ordering: .relaxed) }
    }
}
