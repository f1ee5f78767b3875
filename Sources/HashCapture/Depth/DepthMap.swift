internal import CImageShims
public import CaptureSubmission
internal import Glibc
internal import MediaFiles
internal import MediaSystem

/// Depths of a scene, in meters, row by row from the top left.
public struct DepthMap: Sendable {
    public let width: Int
    public let height: Int
    /// `width` × `height` samples. Non-finite samples and samples out of range are holes.
    public internal(set) var samples: [Float]
    let extent: DepthExtent

    /// The samples as little-endian binary32, as in the contract's files.
    public var littleEndianBytes: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: samples.count * 4) { buffer, count in
            for (index, sample) in samples.enumerated() {
                UnsafeMutableRawBufferPointer(buffer)
                    .storeBytes(of: sample.bitPattern.littleEndian, toByteOffset: index * 4, as: UInt32.self)
            }
            count = samples.count * 4
        }
    }
}

extension DepthMap {
    /// nil if the number of samples is not `width` × `height`, or a side is below 1.
    public init?(width: Int, height: Int, samples: [Float]) {
        let (count, isTooLarge) = width.multipliedReportingOverflow(by: height)
        guard width > 0, height > 0, !isTooLarge, samples.count == count else { return nil }
        var extent = DepthExtent()
        samples.withUnsafeBufferPointer { extent.add($0) }
        self.init(width: width, height: height, samples: samples, extent: extent)
    }
}

/// Reads depth maps: raw little-endian binary32, PFM, NPY and 16-bit PNG, distinguished by their first bytes.
public enum DepthMapFile {
    /// Properties that some files do not specify.
    public struct Layout: Sendable, Equatable {
        /// Columns of a raw map.
        public var width: Int?
        /// Rows of a raw map.
        public var height: Int?
        /// Meters per unit of a PNG.
        public var scale: Double?

        public init(width: Int? = nil, height: Int? = nil, scale: Double? = nil) {
            self.width = width
            self.height = height
            self.scale = scale
        }
    }

    /// Maximum number of samples, at four bytes of memory each; no camera produces more.
    package static let maximumSampleCount = 100_000_000

    /// Reads a map, top row first, from a path, as bytes. `layout` contains properties that some files do not specify;
    /// properties that the file specifies must match it.
    ///
    /// The first four bytes of the other three formats, read as a raw sample, are outside the valid range, so a raw map
    /// starting with a valid sample is never mistaken for a different format.
    ///
    /// - Throws: `CaptureError`: `.depthMapInvalid` for a wrong length, a missing or contradictory size or scale, or a
    ///   truncated or unknown file; `.imageLibrariesMissing` for PNG in a build without libpng; `.fileNotFound`,
    ///   `.fileUnreadable`, `.notRegularFile`.
    public static func read(_ path: [UInt8], layout: Layout) throws(CaptureError) -> DepthMap {
        let content = try DepthMapContent(path)
        do throws(DepthMapError) {
            let start = try content.prefix(8)
            if start == DepthImage.signature { return try DepthImage.read(content, layout: layout) }
            guard layout.scale == nil else { throw DepthMapError("a scale requires a PNG") }
            if start.starts(with: NumPyHeader.magic) { return try content.numPyArray(layout: layout) }
            if PortableFloatMapHeader.begins(start) { return try content.portableFloatMap(layout: layout) }
            return try content.rawMap(layout: layout)
        } catch {
            throw CaptureError(error.code, detail: error.detail, path: path)
        }
    }
}

extension DepthMapFile.Layout {
    /// Checks the size in a file's header. Returns the number of samples.
    ///
    /// - Throws: An error if the size is invalid, too large, or contradicts the layout.
    func accept(width: Int, height: Int) throws(DepthMapError) -> Int {
        let (count, isTooLarge) = width.multipliedReportingOverflow(by: height)
        guard width > 0, height > 0 else { throw DepthMapError("invalid size \(width)x\(height)") }
        guard !isTooLarge, count <= DepthMapFile.maximumSampleCount else {
            throw DepthMapError(
                "size \(width)x\(height): at most \(DepthMapFile.maximumSampleCount) samples are supported"
            )
        }
        guard self.width ?? width == width, self.height ?? height == height else {
            let expected = "\(self.width.map(String.init) ?? "?")x\(self.height.map(String.init) ?? "?")"
            throw DepthMapError("the map is \(width)x\(height), expected \(expected)")
        }
        return count
    }
}

