/// How large the next chunk is: small enough that a cut costs little and every proxy lets it pass, large enough that the
/// round trips between chunks do not count.
struct ChunkSize {
    /// A chunk that takes longer than this is large enough for its network.
    private static let slow = Duration.seconds(5)
    private static let longestRun = 16

    /// Bytes of the next chunk.
    private(set) var current: Int64
    private let minimum: Int64
    private var ceiling: Int64
    /// Good chunks in a row since the size last changed.
    private var run = 0
    /// How many of them let it grow; more after each cut, so that it settles below what the network does not carry.
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

    /// A whole chunk went well.
    mutating func completed(in duration: Duration) {
        guard duration < Self.slow else {
            run = 0
            return
        }
        run += 1
        guard run >= runNeeded else { return }
        run = 0
        current = min(current * 2, ceiling)
    }

    /// A chunk was broken off under way.
    ///
    /// - Returns: Whether the next will be smaller.
    mutating func cut() -> Bool {
        run = 0
        runNeeded = min(runNeeded * 2, Self.longestRun)
        defer { current = max(minimum, current / 2) }
        return current > minimum
    }

    /// A chunk was refused as too large (413): none of its size will be tried again.
    ///
    /// - Returns: Whether the next will be smaller.
    mutating func refused(_ byteCount: Int64) -> Bool {
        run = 0
        guard min(current, byteCount) > minimum else { return false }
        current = max(minimum, min(current, byteCount) / 2)
        ceiling = current
        return true
    }
}
