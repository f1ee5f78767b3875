/// The header of an NPY file, versions 1 to 3 (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
struct NumPyHeader {
    static let magic = [0x93] + Array("NUMPY".utf8)
    /// numpy itself rejects longer headers.
    static let maximumByteCount = 10_000

    let width: Int
    let height: Int
    let encoding: DepthMapContent.Encoding
    /// Whether the order is column-major.
    let isFortranOrder: Bool
    /// Length of the header, including the magic number.
    let byteCount: Int

    /// Parses the start of a file. Throws if the bytes are not the header of a depth map.
    init(_ bytes: [UInt8]) throws(DepthMapError) {
        guard bytes.count >= 12, (1...3).contains(bytes[6]) else {
            throw DepthMapError("unknown NPY version, or truncated header")
        }
        let lengthSize = bytes[6] == 1 ? 2 : 4
        let length = bytes[8..<8 + lengthSize].reversed().reduce(0) { $0 << 8 | Int($1) }
        byteCount = 8 + lengthSize + length
        guard byteCount <= min(bytes.count, Self.maximumByteCount) else {
            throw DepthMapError("the NPY header of \(length) bytes is too long")
        }
        let text = String(decoding: bytes[8 + lengthSize..<byteCount], as: UTF8.self)
        guard let entries = PythonDictionary.entries(text), let type = entries["descr"], let shape = entries["shape"],
            let order = entries["fortran_order"], entries.count == 3
        else {
            throw DepthMapError("invalid NPY header")
        }
        encoding = try Self.encoding(type)
        (height, width) = try Self.size(shape)
        switch order {
        case "True": isFortranOrder = true
        case "False": isFortranOrder = false
        default: throw DepthMapError("invalid NPY fortran_order \(order)")
        }
    }

    private static func encoding(_ type: String) throws(DepthMapError) -> DepthMapContent.Encoding {
        switch type {
        case "'<f4'", #""<f4""#: return .init(byteCount: 4, isBigEndian: false)
        case "'>f4'", #"">f4""#: return .init(byteCount: 4, isBigEndian: true)
        case "'<f8'", #""<f8""#: return .init(byteCount: 8, isBigEndian: false)
        case "'>f8'", #"">f8""#: return .init(byteCount: 8, isBigEndian: true)
        default: throw DepthMapError("NPY type \(type), expected float32 or float64 in meters")
        }
    }

    private static func size(_ shape: String) throws(DepthMapError) -> (height: Int, width: Int) {
        var sides = shape.dropFirst().dropLast().split(separator: ",", omittingEmptySubsequences: false)
        // `(5, 4,)` means the same as `(5, 4)`.
        if sides.last.map({ $0.allSatisfy(\.isWhitespace) }) == true { sides.removeLast() }
        let numbers = sides.map { Int($0.filter { !$0.isWhitespace }) }
        let isFlat = numbers.count == 2 || numbers.count == 3 && numbers[2] == 1
        guard shape.first == "(", isFlat, let height = numbers[0], let width = numbers[1] else {
            throw DepthMapError("NPY shape \(shape), expected (height, width)")
        }
        return (height, width)
    }
}

/// Parses the subset of Python that numpy writes: one flat dictionary of strings, booleans and tuples of numbers.
private enum PythonDictionary {
    /// Keys without quotes, values as text (a string with its quotes, a tuple with its parentheses, or a name); nil for
    /// anything else.
    static func entries(_ text: String) -> [String: String]? {
        guard var rest = text.wholeMatch(of: /(?s)\s*\{(.*)\}\s*/)?.1 else { return nil }
        let entry = /\s*(?:'([^']*)'|"([^"]*)")\s*:\s*('[^']*'|"[^"]*"|\([^)]*\)|\p{L}+)\s*(?:,|\z)/
        var entries: [String: String] = [:]
        while let match = rest.prefixMatch(of: entry) {
            let name = String(match.1 ?? match.2 ?? "")
            guard entries.updateValue(String(match.3), forKey: name) == nil else { return nil }
            rest = rest[match.range.upperBound...]
        }
        return rest.allSatisfy(\.isWhitespace) ? entries : nil
    }
}

extension DepthMapContent {
    func numPyArray(layout: DepthMapFile.Layout) throws(DepthMapError) -> DepthMap {
        let header = try NumPyHeader(prefix(NumPyHeader.maximumByteCount))
        let (width, height) = (header.width, header.height)
        var map = try map(width: width, height: height, layout: layout, at: header.byteCount, header.encoding)
        if header.isFortranOrder {
            let columns = map.samples
            for y in 0..<height {
                for x in 0..<width { map.samples[y * width + x] = columns[x * height + y] }
            }
        }
        return map
    }
}

/// The header of a PFM file: `Pf`, width, height and scale as text, each followed by whitespace, the last by exactly
/// one whitespace byte (http://www.pauldebevec.com/Research/HDR/PFM/).
struct PortableFloatMapHeader {
    let width: Int
    let height: Int
    /// From the sign of the scale: negative means little-endian.
    let isBigEndian: Bool
    let byteCount: Int

    /// Longer headers are rejected; a real header has about twenty bytes.
    static let maximumByteCount = 256

    /// Whether the bytes start a PFM of one or three channels.
    static func begins(_ bytes: [UInt8]) -> Bool {
        bytes.count >= 3 && bytes[0] == UInt8(ascii: "P") && [UInt8(ascii: "f"), UInt8(ascii: "F")].contains(bytes[1])
            && isSpace(bytes[2])
    }

    /// Parses the start of a file. Throws if the bytes are not the header of a single-channel map in meters.
    init(_ bytes: [UInt8]) throws(DepthMapError) {
        var words: [String] = []
        var position = 0
        while words.count < 4 {
            while position < bytes.count, Self.isSpace(bytes[position]) { position += 1 }
            let start = position
            while position < bytes.count, !Self.isSpace(bytes[position]) { position += 1 }
            guard position < bytes.count else { throw DepthMapError("the PFM header has no end") }
            words.append(String(decoding: bytes[start..<position], as: UTF8.self))
        }
        guard words[0] == "Pf" else { throw DepthMapError("a color PFM, expected one channel (\"Pf\")") }
        guard let width = Int(words[1]), let height = Int(words[2]), let scale = Double(words[3]) else {
            throw DepthMapError("the PFM header has \"\(words[1]) \(words[2]) \(words[3])\", expected three numbers")
        }
        // Readers disagree on whether other scales multiply or divide, and a wrong distance is worthless.
        guard abs(scale) == 1 else {
            throw DepthMapError("PFM scale \(words[3]), expected 1 or -1: samples in meters")
        }
        self.width = width
        self.height = height
        isBigEndian = scale > 0
        byteCount = position + 1
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || (9...13).contains(byte)
    }
}

extension DepthMapContent {
    /// Reads a PFM, whose rows are stored from bottom to top.
    func portableFloatMap(layout: DepthMapFile.Layout) throws(DepthMapError) -> DepthMap {
        let header = try PortableFloatMapHeader(prefix(PortableFloatMapHeader.maximumByteCount))
        let (width, height) = (header.width, header.height)
        let encoding = Encoding(byteCount: 4, isBigEndian: header.isBigEndian)
        var map = try map(width: width, height: height, layout: layout, at: header.byteCount, encoding)
        for row in 0..<height / 2 {
            for x in 0..<width { map.samples.swapAt(row * width + x, (height - 1 - row) * width + x) }
        }
        return map
    }
}
