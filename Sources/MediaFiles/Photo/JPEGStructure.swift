/// Checks a JPEG from its first marker to EOI, and decodes the Huffman codes of its scans without computing pixels, to
/// detect a file with fewer lines than its header specifies (ITU-T T.81).
///
/// Supports baseline, extended sequential and progressive images. Arithmetic coding, lossless and hierarchical images,
/// and a height specified only by a DNL marker are `.unchecked`.
struct JPEGStructure {
    /// Maximum number of blocks in a progressive image whose coefficients are tracked: 32 MiB of memory, enough for 178
    /// megapixels in 4:2:0.
    private static let maximumBlocks = 4 << 20
    /// Encoders write about 10 scans; without a limit, a small file could take hours (a known attack on progressive
    /// decoders).
    private static let maximumScans = 100

    private(set) var dimensions: PhotoStructure.Dimensions?
    private var bits: EntropyBits
    private var frame: Frame?
    private var dcTables: [HuffmanTable?] = Array(repeating: nil, count: 4)
    private var acTables: [HuffmanTable?] = Array(repeating: nil, count: 4)
    private var restartInterval = 0
    private var scans = 0

    init(_ bytes: ByteWindow) { bits = EntropyBits(bytes: bytes) }

    struct Frame {
        struct Component {
            var id: UInt8
            var horizontal: Int
            var vertical: Int
            /// Number of blocks per row and per column, rounded up to whole units.
            var columns = 0
            var rows = 0
            /// For each block of a progressive image, the coefficients known to be nonzero.
            var masks: [UInt64] = []
            /// For each coefficient, the lowest bit sent so far; nil before its first scan.
            var precision: [Int?] = Array(repeating: nil, count: 64)
        }

        var width: Int
        var height: Int
        var isProgressive: Bool
        var components: [Component]
        var horizontal: Int { components.map(\.horizontal).max() ?? 1 }
        var vertical: Int { components.map(\.vertical).max() ?? 1 }
    }

    /// The contents of a scan header.
    private struct Scan {
        var components: [(index: Int, dc: Int, ac: Int)]
        var first: Int
        var last: Int
        var high: Int
        var low: Int
    }

    // MARK: Markers

    mutating func check() throws(StructureError) {
        bits.bytes.seek(to: 2)
        while true {
            let marker = try nextMarker()
            switch marker {
            case 0xD9:
                try checkCompleteness()
                return
            case 0x01, 0xD0...0xD7: continue
            case 0xD8, 0x00: throw .damaged("invalid marker")
            default: break
            }
            let count = try bits.bytes.bigEndian(2) - 2
            guard count >= 0 else { throw .damaged("invalid segment") }
            let end = bits.bytes.position + Int64(count)
            guard end <= bits.bytes.content.count else { throw .truncated }
            switch marker {
            case 0xC0, 0xC1, 0xC2: try readFrame(isProgressive: marker == 0xC2)
            case 0xC4: try readTables(until: end)
            case 0xC3, 0xC5...0xC7, 0xC8...0xCF: throw .unchecked("unsupported JPEG coding")
            case 0xDC, 0xDE, 0xDF: throw .unchecked("unsupported JPEG coding")
            case 0xDD: restartInterval = try bits.bytes.bigEndian(2)
            case 0xDA:
                let scan = try readScan()
                bits.bytes.seek(to: end)
                try decode(scan)
                continue
            default: break
            }
            guard bits.bytes.position <= end else { throw .damaged("invalid segment") }
            bits.bytes.seek(to: end)
        }
    }

    /// Skips bytes before the next marker: some encoders add padding after image data.
    private mutating func nextMarker() throws(StructureError) -> UInt8 {
        if let marker = bits.takeMarker() { return marker }
        var isAfterFF = false
        while let byte = bits.bytes.next() {
            if byte == 0xFF {
                isAfterFF = true
            } else if isAfterFF, byte != 0 {
                return byte
            } else {
                isAfterFF = false
            }
        }
        throw .damaged("the file ends without an end marker")
    }

