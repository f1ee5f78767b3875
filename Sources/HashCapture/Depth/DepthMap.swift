/// Distances of a scene, in metres, row by row from the top left.
public struct DepthMap: Sendable {
    /// Columns.
    public let width: Int
    /// Rows.
    public let height: Int
    /// `width` × `height` samples. Anything that is not finite or not in range is a hole.
    public let samples: [Float]
    /// Of the samples.
    let extent: DepthExtent

    /// Takes samples; nil when their number is not `width` × `height`, or a side is below 1.
    public init?(width: Int, height: Int, samples: [Float]) {
        var extent = DepthExtent()
        samples.withUnsafeBufferPointer { extent.add($0) }
        self.init(width: width, height: height, samples: samples, extent: extent)
    }

    /// Takes samples whose extent was found while they were made.
    init?(width: Int, height: Int, samples: [Float], extent: DepthExtent) {
        let (count, isTooLarge) = width.multipliedReportingOverflow(by: height)
        guard width > 0, height > 0, !isTooLarge, samples.count == count else { return nil }
        self.width = width
        self.height = height
        self.samples = samples
        self.extent = extent
    }

    /// The samples as little-endian binary32, as the contract's files hold them.
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
