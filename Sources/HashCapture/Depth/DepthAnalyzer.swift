public import CaptureSubmission
internal import Glibc

/// Depth analysis 1.0 (hash-only contract section 5).
///
/// The formulas need the mean before the deviation, and the extremes before the histogram. Both are computed when a
/// map's samples are read (`DepthExtent`), so the analysis is one pass over the rows: deviation and histogram of each
/// row (`DepthSpread`), and the edges in the previous row (`DepthEdges`), while all three rows are in the cache.
/// Nothing is copied or sorted.
///
/// Two parts of the reference are omitted, since they cannot change a result: the quadrant check, which is only logged,
/// and "screen-like", which requires a range below 0.15 m, whereas the verdict requires a deviation above 0.5 m, and
/// the deviation is never more than half the range.
public enum DepthAnalyzer {
    private static let leastSide = 3
    private static let leastDeviation = 0.5
    private static let leastLayers = 3
    private static let leastCoherence = 0.3

    /// Analyzes one map. Numbers are binary64; the payload rounds them. Returns `.unavailable` for a map that is
    /// smaller than 3×3 or has no valid sample.
    public static func analyze(_ map: DepthMap) -> DepthAnalysis {
        guard map.width >= leastSide, map.height >= leastSide else { return .unavailable }
        let extent = map.extent
        guard let range = extent.range else { return .unavailable }
        var spread = DepthSpread(mean: extent.mean, range: range)
        var edges = DepthEdges()
        map.samples.withUnsafeBufferPointer { samples in
            guard let start = samples.baseAddress else { return }
            for row in 0..<map.height {
                spread.add(UnsafeBufferPointer(start: start + row * map.width, count: map.width))
                if row >= 2 { edges.add(around: start + (row - 1) * map.width, width: map.width) }
            }
        }
        let coherence = coherence(edges: edges.edgeCount, centers: edges.centerCount)
        let deviation = (spread.squares / Double(extent.validCount)).squareRoot()
        return DepthAnalysis(
            status: .completed,
            depthVariance: deviation,
            depthLayers: spread.layers,
            edgeCoherence: coherence,
            minDepth: Double(range.lowerBound),
            maxDepth: Double(range.upperBound),
            isLikelyRealScene: deviation > leastDeviation && spread.layers >= leastLayers && coherence > leastCoherence
        )
    }

    private static func coherence(edges: Int, centers: Int) -> Double {
        guard centers > 0 else { return 0 }
        return min(max(1 - exp(-30 * Double(edges) / Double(centers)), 0), 1)
    }
}

extension DepthAnalyzer {
    private static let leastStability = 0.8

    /// Analyzes the keyframes of a video together; nil if there are no keyframes. An unavailable keyframe counts as
    /// zeros.
    public static func analyze(keyframes: [DepthAnalysis]) -> TemporalDepthAnalysis? {
        guard !keyframes.isEmpty else { return nil }
        let mean = mean(of: keyframes.map(\.depthVariance))
        let stability = stability(of: keyframes.map(\.depthVariance), mean: mean)
        return TemporalDepthAnalysis(
            meanVariance: mean,
            varianceStability: stability,
            temporalCoherence: self.mean(of: keyframes.map(\.edgeCoherence)),
            isLikelyRealScene: keyframes.allSatisfy(\.isLikelyRealScene) && stability > leastStability,
            keyframeCount: Int32(clamping: keyframes.count)
        )
    }

    /// The `depth_analysis` required in a video's body (M2): means, the lower median of the layers, the extremes of the
    /// completed keyframes, and the temporal verdict. `.unavailable` if no keyframe was completed.
    public static func summary(of keyframes: [DepthAnalysis], temporal: TemporalDepthAnalysis) -> DepthAnalysis {
        let completed = keyframes.filter { $0.status == .completed }
        guard let nearest = completed.map(\.minDepth).min(), let farthest = completed.map(\.maxDepth).max() else {
            return .unavailable
        }
        return DepthAnalysis(
            status: .completed,
            depthVariance: temporal.meanVariance,
            depthLayers: keyframes.map(\.depthLayers).sorted()[(keyframes.count - 1) / 2],
            edgeCoherence: temporal.temporalCoherence,
            minDepth: nearest,
            maxDepth: farthest,
            isLikelyRealScene: temporal.isLikelyRealScene
        )
    }

    private static func mean(of values: [Double]) -> Double {
        values.reduce(0, +) / Double(values.count)
    }

