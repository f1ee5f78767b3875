internal import MediaCore
internal import MediaSystem

/// The texts inside the bytes of a response: decompressed, converted to UTF-8, and decoded from Base64.
///
/// Encodings are recognized by the bytes alone: headers may be missing or wrong, and a response left by an interrupted
/// run has none.
struct DecodedBody {
    /// The texts; each is the content of the one before it.
    private(set) var texts: [[UInt8]] = []
    /// Whether the innermost bytes are text. Otherwise the content is unknown.
    private(set) var isText = true

    /// Maximum number of layers; more indicate an attack.
    private static let deepest = 4

    init(_ body: [UInt8]) {
        var layer = body
        for _ in 0..<Self.deepest {
            if let wide = WideText.decoding(layer) {
                layer = wide
                continue
            }
            let hasNoControls = Self.isText(layer)
            // A short compressed response may have no control characters, but it is hardly ever UTF-8.
            if !hasNoControls || String(validating: layer, as: UTF8.self) == nil,
                let inflation = Inflation.decoding(layer[...]),
                hasNoControls ? inflation.end == .complete : inflation.end != .invalid
            {
                layer = inflation.bytes
                continue
            }
            texts.append(layer)
            isText = hasNoControls
            guard hasNoControls, let content = Base64.decoding(layer[...]) else { return }
            layer = content
        }
        texts.append(layer)
        isText = false
    }

    /// Whether bytes are text in an ASCII-compatible encoding: almost no control characters.
    private static func isText(_ bytes: [UInt8]) -> Bool {
        let controls = bytes.count { byte in
            byte == 0x7f || (byte < 0x20 && !(0x09...0x0d).contains(byte) && byte != 0x1b)
        }
        return controls * 100 <= bytes.count
    }
}

/// Text in UTF-16 and UTF-32, with or without a byte order mark.
private enum WideText {
    private struct Form {
        var unit: Int
        var isBigEndian: Bool
        var mark: [UInt8]
    }

    /// The longer marks come first: a UTF-32 mark may begin with a UTF-16 mark.
    private static let forms = [
        Form(unit: 4, isBigEndian: false, mark: [0xff, 0xfe, 0, 0]),
        Form(unit: 4, isBigEndian: true, mark: [0, 0, 0xfe, 0xff]),
        Form(unit: 2, isBigEndian: false, mark: [0xff, 0xfe]),
        Form(unit: 2, isBigEndian: true, mark: [0xfe, 0xff]),
    ]

    /// The text in UTF-8; nil if the bytes are not wide text.
    static func decoding(_ bytes: [UInt8]) -> [UInt8]? {
        if let marked = forms.first(where: { bytes.starts(with: $0.mark) }) {
            return decode(bytes.dropFirst(marked.mark.count), marked)
        }
        return forms.first { isLikely(bytes, $0) }.flatMap { decode(bytes[...], $0) }
    }

    /// Whether nearly all units are ASCII characters.
    private static func isLikely(_ bytes: [UInt8], _ form: Form) -> Bool {
        let sample = bytes.prefix(1024)
        let count = sample.count / form.unit
        guard count >= 8 else { return false }
        let matches = (0..<count).count { index in
            let unit = sample[index * form.unit..<(index + 1) * form.unit]
            let digits = form.isBigEndian ? Array(unit) : unit.reversed()
            return digits.dropLast().allSatisfy { $0 == 0 } && digits[form.unit - 1] != 0
        }
        return matches * 10 >= count * 9
    }

    private static func decode(_ bytes: ArraySlice<UInt8>, _ form: Form) -> [UInt8] {
        // The file of an interrupted run may lack the zeros of its last character.
        let missing = (form.unit - bytes.count % form.unit) % form.unit
        let padded = Array(bytes) + Array(repeating: 0, count: missing)
        let units = stride(from: 0, to: padded.count, by: form.unit).map { start -> UInt32 in
            let unit = padded[start..<start + form.unit]
            return (form.isBigEndian ? Array(unit) : unit.reversed()).reduce(0) { $0 << 8 | UInt32($1) }
        }
        if form.unit == 2 {
            return Array(String(decoding: units.map { UInt16(truncatingIfNeeded: $0) }, as: UTF16.self).utf8)
        }
        return Array(String(decoding: units, as: UTF32.self).utf8)
    }
}

