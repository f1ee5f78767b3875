internal import MediaCrypto
internal import MediaSystem
internal import MediaTransport
internal import Synchronization

/// Hands the bytes of a file to the hash as they are sent, and notes when the last of them went.
final class HashTap: ByteTap {
    private struct State {
        var byteCount: Int64 = 0
        var completedAt: ContinuousClock.Instant?
    }

    private let pipeline: HashPipeline
    private let expected: Int64
    private let state = Mutex(State())

    init(_ pipeline: HashPipeline, expecting byteCount: Int64) {
        self.pipeline = pipeline
        expected = byteCount
    }

    func append(_ bytes: UnsafeRawBufferPointer) {
        pipeline.append(bytes)
        let byteCount = state.withLock { state in
            state.byteCount += Int64(bytes.count)
            if state.byteCount >= expected {
                state.completedAt = .now
            }
            return state.byteCount
        }
        if byteCount > expected / 2 {
            KillPoint.midBody.reach()
        }
    }

    func restart() {
        pipeline.restart()
        state.withLock { $0 = State() }
    }

    /// When the last byte of the file was read for sending; nil while bytes remain.
    var completedAt: ContinuousClock.Instant? {
        state.withLock { $0.completedAt }
    }

    /// The digest of the whole file; nil unless every byte of it was sent.
    func digest() async throws(CryptoError) -> String? {
        guard completedAt != nil else { return nil }
        let (digest, byteCount) = try await pipeline.finish()
        return byteCount == expected ? digest.hex : nil
    }
}