struct DepthMapError: Error {
    var detail: String
    var code: OutcomeCode

    init(_ detail: String, code: OutcomeCode = .depthMapInvalid) {
        self.detail = detail
        self.code = code
    }
}

struct DepthMapContent {
    struct Encoding: Equatable {
        /// 4 for binary32, 8 for binary64.
        var byteCount: Int
        var isBigEndian: Bool
    }

    var count: Int { Int(file.status.size) }
    private let file: SourceFile

    init(_ path: [UInt8]) throws(CaptureError) {
        do {
            file = try SourceFile(path: path)
        } catch {
            switch error.kind {
            case .isDirectory: throw CaptureError(.notRegularFile, path: path, underlying: error)
            case .empty:
                throw CaptureError(.depthMapInvalid, detail: "the file is empty", path: path, underlying: error)
            default: throw CaptureError(error.code, path: path, underlying: error)
            }
        }
    }

    /// The first bytes; fewer only at the end of the file.
    func prefix(_ count: Int) throws(DepthMapError) -> [UInt8] {
        do {
            return try file.prefix(count)
        } catch {
            throw DepthMapError("reading failed", code: .fileUnreadable)
        }
    }

    /// The map whose samples begin at an offset, in the file's order; they must end at the end of the file. The size and
    /// the file's length are checked before allocating.
    ///
    /// - Throws: An error if the size contradicts the layout, or with the actual and the expected length.
    func map(
        width: Int,
        height: Int,
        layout: DepthMapFile.Layout,
        at offset: Int,
        _ encoding: Encoding
    ) throws(DepthMapError) -> DepthMap {
        let sampleCount = try layout.accept(width: width, height: height)
        let expected = offset + sampleCount * encoding.byteCount
        guard count == expected else {
            let header = offset > 0 ? "a header of \(offset) bytes and " : ""
            throw DepthMapError(
                "\(count) bytes, expected \(expected): \(header)\(sampleCount) samples of \(encoding.byteCount) bytes"
            )
        }
        var samples = [Float](repeating: 0, count: sampleCount)
        var extent = DepthExtent()
        var block = [UInt8](repeating: 0, count: min(1 << 20, sampleCount * encoding.byteCount))
        var done = 0
        while done < sampleCount {
            let wanted = min(block.count, (sampleCount - done) * encoding.byteCount)
            try fill(&block, count: wanted, from: offset + done * encoding.byteCount)
            block.withUnsafeBytes { bytes in
                for index in 0..<wanted / encoding.byteCount {
                    samples[done + index] = encoding.sample(index, of: bytes)
                }
            }
            let end = done + wanted / encoding.byteCount
            // Adds the block while it is in the cache.
            samples.withUnsafeBufferPointer { extent.add(UnsafeBufferPointer(rebasing: $0[done..<end])) }
            done = end
        }
        return DepthMap(width: width, height: height, samples: samples, extent: extent)
    }

    private func fill(_ block: inout [UInt8], count wanted: Int, from offset: Int) throws(DepthMapError) {
        let read = block.withUnsafeMutableBytes { buffer in
            Result { () throws(FileBytes.Failure) in
                let window = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
                return try FileBytes.read(file.descriptor, at: Int64(offset), into: window)
            }
        }
        let filled: Int
        do {
            filled = try read.get()
        } catch {
            throw DepthMapError("reading failed: error \(error.code)", code: .fileUnreadable)
        }
        guard filled == wanted else { throw DepthMapError("the file ended at byte \(offset + filled) of \(count)") }
    }
}