/// Base64 (RFC 4648), in either alphabet, with or without line breaks and padding.
enum Base64 {
    /// The content of a text that is Base64 throughout, even in quotes or after `base64,`; nil for any other text.
    static func decoding(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var rest = text
        if let label = ResponseText.range(of: "base64,", in: text.prefix(128)) { rest = text[label.upperBound...] }
        var content: [UInt8] = []
        content.reserveCapacity(rest.count / 4 * 3)
        var buffer: UInt32 = 0
        var count = 0
        for byte in rest where !isIgnored(byte) {
            guard let digit = digit(byte) else { return nil }
            buffer = buffer << 6 | digit
            count += 1
            if count % 4 == 0 {
                content += [UInt8(buffer >> 16 & 0xff), UInt8(buffer >> 8 & 0xff), UInt8(buffer & 0xff)]
                buffer = 0
            }
        }
        // Anything shorter, such as one word, is not an encoded response.
        guard count >= 24 else { return nil }
        if count % 4 == 2 { content.append(UInt8(buffer >> 4 & 0xff)) }
        if count % 4 == 3 { content += [UInt8(buffer >> 10 & 0xff), UInt8(buffer >> 2 & 0xff)] }
        return isContent(content) ? content : nil
    }

    /// Whether decoded bytes are something that a server encodes: JSON, XML, a form, or compressed data. A token alone
    /// has only characters that Base64 also uses.
    private static func isContent(_ bytes: [UInt8]) -> Bool {
        if bytes.allSatisfy({ $0 >= 0x20 || (0x09...0x0d).contains($0) }) {
            return String(validating: bytes, as: UTF8.self) != nil
        }
        return (bytes.first == 0x1f || bytes.first == 0x78) && Inflation.decoding(bytes[...])?.end == .complete
    }

    /// Line breaks and padding. Spaces occur between words, not in Base64.
    private static func isIgnored(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "=") || byte == UInt8(ascii: "\"")
    }

    private static func digit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case 0x41...0x5a: UInt32(byte) - 0x41
        case 0x61...0x7a: UInt32(byte) - 0x61 + 26
        case 0x30...0x39: UInt32(byte) - 0x30 + 52
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }
}

/// One DEFLATE stream (RFC 1951), decoded bit by bit: responses are small, and every index is checked.
struct Inflater {
    private(set) var output: [UInt8] = []

    private let input: ArraySlice<UInt8>
    private let limit: Int
    private var position: Int
    private var bitBuffer: UInt32 = 0
    private var bitCount = 0

    init(_ input: ArraySlice<UInt8>, limit: Int) {
        self.input = input
        self.limit = limit
        position = input.startIndex
    }

    var isAtEnd: Bool { position == input.endIndex }

    /// The bytes after the stream; nil if there are fewer than `count`.
    func trailer(_ count: Int) -> ArraySlice<UInt8>? {
        input.endIndex - position >= count ? input[position..<position + count] : nil
    }

    /// Decodes to the end of the stream or of the input, or to the limit.
    mutating func run() -> Inflation.End {
        do throws(Inflation.End) {
            var isLast = false
            while !isLast {
                isLast = try bits(1) == 1
                switch try bits(2) {
                case 0: try copyStored()
                case 1: try decode(Self.fixedLengths, Self.fixedDistances)
                case 2: try decodeDynamic()
                default: throw .invalid
                }
            }
            return .complete
        } catch {
            return error
        }
    }

    // MARK: Blocks

    private mutating func copyStored() throws(Inflation.End) {
        bitBuffer = 0
        bitCount = 0
        let count = try byte() | byte() << 8
        let inverted = try byte() | byte() << 8
        guard count == ~inverted & 0xffff else { throw .invalid }
        for _ in 0..<count { try append(UInt8(truncatingIfNeeded: try byte())) }
    }

    private mutating func decodeDynamic() throws(Inflation.End) {
        let lengthCount = try bits(5) + 257
        let distanceCount = try bits(5) + 1
        let orderCount = try bits(4) + 4
        guard lengthCount <= 286, distanceCount <= 30 else { throw .invalid }
        var lengths = [Int](repeating: 0, count: 19)
        for symbol in Self.order.prefix(orderCount) { lengths[symbol] = try bits(3) }
        guard let meta = HuffmanCode(lengths) else { throw .invalid }
        lengths = []
        while lengths.count < lengthCount + distanceCount {
            switch try symbol(meta) {
            case 16:
                guard let last = lengths.last else { throw .invalid }
                lengths += Array(repeating: last, count: 3 + (try bits(2)))
            case 17: lengths += Array(repeating: 0, count: 3 + (try bits(3)))
            case 18: lengths += Array(repeating: 0, count: 11 + (try bits(7)))
            case let length: lengths.append(length)
            }
        }
        guard lengths.count == lengthCount + distanceCount,
            let literals = HuffmanCode(Array(lengths.prefix(lengthCount))),
            let distances = HuffmanCode(Array(lengths.suffix(distanceCount)))
        else { throw .invalid }
        try decode(literals, distances)
    }

