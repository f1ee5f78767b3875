extension StreamingAEAD {
    /// Opens a ciphertext. Plaintext is given out only in segments that were authenticated; all of it is right only when
    /// this returns.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - associatedData: As when it was sealed.
    ///   - read: Fills a buffer and returns how many bytes, 0 at the end.
    ///   - body: Gets the plaintext; valid during the call only.
    /// - Throws: `CryptoError` `.isDamaged` for a wrong key, wrong associated data, and anything that was changed, cut off
    ///   or added; what `read` and `body` throw.
    package static func decrypt(
        key: Key,
        associatedData: [UInt8],
        read: (UnsafeMutableRawBufferPointer) throws -> Int,
        _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        // One byte more than a segment: whether it comes shows whether the segment is the last.
        var buffer = SegmentBuffer(byteCount: segmentByteCount + 1)
        try fill(&buffer, below: headerByteCount, read)
        guard buffer.count == headerByteCount else {
            throw CryptoError("the ciphertext ends within its header", isDamaged: true)
        }
        let header = Array(buffer.first(headerByteCount))
        var cipher = try SegmentCipher(.open, header: header, key: key, associatedData: associatedData)
        buffer.count = 0
        var size = segmentByteCount - headerByteCount
        while true {
            try fill(&buffer, below: size + 1, read)
            let isLast = buffer.count <= size
            let segment = buffer.first(min(buffer.count, size))
            let next = isLast ? nil : buffer.first(size + 1).last
            try cipher.open(segment, isLast: isLast)
            try body(UnsafeRawBufferPointer(rebasing: segment.dropLast(tagByteCount)))
            guard let next else { return }
            buffer.first(1)[0] = next
            buffer.count = 1
            size = segmentByteCount
        }
    }

    private static func fill(
        _ buffer: inout SegmentBuffer,
        below limit: Int,
        _ read: (UnsafeMutableRawBufferPointer) throws -> Int
    ) throws {
        while buffer.count < limit {
            let count = try read(buffer.room(below: limit))
            guard count > 0 else { return }
            guard count <= limit - buffer.count else { throw CryptoError("more was read than there is room for") }
            buffer.count += count
        }
    }
}