extension DepthMapContent.Encoding {
    /// binary64 is rounded; a value that is too large becomes infinite, which counts as a hole.
    @inline(__always)
    fileprivate func sample(_ index: Int, of bytes: UnsafeRawBufferPointer) -> Float {
        switch byteCount {
        case 4:
            let bits = bytes.loadUnaligned(fromByteOffset: index * 4, as: UInt32.self)
            return Float(bitPattern: isBigEndian ? UInt32(bigEndian: bits) : UInt32(littleEndian: bits))
        default:
            let bits = bytes.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self)
            return Float(Double(bitPattern: isBigEndian ? UInt64(bigEndian: bits) : UInt64(littleEndian: bits)))
        }
    }
}

extension DepthMapContent {
    /// Reads a file without a header. It must contain exactly the samples for the specified size; the size is never
    /// guessed.
    func rawMap(layout: DepthMapFile.Layout) throws(DepthMapError) -> DepthMap {
        guard let width = layout.width, let height = layout.height else {
            throw DepthMapError("not a PNG, PFM or NPY file; a raw map of \(count) bytes requires --depth-size")
        }
        let encoding = Encoding(byteCount: 4, isBigEndian: false)
        return try map(width: width, height: height, layout: layout, at: 0, encoding)
    }
}

/// Depth as a 16-bit grayscale PNG: integers in units of a specified length, 0 for holes.
enum DepthImage {
    static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    #if ImageLibraries
        /// DEFLATE compresses at most 1,032 to 1; a smaller file cannot contain the samples specified in its header.
        private static let greatestRatio = 1_032
        /// Maximum number of bytes by which a file may exceed its samples: other chunks, and overhead of incompressible
        /// data.
        private static let allowance = 16 << 20

        static func read(_ content: DepthMapContent, layout: DepthMapFile.Layout) throws(DepthMapError) -> DepthMap {
            guard let scale = layout.scale else {
                throw DepthMapError("a PNG requires --depth-scale, the meters per unit")
            }
            guard scale.isFinite, scale > 0 else {
                throw DepthMapError("invalid scale \(scale), expected meters per unit")
            }
            guard content.count <= DepthMapFile.maximumSampleCount * 2 + allowance else {
                throw DepthMapError("a PNG of \(content.count) bytes is too large for a depth map")
            }
            let bytes = try content.prefix(content.count)
            let header = try header(of: bytes)
            let (width, height) = (Int(header.width), Int(header.height))
            guard header.is_gray16 != 0 else {
                throw DepthMapError("the PNG is not 16-bit grayscale")
            }
            let sampleCount = try layout.accept(width: width, height: height)
            guard sampleCount * 2 <= bytes.count * greatestRatio else {
                throw DepthMapError("\(bytes.count) bytes of PNG cannot contain \(width)x\(height) samples")
            }
            let samples = try samples(of: bytes, count: sampleCount, scale: scale)
            var extent = DepthExtent()
            samples.withUnsafeBufferPointer { extent.add($0) }
            return DepthMap(width: width, height: height, samples: samples, extent: extent)
        }

        private static func header(of bytes: [UInt8]) throws(DepthMapError) -> depth_png_header {
            var header = depth_png_header()
            try check { depth_png_read_header(bytes, bytes.count, &header, $0) }
            return header
        }

        private static func samples(of bytes: [UInt8], count: Int, scale: Double) throws(DepthMapError) -> [Float] {
            var samples = [Float](repeating: 0, count: count)
            try check { depth_png_read_samples(bytes, bytes.count, scale, &samples, count, $0) }
            return samples
        }

        /// Throws libpng's message if a call fails.
        private static func check(_ call: (UnsafeMutablePointer<CChar>?) -> Int32) throws(DepthMapError) {
            var message = [CChar](repeating: 0, count: Int(DEPTH_PNG_MESSAGE_SIZE))
            guard message.withUnsafeMutableBufferPointer({ call($0.baseAddress) }) != 0 else { return }
            let text = message.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
            throw DepthMapError("the PNG cannot be read: \(String(decoding: text, as: UTF8.self))")
        }
    #else
        static func read(_: DepthMapContent, layout _: DepthMapFile.Layout) throws(DepthMapError) -> DepthMap {
            throw DepthMapError("this build cannot read PNG", code: .imageLibrariesMissing)
        }
    #endif
}
