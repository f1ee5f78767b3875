public import CaptureSubmission
internal import MediaFiles

/// Reads depth maps: raw little-endian binary32, PFM, NPY and 16-bit PNG, told by their first bytes.
public enum DepthMapFile {
    /// What the file does not say itself.
    public struct Layout: Sendable, Equatable {
        /// Columns of a raw map.
        public var width: Int?
        /// Rows of a raw map.
        public var height: Int?
        /// Metres per unit of a PNG.
        public var scale: Double?

        /// Makes a layout.
        public init(width: Int? = nil, height: Int? = nil, scale: Double? = nil) {
            self.width = width
            self.height = height
            self.scale = scale
        }
    }

    /// More samples are refused: no camera makes them, and each takes four bytes of memory.
    package static let maximumSampleCount = 100_000_000

    /// Reads a map.
    ///
    /// The first four bytes of the three formats, read as a raw sample, are no distance in the valid range, so that a raw
    /// map which starts with a valid sample is never taken for another format.
    ///
    /// - Parameters:
    ///   - path: Bytes as the system has them.
    ///   - layout: What the file does not say itself. What it says twice must agree.
    /// - Returns: The map, top row first.
    /// - Throws: `CaptureError`: `.depthMapInvalid` for a wrong length, a missing or contradicting size or scale, a
    ///   truncated or unknown file; `.imageLibrariesMissing` for PNG in a build without libpng; `.fileNotFound`,
    ///   `.fileUnreadable`, `.notRegularFile`.
    public static func read(_ path: [UInt8], layout: Layout) throws(CaptureError) -> DepthMap {
        let content = try DepthMapContent(path)
        do throws(DepthMapFlaw) {
            let start = try content.prefix(8)
            if start == DepthImage.signature { return try DepthImage.read(content, layout: layout) }
            guard layout.scale == nil else { throw DepthMapFlaw("a scale goes with a PNG, and this is none") }
            if start.starts(with: NumPyHeader.magic) { return try content.numPyArray(layout: layout) }
            if PortableFloatMapHeader.begins(start) { return try content.portableFloatMap(layout: layout) }
            return try content.rawMap(layout: layout)
        } catch {
            throw CaptureError(error.code, detail: error.detail, path: path)
        }
    }
}

extension DepthMapFile.Layout {
    /// Takes the size that a file says for itself.
    ///
    /// - Returns: The number of samples.
    /// - Throws: When it is not a size, is too large, or is not what the caller said.
    func accept(width: Int, height: Int) throws(DepthMapFlaw) -> Int {
        let (count, isTooLarge) = width.multipliedReportingOverflow(by: height)
        guard width > 0, height > 0 else { throw DepthMapFlaw("a size of \(width)x\(height)") }
        guard !isTooLarge, count <= DepthMapFile.maximumSampleCount else {
            throw DepthMapFlaw(
                "a size of \(width)x\(height): more than \(DepthMapFile.maximumSampleCount) samples are not read"
            )
        }
        guard self.width ?? width == width, self.height ?? height == height else {
            let expected = "\(self.width.map(String.init) ?? "?")x\(self.height.map(String.init) ?? "?")"
            throw DepthMapFlaw("the file says \(width)x\(height), expected \(expected)")
        }
        return count
    }
}

/// What is wrong with a depth map.
struct DepthMapFlaw: Error {
    var detail: String
    var code: CaptureError.Code

    init(_ detail: String, code: CaptureError.Code = .depthMapInvalid) {
        self.detail = detail
        self.code = code
    }
}