    private mutating func readFrame(isProgressive: Bool) throws(StructureError) {
        guard frame == nil else { throw .damaged("two headers") }
        _ = try bits.bytes.byte()
        let height = try bits.bytes.bigEndian(2)
        let width = try bits.bytes.bigEndian(2)
        guard width > 0 else { throw .damaged("no dimensions") }
        guard height > 0 else { throw .unchecked("a JPEG without height") }
        dimensions = PhotoStructure.Dimensions(width: width, height: height)
        let count = Int(try bits.bytes.byte())
        guard (1...4).contains(count) else { throw .damaged("invalid components") }
        var frame = Frame(width: width, height: height, isProgressive: isProgressive, components: [])
        for _ in 0..<count {
            let id = try bits.bytes.byte()
            let sampling = try bits.bytes.byte()
            _ = try bits.bytes.byte()
            let (horizontal, vertical) = (Int(sampling >> 4), Int(sampling & 15))
            guard (1...4).contains(horizontal), (1...4).contains(vertical),
                !frame.components.contains(where: { $0.id == id })
            else { throw .damaged("invalid components") }
            frame.components.append(Frame.Component(id: id, horizontal: horizontal, vertical: vertical))
        }
        let unitColumns = Self.quotient(width, 8 * frame.horizontal)
        let unitRows = Self.quotient(height, 8 * frame.vertical)
        var blocks = 0
        for index in frame.components.indices {
            frame.components[index].columns = unitColumns * frame.components[index].horizontal
            frame.components[index].rows = unitRows * frame.components[index].vertical
            blocks += frame.components[index].columns * frame.components[index].rows
        }
        if isProgressive {
            guard blocks <= Self.maximumBlocks else { throw .unchecked("a very large progressive JPEG") }
            for index in frame.components.indices {
                let component = frame.components[index]
                frame.components[index].masks = Array(repeating: 0, count: component.columns * component.rows)
            }
        }
        self.frame = frame
    }

    private static func quotient(_ number: Int, _ divisor: Int) -> Int { (number + divisor - 1) / divisor }

    private mutating func readTables(until end: Int64) throws(StructureError) {
        while bits.bytes.position < end {
            let place = try bits.bytes.byte()
            let counts = try bits.bytes.take(16)
            let values = try bits.bytes.take(counts.reduce(0) { $0 + Int($1) })
            guard place >> 4 <= 1, place & 15 <= 3, let table = HuffmanTable(counts: counts, values: values) else {
                throw .damaged("invalid Huffman table")
            }
            if place >> 4 == 0 {
                dcTables[Int(place & 15)] = table
            } else {
                acTables[Int(place & 15)] = table
            }
        }
    }

    private mutating func readScan() throws(StructureError) -> Scan {
        scans += 1
        guard scans <= Self.maximumScans else { throw .unchecked("a JPEG with too many scans") }
        guard let frame else { throw .damaged("image data without a header") }
        var components: [(index: Int, dc: Int, ac: Int)] = []
        for _ in 0..<(try bits.bytes.byte()) {
            let id = try bits.bytes.byte()
            let tables = try bits.bytes.byte()
            guard let index = frame.components.firstIndex(where: { $0.id == id }), tables >> 4 <= 3, tables & 15 <= 3,
                !components.contains(where: { $0.index == index })
            else { throw .damaged("invalid scan") }
            components.append((index, Int(tables >> 4), Int(tables & 15)))
        }
        let first = Int(try bits.bytes.byte())
        let last = Int(try bits.bytes.byte())
        let approximation = try bits.bytes.byte()
        let scan = Scan(
            components: components,
            first: frame.isProgressive ? first : 0,
            last: frame.isProgressive ? last : 63,
            high: frame.isProgressive ? Int(approximation >> 4) : 0,
            low: frame.isProgressive ? Int(approximation & 15) : 0
        )
        let isPossible =
            !components.isEmpty && scan.first <= scan.last && scan.last <= 63 && scan.low <= 13
            && (!frame.isProgressive
                || (scan.first == 0 ? scan.last == 0 : components.count == 1)
                    && (scan.high == 0 || scan.high == scan.low + 1))
        guard isPossible else { throw .damaged("invalid scan") }
        return scan
    }

    /// Checks that every coefficient of every component was sent to its last bit.
    private func checkCompleteness() throws(StructureError) {
        guard let frame else { throw .damaged("no image data") }
        for component in frame.components {
            guard component.precision.allSatisfy({ $0 == 0 }) else { throw .damaged("missing image data") }
        }
    }

    // MARK: Scans

    private mutating func decode(_ scan: Scan) throws(StructureError) {
        guard var frame else { return }
        // With a single owner, the frame's masks are modified in place.
        self.frame = nil
        defer { self.frame = frame }
        bits.restart()
        var line = 0
        do throws(StructureError) {
            try decode(scan, &frame, &line)
        } catch {
            guard case .truncated = error else { throw error }
            throw .damaged("image data ends at line \(line) of \(frame.height)")
        }
        for member in scan.components {
            for coefficient in scan.first...scan.last {
                frame.components[member.index].precision[coefficient] = scan.low
            }
        }
    }

