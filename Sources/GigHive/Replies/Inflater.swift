/// One DEFLATE stream (RFC 1951), decoded bit by bit: responses are small, and every index is checked.
struct Inflater {
    /// What was decoded.
    private(set) var output: [UInt8] = []

    private let input: ArraySlice<UInt8>
    private let limit: Int
    private var position: Int
    private var bitBuffer: UInt32 = 0
    private var bitCount = 0

    private enum Stop: Error {
        case cutOff
        case invalid
    }

    init(_ input: ArraySlice<UInt8>, limit: Int) {
        self.input = input
        self.limit = limit
        position = input.startIndex
    }

    /// Whether all input was used.
    var isAtEnd: Bool { position == input.endIndex }

    /// The bytes behind the stream; nil if there are fewer.
    func trailer(_ count: Int) -> ArraySlice<UInt8>? {
        input.endIndex - position >= count ? input[position..<position + count] : nil
    }

    /// Decodes to the end of the stream, of the input, or of the bound.
    mutating func run() -> Inflation.End {
        do throws(Stop) {
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
            return error == .cutOff ? .cutOff : .invalid
        }
    }

    // MARK: Blocks

    private mutating func copyStored() throws(Stop) {
        bitBuffer = 0
        bitCount = 0
        let count = try byte() | byte() << 8
        let inverted = try byte() | byte() << 8
        guard count == ~inverted & 0xffff else { throw .invalid }
        for _ in 0..<count { try append(UInt8(truncatingIfNeeded: try byte())) }
    }

    private mutating func decodeDynamic() throws(Stop) {
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
        guard lengths.count == lengthCount + distanceCount, let literals = HuffmanCode(lengths.prefix(lengthCount)),
            let distances = HuffmanCode(lengths.suffix(distanceCount))
        else { throw .invalid }
        try decode(literals, distances)
    }

    private mutating func decode(_ literals: HuffmanCode, _ distances: HuffmanCode) throws(Stop) {
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

    private mutating func append(_ byte: UInt8) throws(Stop) {
        guard output.count < limit else { throw .invalid }
        output.append(byte)
    }

    // MARK: Bits

    private mutating func byte() throws(Stop) -> Int {
        guard position < input.endIndex else { throw .cutOff }
        defer { position += 1 }
        return Int(input[position])
    }

    private mutating func bits(_ count: Int) throws(Stop) -> Int {
        while bitCount < count {
            bitBuffer |= UInt32(try byte()) << UInt32(bitCount)
            bitCount += 8
        }
        let value = Int(bitBuffer & ((1 << UInt32(count)) - 1))
        bitBuffer >>= UInt32(count)
        bitCount -= count
        return value
    }

    private mutating func symbol(_ code: HuffmanCode) throws(Stop) -> Int {
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

/// A canonical Huffman code: how many codes have each length, and their symbols in order.
struct HuffmanCode: Sendable {
    private(set) var counts = [Int](repeating: 0, count: 16)
    private(set) var symbols: [Int]

    /// - Returns: nil if the lengths describe more codes than there are, or a length is above 15.
    init?(_ lengths: ArraySlice<Int>) {
        self.init(complete: Array(lengths))
        guard lengths.allSatisfy({ $0 <= 15 }) else { return nil }
        var free = 1
        for count in counts.dropFirst() {
            free = (free << 1) - count
            guard free >= 0 else { return nil }
        }
    }

    /// - Returns: nil as above.
    init?(_ lengths: [Int]) {
        self.init(lengths[...])
    }

    /// A code whose lengths are known to be valid.
    fileprivate init(complete lengths: [Int]) {
        for length in lengths where length <= 15 { counts[length] += 1 }
        symbols = lengths.indices.filter { lengths[$0] > 0 }.sorted { (lengths[$0], $0) < (lengths[$1], $1) }
        counts[0] = 0
    }
}
