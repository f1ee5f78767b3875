internal import MediaCore
internal import MediaSystem

/// Decompresses DEFLATE (RFC 1951) in a gzip (RFC 1952) or zlib (RFC 1950) wrapper, or without one.
///
/// libcurl is not told to decode: it drops a stream that breaks off, and what was decoded until then may contain the
/// delete token.
struct Inflation: Equatable {
    /// Where the decoding stopped.
    enum End: Equatable {
        /// The stream is whole, and its checksum, if it has one, is correct.
        case complete
        /// The input ended inside the stream.
        case cutOff
        /// Not DEFLATE, an incorrect checksum, or more output than the bound.
        case invalid
    }

    /// What was decoded.
    var bytes: [UInt8]
    /// Where the decoding stopped.
    var end: End

    /// The most bytes that are decoded.
    static let limit = 8 << 20
    /// The most bytes per byte of input; text stays far below.
    static let highestRatio = 200

    /// Decodes a response body.
    ///
    /// - Returns: nil if the body has neither a gzip nor a zlib header, and is not one complete DEFLATE stream.
    static func decoding(_ body: ArraySlice<UInt8>) -> Inflation? {
        if body.starts(with: [0x1f, 0x8b, 8]) {
            return gzip(body)
        }
        if hasZlibHeader(body) {
            var inflater = Inflater(body.dropFirst(2), limit: bound(body))
            let end = inflater.run()
            let isIntact = inflater.trailer(4).map { value(bigEndian: $0) == adler32(inflater.output) } ?? true
            return Inflation(bytes: inflater.output, end: isIntact ? end : .invalid)
        }
        // A file of a stopped run may lack the zeros at its end.
        for padding in 0...1 {
            let padded = body + Array(repeating: 0, count: padding)
            var inflater = Inflater(padded, limit: bound(body))
            guard inflater.run() == .complete, inflater.isAtEnd, !inflater.output.isEmpty else { continue }
            return Inflation(bytes: inflater.output, end: .complete)
        }
        return nil
    }

    /// All members of a gzip file, one after the other.
    private static func gzip(_ body: ArraySlice<UInt8>) -> Inflation {
        var result = Inflation(bytes: [], end: .complete)
        var rest = body
        repeat {
            guard let content = skippingGzipHeader(rest) else {
                result.end = .cutOff
                break
            }
            var inflater = Inflater(content, limit: max(bound(body) - result.bytes.count, 0))
            result.end = inflater.run()
            result.bytes += inflater.output
            guard result.end == .complete else { break }
            guard let trailer = inflater.trailer(8) else { break }
            let check = value(bigEndian: Array(trailer.prefix(4).reversed())[...])
            guard check == CyclicCheck.gzip.of(inflater.output) else {
                result.end = .invalid
                break
            }
            rest = rest[trailer.endIndex...]
        } while rest.starts(with: [0x1f, 0x8b, 8])
        return result
    }

    private static func skippingGzipHeader(_ body: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard body.count >= 10 else { return nil }
        let flags = body[body.startIndex + 3]
        var rest = body.dropFirst(10)
        if flags & 4 != 0 {
            guard rest.count >= 2 else { return nil }
            let count = Int(rest[rest.startIndex]) | Int(rest[rest.startIndex + 1]) << 8
            rest = rest.dropFirst(2 + count)
        }
        for flag: UInt8 in [8, 16] where flags & flag != 0 {
            guard let zero = rest.firstIndex(of: 0) else { return nil }
            rest = rest[(zero + 1)...]
        }
        return flags & 2 == 0 ? rest : rest.dropFirst(2)
    }

    private static func hasZlibHeader(_ body: ArraySlice<UInt8>) -> Bool {
        guard body.count >= 2 else { return false }
        let method = body[body.startIndex]
        let header = UInt16(method) << 8 | UInt16(body[body.startIndex + 1])
        return method & 0x0f == 8 && method >> 4 <= 7 && header % 31 == 0 && header & 0x20 == 0
    }

    private static func bound(_ body: ArraySlice<UInt8>) -> Int {
        min(limit, max(64 << 10, body.count.multipliedReportingOverflow(by: highestRatio).partialValue))
    }

    private static func value(bigEndian bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }

    private static func adler32(_ bytes: [UInt8]) -> UInt32 {
        var low: UInt32 = 1
        var high: UInt32 = 0
        for byte in bytes {
            low = (low + UInt32(byte)) % 65521
            high = (high + low) % 65521
        }
        return high << 16 | low
    }
}