    private mutating func decode(_ scan: Scan, _ frame: inout Frame, _ line: inout Int) throws(StructureError) {
        // A scan of one component does not have multi-block units, and omits blocks beyond the component's own edges.
        let isSingle = scan.components.count == 1
        var columns = Self.quotient(frame.width, 8 * frame.horizontal)
        var rows = Self.quotient(frame.height, 8 * frame.vertical)
        if isSingle {
            let index = scan.components[0].index
            let (horizontal, vertical) = (frame.components[index].horizontal, frame.components[index].vertical)
            columns = Self.quotient(Self.quotient(frame.width * horizontal, frame.horizontal), 8)
            rows = Self.quotient(Self.quotient(frame.height * vertical, frame.vertical), 8)
        }
        var run = 0
        var decoded = 0
        var restarts: UInt8 = 0
        for row in 0..<rows {
            line = frame.height * row / rows
            for column in 0..<columns {
                if restartInterval > 0, decoded == restartInterval {
                    guard try bits.nextRestart() == 0xD0 + restarts else { throw .truncated }
                    restarts = (restarts + 1) & 7
                    decoded = 0
                    run = 0
                }
                decoded += 1
                for member in scan.components {
                    let wide = isSingle ? 1 : frame.components[member.index].horizontal
                    let high = isSingle ? 1 : frame.components[member.index].vertical
                    for y in 0..<high {
                        let start = (row * high + y) * frame.components[member.index].columns + column * wide
                        for block in start..<(start + wide) {
                            try decodeBlock(block, of: &frame.components[member.index], scan, member, &run)
                        }
                    }
                }
            }
        }
    }

    private mutating func decodeBlock(
        _ block: Int,
        of component: inout Frame.Component,
        _ scan: Scan,
        _ member: (index: Int, dc: Int, ac: Int),
        _ run: inout Int
    ) throws(StructureError) {
        guard !component.masks.isEmpty else {
            try decodeFirstCoefficient(member.dc)
            try decodeSequential(member.ac)
            return
        }
        if scan.first == 0 {
            if scan.high == 0 { try decodeFirstCoefficient(member.dc) } else { try bits.skip(1) }
        } else if scan.high == 0 {
            try decodeFirstPass(&component.masks[block], scan, member.ac, &run)
        } else {
            try decodeRefinement(&component.masks[block], scan, member.ac, &run)
        }
    }

    private mutating func decodeFirstCoefficient(_ table: Int) throws(StructureError) {
        let count = try bits.symbol(dcTables[table])
        guard count <= 16 else { throw .damaged("invalid image data") }
        try bits.skip(Int(count))
    }

    private mutating func decodeSequential(_ table: Int) throws(StructureError) {
        var coefficient = 1
        while coefficient < 64 {
            let symbol = try bits.symbol(acTables[table])
            let (zeros, count) = (Int(symbol >> 4), Int(symbol & 15))
            if count == 0 {
                guard zeros == 15 else { return }
                coefficient += 16
            } else {
                coefficient += zeros + 1
                try bits.skip(count)
            }
            guard coefficient <= 64 else { throw .damaged("invalid image data") }
        }
    }

    /// T.81 section G.1.2.2. `run` is the number of following blocks without coefficients.
    private mutating func decodeFirstPass(
        _ mask: inout UInt64,
        _ scan: Scan,
        _ table: Int,
        _ run: inout Int
    ) throws(StructureError) {
        if run > 0 {
            run -= 1
            return
        }
        var coefficient = scan.first
        while coefficient <= scan.last {
            let symbol = try bits.symbol(acTables[table])
            let (zeros, count) = (Int(symbol >> 4), Int(symbol & 15))
            if count == 0, zeros < 15 {
                run = (1 << zeros) - 1 + (try bits.read(zeros))
                return
            }
            coefficient += zeros
            guard coefficient <= 63 else { throw .damaged("invalid image data") }
            if count > 0 {
                try bits.skip(count)
                mask |= 1 << UInt64(coefficient)
            }
            coefficient += 1
        }
    }

    /// T.81 section G.1.2.3: one bit for each coefficient known to be nonzero, between the codes of new coefficients.
    private mutating func decodeRefinement(
        _ mask: inout UInt64,
        _ scan: Scan,
        _ table: Int,
        _ run: inout Int
    ) throws(StructureError) {
        var coefficient = scan.first
        while run == 0, coefficient <= scan.last {
            let symbol = try bits.symbol(acTables[table])
            var zeros = Int(symbol >> 4)
            let count = Int(symbol & 15)
            if count == 0, zeros < 15 {
                run = (1 << zeros) + (try bits.read(zeros))
                break
            }
            guard count <= 1 else { throw .damaged("invalid image data") }
            try bits.skip(count)
            while coefficient <= scan.last {
                if mask >> UInt64(coefficient) & 1 == 1 {
                    try bits.skip(1)
                } else {
                    if zeros == 0 { break }
                    zeros -= 1
                }
                coefficient += 1
            }
            if count == 1 {
                guard coefficient <= scan.last else { throw .damaged("invalid image data") }
                mask |= 1 << UInt64(coefficient)
            }
            coefficient += 1
        }
        guard run > 0 else { return }
        while coefficient <= scan.last {
            if mask >> UInt64(coefficient) & 1 == 1 { try bits.skip(1) }
            coefficient += 1
        }
        run -= 1
    }
}

