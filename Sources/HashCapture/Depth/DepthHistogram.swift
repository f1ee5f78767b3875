/// Fifty equal bins between the nearest and the farthest valid sample, and the peaks among them.
struct DepthHistogram {
    private static let binCount = 50
    /// A peak must rise above this share of the highest smoothed bin.
    private static let prominence = 0.05
    /// One row of counters for each of four lanes, so that equal neighbours do not wait for each other's count. Its last
    /// used counter takes the holes.
    private static let stride = 64
    private static let holes = 50.0

    private let least: Double
    private let width: Double
    private var counts = [Int](repeating: 0, count: 4 * stride)

    /// Counts samples while `fill` runs.
    struct Tally {
        fileprivate let counts: UnsafeMutableBufferPointer<Int>
        fileprivate let least: Double
        fileprivate let width: Double

        /// Counts the chosen ones of four samples. The others may be anything.
        @inline(__always)
        func add(_ depths: SIMD4<Double>, where isValid: SIMDMask<SIMD4<Int64>>) {
            // The farthest sample lies on the upper edge of the last bin and belongs to it.
            var bins = (depths - least) / width
            bins.replace(with: Double(DepthHistogram.binCount - 1), where: bins .> Double(DepthHistogram.binCount - 1))
            bins.replace(with: DepthHistogram.holes, where: .!isValid)
            for lane in 0..<4 { counts[lane * DepthHistogram.stride + Int(bins[lane])] &+= 1 }
        }
    }

    /// Makes an empty one.
    ///
    /// - Parameter range: Of the valid samples; not a single value.
    init(_ range: ClosedRange<Float>) {
        least = Double(range.lowerBound)
        width = (Double(range.upperBound) - least) / Double(Self.binCount)
    }

    /// Runs something that counts samples.
    mutating func fill(_ body: (Tally) -> Void) {
        counts.withUnsafeMutableBufferPointer { body(Tally(counts: $0, least: least, width: width)) }
    }

    /// Smoothed bins that are higher than both neighbours and than a share of the highest. An end has one neighbour. Two
    /// equal ones side by side are no peak, however high.
    var peakCount: Int32 {
        let smoothed = smoothed
        let threshold = Self.prominence * (smoothed.max() ?? 0)
        let peaks = smoothed.indices.filter { bin in
            smoothed[bin] > threshold
                && (bin == 0 || smoothed[bin] > smoothed[bin - 1])
                && (bin == Self.binCount - 1 || smoothed[bin] > smoothed[bin + 1])
        }
        return Int32(peaks.count)
    }

    /// Each bin's mean with its neighbours; at an end the bin stands in for the missing one.
    private var smoothed: [Double] {
        let bins = (0..<Self.binCount).map { bin in
            (0..<4).reduce(0) { $0 + counts[$1 * Self.stride + bin] }
        }
        return bins.indices.map { bin in
            let before = bins[max(bin - 1, 0)]
            let after = bins[min(bin + 1, Self.binCount - 1)]
            return Double(before + bins[bin] + after) / 3
        }
    }
}
