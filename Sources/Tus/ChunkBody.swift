internal import MediaCrypto
internal import MediaTransport
internal import Synchronization

/// One chunk of the content, read from the file directly into the socket's buffer and hashed while it is read. Its last
/// byte is sent only after `end` was released.
struct ChunkBody: RequestBody {
    let file: FileContent
    /// Offset of the chunk in the file.
    let start: Int64
    let byteCount: Int64
    let pipeline: HashPipeline
    let end = ChunkEnd()

    /// Throws `.sourceFailed` if the file cannot be opened or is shorter than the content.
    init(_ range: Range<Int64>, of content: TusContent, _ pipeline: HashPipeline) throws(TusError) {
        file = try content.openChecked()
        start = content.start + range.lowerBound
        byteCount = Int64(range.count)
        self.pipeline = pipeline
    }

    func range(in content: TusContent) -> Range<Int64> {
        start - content.start..<start - content.start + byteCount
    }

    func makeReader() throws -> any RequestBodyReader {
        try Reader(self)
    }

    private final class Reader: RequestBodyReader {
        private let chunk: ChunkBody
        private var offset: Int64 = 0
        private var lastByte: UInt8 = 0

        init(_ chunk: ChunkBody) throws {
            self.chunk = chunk
            try reachEndIfDue()
        }

        var isHeld: Bool { chunk.end.isHeld }

        func onRelease(_ wake: @escaping @Sendable () -> Void) {
            chunk.end.onRelease(wake)
        }

        func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
            let beforeLast = chunk.byteCount - 1 - offset
            guard beforeLast > 0 else { return try readLastByte(into: buffer) }
            let window = UnsafeMutableRawBufferPointer(
                rebasing: buffer.prefix(Int(min(Int64(buffer.count), beforeLast)))
            )
            let count = try chunk.file.read(at: chunk.start + offset, into: window)
            chunk.pipeline.append(UnsafeRawBufferPointer(rebasing: window[..<count]))
            offset += Int64(count)
            try reachEndIfDue()
            return count
        }

        /// Called only before anything is sent: there is nothing to undo.
        func rewind() {}

        /// Hashes the last byte before it is sent, so the proof of the whole chunk can be stored first.
        private func reachEndIfDue() throws {
            guard offset == chunk.byteCount - 1 else { return }
            try withUnsafeMutableBytes(of: &lastByte) { byte in
                _ = try chunk.file.read(at: chunk.start + offset, into: byte)
                chunk.pipeline.append(UnsafeRawBufferPointer(byte))
            }
            chunk.end.reach()
        }

        private func readLastByte(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
            if let failure = chunk.end.failure { throw failure }
            guard offset < chunk.byteCount else { return 0 }
            buffer[0] = lastByte
            offset += 1
            return 1
        }
    }
}

extension TusContent {
    /// Throws if the file ends before the content does.
    func openChecked() throws(TusError) -> FileContent {
        let file: FileContent
        do {
            file = try open()
        } catch {
            throw TusError(.sourceFailed, detail: "\(error)", underlying: error)
        }
        guard file.byteCount >= start + byteCount else {
            let error = FileContentError.shrank(expected: start + byteCount, actual: file.byteCount)
            throw TusError(.sourceFailed, detail: "\(error)", underlying: error)
        }
        return file
    }
}

/// Synchronizes the thread that sends a chunk with the task that stores its proof: the sender stops before the last
/// byte until the task releases it.
final class ChunkEnd: Sendable {
    private enum Stage {
        case sending
        case held
        case released
        case failed
        /// The transfer ended before its last byte was reached.
        case missed
    }

    private struct State {
        var stage = Stage.sending
        var failure: (any Error)?
        var wake: (@Sendable () -> Void)?
        var keeper: CheckedContinuation<Bool, Never>?
    }

    private let state = Mutex(State())

    // MARK: The sending thread

    /// All bytes but the last were passed on, and all bytes have been hashed.
    func reach() {
        leaveSending(for: .held)?.resume(returning: true)
    }

    var isHeld: Bool { state.withLock { $0.stage == .held } }

    func onRelease(_ wake: @escaping @Sendable () -> Void) {
        state.withLock { $0.wake = wake }
    }