    /// 1 for a single value, 0 for a mean of 0; may be negative.
    private static func stability(of values: [Double], mean: Double) -> Double {
        guard values.count > 1 else { return 1 }
        guard mean != 0 else { return 0 }
        let squares = values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
        return 1 - (squares / Double(values.count)).squareRoot() / mean
    }
}

/// Counts the edges of a map: inner rows are added one by one, while each is in the cache with its two neighbors.
struct DepthEdges {
    private(set) var centerCount = 0
    private(set) var edgeCount = 0

    /// Counts centers and edges of an inner row, four pixels at a time, in binary32. binary64 is used only if a
    /// gradient is very near the limit: the squares in binary32 have a relative error of at most one millionth.
    mutating func add(around row: UnsafePointer<Float>, width: Int) {
        var centers = SIMD4<Int32>.zero
        var edges = SIMD4<Int32>.zero
        var x = 1
        while x + 4 < width {
            let here = UnsafeRawPointer(row + x)
            let isCenter = here.four(at: 0).areValid
            let across = Self.difference(here.four(at: -1), here.four(at: 1))
            let down = Self.difference(here.four(at: -width), here.four(at: width))
            let squares = across * across + down * down
            let isEdge = squares .> 0.0401
            centers.replace(with: centers &+ 1, where: isCenter)
            edges.replace(with: edges &+ 1, where: isCenter .& isEdge)
            let isUnclear = isCenter .& (squares .> 0.0399) .& .!isEdge
            if any(isUnclear) {
                for lane in 0..<4 where isUnclear[lane] { edgeCount += Self.isEdge(row + x + lane, width) ? 1 : 0 }
            }
            x += 4
        }
        for x in x..<width - 1 where row[x] >= DepthExtent.nearest && row[x] <= DepthExtent.farthest {
            centerCount += 1
            edgeCount += Self.isEdge(row + x, width) ? 1 : 0
        }
        centerCount += Int(centers.wrappedSum())
        edgeCount += Int(edges.wrappedSum())
    }

    /// Twice the slope. A neighbor counts if it is finite and strictly above the minimum valid depth; there is no upper
    /// limit.
    @inline(__always)
    private static func difference(_ before: SIMD4<Float>, _ after: SIMD4<Float>) -> SIMD4<Float> {
        let nearest = DepthExtent.nearest
        let areUsable = (before .> nearest) .& (before .< .infinity) .& (after .> nearest) .& (after .< .infinity)
        return (after - before).replacing(with: 0, where: .!areUsable)
    }

    /// Repeats the test in binary64, whose result is decisive.
    private static func isEdge(_ here: UnsafePointer<Float>, _ width: Int) -> Bool {
        let across = slope(here[-1], here[1])
        let down = slope(here[-width], here[width])
        return (across * across + down * down).squareRoot() > 0.1
    }

    private static func slope(_ before: Float, _ after: Float) -> Double {
        let nearest = DepthExtent.nearest
        let areUsable = before > nearest && before < .infinity && after > nearest && after < .infinity
        return areUsable ? (Double(after) - Double(before)) / 2 : 0
    }
}

/// Number, sum and extremes of the valid samples. The formulas need these values first, and they can be computed while
/// the samples are read.
struct DepthExtent: Sendable {
    /// Samples below this depth are holes, as are those above `farthest`. Compared in binary32: 0.1 in binary64
    /// differs.
    static let nearest: Float = 0.1
    static let farthest: Float = 20

    private(set) var validCount = 0
    private var sum = 0.0
    private var least = Float.infinity
    private var greatest = -Float.infinity

    /// nil if there is no valid sample.
    var range: ClosedRange<Float>? { validCount > 0 ? least...greatest : nil }

    var mean: Double { sum / Double(validCount) }

    /// Adds samples in four lanes. The order does not matter: a valid sample is a multiple of 2⁻²⁷ and at most 20, so
    /// the sum of three million samples is exact.
    mutating func add(_ samples: UnsafeBufferPointer<Float>) {
        var count = SIMD4<Int32>.zero
        var sums = SIMD4<Double>.zero
        var low = SIMD4<Float>(repeating: .infinity)
        var high = SIMD4<Float>(repeating: -.infinity)
        samples.forEachFour { four in
            let isValid = four.areValid
            count.replace(with: count &+ 1, where: isValid)
            sums += SIMD4<Double>(SIMD4<Float>.zero.replacing(with: four, where: isValid))
            low.replace(with: four, where: isValid .& (four .< low))
            high.replace(with: four, where: isValid .& (four .> high))
        }
        validCount += Int(count.wrappedSum())
        sum += sums.sum()
        least = min(least, low.min())
        greatest = max(greatest, high.max())
    }
}