    private mutating func decode(_ literals: HuffmanCode, _ distances: HuffmanCode) throws(Inflation.End) {
        while true {
            let symbol = try symbol(literals)
            switch symbol {
            case 0..<256: try append(UInt8(truncatingIfNeeded: symbol))
            case 256: return
            default:
                guard symbol - 257 < Self.lengths.count else { throw .invalid }
                let (shortest, lengthBits) = Self.lengths[symbol - 257]
                let length = shortest + (try bits(lengthBits))
                let code = try self.symbol(distances)
                guard code < Self.distances.count else { throw .invalid }
                let (nearest, distanceBits) = Self.distances[code]
                let distance = nearest + (try bits(distanceBits))
                guard distance <= output.count else { throw .invalid }
                for _ in 0..<length { try append(output[output.count - distance]) }
            }
        }
    }

    private mutating func append(_ byte: UInt8) throws(Inflation.End) {
        guard output.count < limit else { throw .invalid }
        output.append(byte)
    }

    // MARK: Bits

    private mutating func byte() throws(Inflation.End) -> Int {
        guard position < input.endIndex else { throw .cutOff }
        defer { position += 1 }
        return Int(input[position])
    }

    private mutating func bits(_ count: Int) throws(Inflation.End) -> Int {
        while bitCount < count {
            bitBuffer |= UInt32(try byte()) << UInt32(bitCount)
            bitCount += 8
        }
        let value = Int(bitBuffer & ((1 << UInt32(count)) - 1))
        bitBuffer >>= UInt32(count)
        bitCount -= count
        return value
    }

    private mutating func symbol(_ code: HuffmanCode) throws(Inflation.End) -> Int {
        var value = 0
        var first = 0
        var index = 0
        for count in code.counts.dropFirst() {
            value |= try bits(1)
            if value - first < count { return code.symbols[index + value - first] }
            index += count
            first = (first + count) << 1
            value <<= 1
        }
        throw .invalid
    }

    // MARK: Tables (RFC 1951 section 3.2)

    private static let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
    private static let lengths =
        table(
            firstBase: 3,
            extraBits: [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5]
        ) + [(258, 0)]
    private static let distances = table(
        firstBase: 1,
        extraBits: [
            0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13,
        ]
    )
    private static let fixedLengths = HuffmanCode(
        complete: Array(repeating: 8, count: 144) + Array(repeating: 9, count: 112) + Array(repeating: 7, count: 24)
            + Array(repeating: 8, count: 8)
    )
    private static let fixedDistances = HuffmanCode(complete: Array(repeating: 5, count: 30))

    private static func table(firstBase: Int, extraBits: [Int]) -> [(base: Int, bits: Int)] {
        var base = firstBase
        return extraBits.map { bits in
            defer { base += 1 << bits }
            return (base, bits)
        }
    }
}

/// A canonical Huffman code: the number of codes of each length, and their symbols in order.
struct HuffmanCode: Sendable {
    private(set) var counts = [Int](repeating: 0, count: 16)
    private(set) var symbols: [Int]

    /// - Returns: nil if the lengths, which are at most 15, are oversubscribed.
    init?(_ lengths: [Int]) {
        self.init(complete: lengths)
        var free = 1
        for count in counts.dropFirst() {
            free = (free << 1) - count
            guard free >= 0 else { return nil }
        }
    }

    /// A code whose lengths are known to be valid.
    fileprivate init(complete lengths: [Int]) {
        for length in lengths { counts[length] += 1 }
        symbols = lengths.indices.filter { lengths[$0] > 0 }.sorted { (lengths[$0], $0) < (lengths[$1], $1) }
        counts[0] = 0
    }
}

/// Decompresses DEFLATE (RFC 1951) in a gzip (RFC 1952) or zlib (RFC 1950) wrapper, or without one.
///
/// libcurl is not used for this: it would discard a truncated stream, whose decoded part may contain the delete token.
struct Inflation: Equatable {
    enum End: Error {
        /// The stream is complete, and its checksum, if it has one, is correct.
        case complete
        /// The input ended inside the stream.
        case cutOff
        /// Not DEFLATE, an incorrect checksum, or more output than the limit.
        case invalid
    }

    var bytes: [UInt8]
    var end: End

    /// Maximum number of decoded bytes.
    static let limit = 8 << 20
    /// Maximum number of decoded bytes per byte of input; text stays far below it.
    static let highestRatio = 200

    /// Decodes a response body. Returns nil if it has neither a gzip nor a zlib header and is not one complete DEFLATE
    /// stream.
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
        // The file of an interrupted run may lack the zeros at its end.
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
