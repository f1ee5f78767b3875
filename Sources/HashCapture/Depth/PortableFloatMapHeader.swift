/// The header of a PFM file: `Pf`, width, height and scale as text, each followed by white space, the last by one byte
/// of it (http://www.pauldebevec.com/Research/HDR/PFM/).
struct PortableFloatMapHeader {
    let width: Int
    let height: Int
    /// The sign of the scale says it: negative is little-endian.
    let isBigEndian: Bool
    /// Of the header itself.
    let byteCount: Int

    /// Longer headers are refused; a real one has some twenty bytes.
    static let maximumByteCount = 256

    /// Whether a file that begins so is a PFM, of one channel or of three.
    static func begins(_ bytes: [UInt8]) -> Bool {
        bytes.count >= 3 && bytes[0] == UInt8(ascii: "P") && [UInt8(ascii: "f"), UInt8(ascii: "F")].contains(bytes[1])
            && isSpace(bytes[2])
    }

    /// Reads a header.
    ///
    /// - Parameter bytes: The start of the file.
    /// - Throws: When it is not one, or not of a grey map in metres.
    init(_ bytes: [UInt8]) throws(DepthMapFlaw) {
        var words: [String] = []
        var position = 0
        while words.count < 4 {
            while position < bytes.count, Self.isSpace(bytes[position]) { position += 1 }
            let start = position
            while position < bytes.count, !Self.isSpace(bytes[position]) { position += 1 }
            guard position < bytes.count else { throw DepthMapFlaw("the PFM header has no end") }
            words.append(String(decoding: bytes[start..<position], as: UTF8.self))
        }
        guard words[0] == "Pf" else { throw DepthMapFlaw("a PFM of three colours, expected one channel (\"Pf\")") }
        guard let width = Int(words[1]), let height = Int(words[2]), let scale = Double(words[3]) else {
            throw DepthMapFlaw("the PFM header says \"\(words[1]) \(words[2]) \(words[3])\", expected three numbers")
        }
        // Readers do not agree whether to multiply or to divide by another scale, and a wrong distance proves nothing.
        guard abs(scale) == 1 else {
            throw DepthMapFlaw("a PFM scale of \(words[3]), expected 1 or -1: samples in metres")
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
    /// A PFM. Its rows go from the bottom to the top.
    func portableFloatMap(layout: DepthMapFile.Layout) throws(DepthMapFlaw) -> DepthMap {
        let header = try PortableFloatMapHeader(prefix(PortableFloatMapHeader.maximumByteCount))
        let sampleCount = try layout.accept(width: header.width, height: header.height)
        let encoding = Encoding(byteCount: 4, isBigEndian: header.isBigEndian)
        var samples = try samples(at: header.byteCount, count: sampleCount, encoding)
        for row in 0..<header.height / 2 {
            let upper = row * header.width
            let lower = (header.height - 1 - row) * header.width
            for x in 0..<header.width { samples.values.swapAt(upper + x, lower + x) }
        }
        return try .of(header.width, header.height, samples)
    }
}