/// A Huffman table as defined in T.81 annex C: a lookup by the next 9 bits, and limits for longer codes.
private struct HuffmanTable {
    static let lookupBits = 9

    /// Length of the code times 256, plus its value; 0 for longer codes.
    private(set) var lookup: [UInt16] = Array(repeating: 0, count: 1 << lookupBits)
    private let values: [UInt8]
    /// By length: the first code above those of this length, and the index of its first value minus its first code.
    private var limits: [Int] = Array(repeating: 0, count: 17)
    private var offsets: [Int] = Array(repeating: 0, count: 17)

    /// nil if there are more codes of one length than that length allows.
    init?(counts: [UInt8], values: [UInt8]) {
        self.values = values
        var code = 0
        var index = 0
        for length in 1...16 {
            let count = Int(counts[length - 1])
            guard code + count <= 1 << length else { return nil }
            offsets[length] = index - code
            if length <= Self.lookupBits {
                let room = 1 << (Self.lookupBits - length)
                for number in 0..<count {
                    for place in ((code + number) * room)..<((code + number + 1) * room) {
                        lookup[place] = UInt16(length) << 8 | UInt16(values[index + number])
                    }
                }
            }
            code += count
            index += count
            limits[length] = code
            code <<= 1
        }
    }

    /// The code at the start of 16 bits.
    func find(_ bits: Int) -> (length: Int, value: UInt8)? {
        let entry = lookup[bits >> (16 - Self.lookupBits)]
        if entry != 0 { return (Int(entry >> 8), UInt8(truncatingIfNeeded: entry)) }
        for length in (Self.lookupBits + 1)...16 {
            let code = bits >> (16 - length)
            if code < limits[length], values.indices.contains(code + offsets[length]) {
                return (length, values[code + offsets[length]])
            }
        }
        return nil
    }
}

/// The bits of entropy-coded data, up to the next marker.
private struct EntropyBits {
    var bytes: ByteWindow
    private var store: UInt64 = 0
    private var count = 0
    private var marker: UInt8?
    private var isAtEnd = false

    init(bytes: ByteWindow) { self.bytes = bytes }

    mutating func restart() {
        store = 0
        count = 0
        marker = nil
        isAtEnd = false
    }

    /// The marker that ended the data, once.
    mutating func takeMarker() -> UInt8? {
        defer { restart() }
        return marker
    }

    /// The marker that follows the bits of this interval; throws if whole bytes are left before it.
    mutating func nextRestart() throws(StructureError) -> UInt8 {
        guard count < 8 else { throw .damaged("invalid image data") }
        if marker == nil { fill() }
        guard count < 8 else { throw .damaged("invalid image data") }
        guard let marker else { throw .truncated }
        restart()
        return marker
    }

    private mutating func fill() {
        while count <= 48, marker == nil, !isAtEnd {
            guard let byte = bytes.next() else {
                isAtEnd = true
                return
            }
            if byte == 0xFF {
                var next = bytes.next()
                while next == 0xFF { next = bytes.next() }
                guard next == 0 else {
                    marker = next
                    isAtEnd = next == nil
                    return
                }
            }
            store = store << 8 | UInt64(byte)
            count += 8
        }
    }

    mutating func symbol(_ table: HuffmanTable?) throws(StructureError) -> UInt8 {
        guard let table else { throw .damaged("no Huffman table") }
        if count < 16 { fill() }
        let next = count >= 16 ? store >> UInt64(count - 16) : store << UInt64(16 - count)
        guard let (length, value) = table.find(Int(next & 0xFFFF)) else {
            throw count < 16 ? .truncated : .damaged("invalid image data")
        }
        try skip(length)
        return value
    }

    mutating func skip(_ length: Int) throws(StructureError) {
        if count < length { fill() }
        guard count >= length else { throw .truncated }
        count -= length
    }

    mutating func read(_ length: Int) throws(StructureError) -> Int {
        try skip(length)
        // The upper bits of the store belong to earlier codes.
        return Int(truncatingIfNeeded: store >> UInt64(count)) & ((1 << length) - 1)
    }
}
