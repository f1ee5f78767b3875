/// Memory for one segment of a `StreamingAEAD`, filled from the front. Freed with its owner.
struct SegmentBuffer: ~Copyable {
    private let storage: UnsafeMutableRawBufferPointer
    /// How many bytes count.
    var count = 0

    init(byteCount: Int) {
        storage = .allocate(byteCount: byteCount, alignment: 64)
    }

    deinit {
        storage.deallocate()
    }

    /// The first bytes, whether they count or not; valid while the buffer is.
    func first(_ byteCount: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: storage[..<byteCount])
    }

    /// What is behind the bytes that count, up to `limit`.
    func room(below limit: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: storage[count..<limit])
    }

    /// Copies as many bytes as fit below `limit`.
    ///
    /// - Returns: The bytes that did not fit.
    mutating func fill(from bytes: UnsafeRawBufferPointer, below limit: Int) -> UnsafeRawBufferPointer {
        let piece = UnsafeRawBufferPointer(rebasing: bytes.prefix(limit - count))
        room(below: limit).copyMemory(from: piece)
        count += piece.count
        return UnsafeRawBufferPointer(rebasing: bytes.dropFirst(piece.count))
    }
}