extension UnsafeRawPointer {
    /// `offset` is in samples.
    @inline(__always)
    func four(at offset: Int) -> SIMD4<Float> {
        loadUnaligned(fromByteOffset: offset * 4, as: SIMD4<Float>.self)
    }
}

extension UnsafeBufferPointer<Float> {
    /// Calls `body` with four samples at a time, the last ones padded with NaN. `body` is called from only one place;
    /// otherwise the compiler keeps the caller's sums in memory.
    @inline(__always)
    func forEachFour(_ body: (SIMD4<Float>) -> Void) {
        guard let start = UnsafeRawPointer(baseAddress) else { return }
        for index in stride(from: 0, to: count, by: 4) {
            body(index + 4 <= count ? start.four(at: index) : rest(from: index))
        }
    }

    private func rest(from start: Int) -> SIMD4<Float> {
        var rest = SIMD4<Float>(repeating: .nan)
        for index in start..<count { rest[index - start] = self[index] }
        return rest
    }
}

extension SIMD4<Float> {
    /// False for NaN.
    @inline(__always)
    var areValid: SIMDMask<SIMD4<Int32>> { (self .>= DepthExtent.nearest) .& (self .<= DepthExtent.farthest) }
}

extension SIMD4<Double> {
    /// Whether widened samples are valid: widening preserves their order.
    @inline(__always)
    var areValid: SIMDMask<SIMD4<Int64>> {
        (self .>= Double(DepthExtent.nearest)) .& (self .<= Double(DepthExtent.farthest))
    }
}

/// Sum of the squared distances of the valid samples from their mean, and their histogram: fifty equal bins between the
/// nearest and the farthest one. Rows are added one by one.
struct DepthSpread {
    private static let binCount = 50
    /// A peak must exceed this fraction of the highest smoothed bin.
    private static let prominence = 0.05
    /// Counters per lane; the four lanes have separate counters, so equal adjacent samples do not depend on each
    /// other's count. The counter after the bins counts the holes.
    private static let stride = 64
    private static let holes = 50.0

    private(set) var squares = 0.0
    private let mean: Double
    private let least: Double
    /// Width of a bin.
    private let width: Double
    private var counts = [Int](repeating: 0, count: 4 * stride)

    init(mean: Double, range: ClosedRange<Float>) {
        self.mean = mean
        least = Double(range.lowerBound)
        width = (Double(range.upperBound) - least) / Double(Self.binCount)
    }

    mutating func add(_ row: UnsafeBufferPointer<Float>) {
        // If all samples are equal, their distance is 0 even if the mean has a rounding error, and they have no layers.
        guard width > 0 else { return }
        squares += counts.withUnsafeMutableBufferPointer { [mean, least, width] counts in
            var squares = SIMD4<Double>.zero
            row.forEachFour { four in
                let depths = SIMD4<Double>(four)
                let isValid = depths.areValid
                let distances = (depths - mean).replacing(with: 0, where: .!isValid)
                squares += distances * distances
                // The farthest sample is on the upper edge of the last bin and belongs to it.
                var bins = (depths - least) / width
                bins.replace(with: Double(Self.binCount - 1), where: bins .> Double(Self.binCount - 1))
                bins.replace(with: Self.holes, where: .!isValid)
                for lane in 0..<4 { counts[lane * Self.stride + Int(bins[lane])] &+= 1 }
            }
            return squares.sum()
        }
    }

    /// Number of smoothed bins above both neighbors and above a fraction of the highest bin; a bin at either end has
    /// one neighbor. Two adjacent equal bins are not a peak.
    var layers: Int32 {
        let smoothed = smoothed
        let threshold = Self.prominence * (smoothed.max() ?? 0)
        let peaks = smoothed.indices.filter { bin in
            smoothed[bin] > threshold
                && (bin == 0 || smoothed[bin] > smoothed[bin - 1])
                && (bin == Self.binCount - 1 || smoothed[bin] > smoothed[bin + 1])
        }
        return Int32(peaks.count)
    }

    /// The mean of each bin and its neighbors; at either end, the bin itself replaces the missing neighbor.
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