    // MARK: The storing task

    /// Waits for the sender. Returns false if the transfer ended before its last byte.
    func reached() async -> Bool {
        await withCheckedContinuation { continuation in
            let response = state.withLock { state -> Bool? in
                switch state.stage {
                case .sending:
                    state.keeper = continuation
                    return nil
                case .missed: return false
                case .held, .released, .failed: return true
                }
            }
            if let response { continuation.resume(returning: response) }
        }
    }

    /// Allows sending the last byte.
    func release() {
        enter(.released)
    }

    /// Forbids sending the last byte.
    func fail(_ error: any Error) {
        enter(.failed, error)
    }

    // MARK: The owner

    func transferEnded() {
        leaveSending(for: .missed)?.resume(returning: false)
    }

    /// Whether the proof of the whole chunk is stored.
    var isReleased: Bool { state.withLock { $0.stage == .released } }

    /// Why the proof could not be stored.
    var failure: (any Error)? { state.withLock { $0.failure } }

    private func leaveSending(for next: Stage) -> CheckedContinuation<Bool, Never>? {
        state.withLock { state in
            guard state.stage == .sending else { return nil }
            state.stage = next
            return exchange(&state.keeper, with: nil)
        }
    }

    private func enter(_ stage: Stage, _ failure: (any Error)? = nil) {
        let wake = state.withLock { state in
            state.stage = stage
            state.failure = failure
            return state.wake
        }
        wake?()
    }
}

/// Adapts the size of chunks: small enough that an interruption costs little and every proxy accepts them, large enough
/// that the round trips between them do not matter.
struct ChunkSize {
    /// A chunk that takes longer than this is large enough for its network.
    private static let slow = Duration.seconds(5)
    /// A chunk that takes longer than this is too large: an interruption would cost as much time again.
    private static let tooSlow = Duration.seconds(20)
    /// How much smaller the first chunk of a run is than the one that ended the last run. Runs may end every few
    /// seconds, and with a proxy that buffers chunks, only whole chunks count: the default reaches the minimum in the
    /// fourth run.
    private static let reductionByRun: Int64 = 8
    private static let longestRun = 16

    /// Size of the next chunk in bytes.
    private(set) var current: Int64
    private let minimum: Int64
    private var ceiling: Int64
    /// Consecutive chunks that took less time than `slow`, since the size last changed.
    private var run = 0
    /// The number of such chunks that increases the size; doubled by each interruption, so the size stays below the
    /// capacity of the network.
    private var runNeeded = 2

    init(_ options: TusSendOptions) {
        if let fixed = options.fixedChunkBytes {
            (current, minimum, ceiling) = (max(1, fixed), max(1, fixed), max(1, fixed))
            return
        }
        current = max(1, options.chunkBytes)
        minimum = max(1, min(options.minimumChunkBytes, current))
        ceiling = max(options.maximumChunkBytes, current)
    }

    /// The last run ended in this chunk, and the server now has the first `offset` bytes: if it kept nothing of the
    /// chunk, the chunk is not sent in the same size again.
    mutating func resume(after last: TusChunk, at offset: Int64) {
        let fitting = offset > last.offset ? last.byteCount : last.byteCount / Self.reductionByRun
        current = max(minimum, min(current, fitting))
    }

    mutating func completed(in duration: Duration) {
        guard duration < Self.slow else {
            run = 0
            if duration >= Self.tooSlow { current = max(minimum, current / 2) }
            return
        }
        run += 1
        guard run >= runNeeded else { return }
        run = 0
        current = current > ceiling / 2 ? ceiling : current * 2
    }

    /// A chunk was interrupted. Returns whether the next one will be smaller.
    mutating func cut() -> Bool {
        run = 0
        runNeeded = min(runNeeded * 2, Self.longestRun)
        defer { current = max(minimum, current / 2) }
        return current > minimum
    }

    /// A chunk was refused as too large (413): its size is not used again. Returns whether the next
    /// one will be smaller.
    mutating func refused(_ byteCount: Int64) -> Bool {
        run = 0
        guard min(current, byteCount) > minimum else { return false }
        current = max(minimum, min(current, byteCount) / 2)
        ceiling = current
        return true
    }
}
