public import CaptureSubmission
internal import Glibc

/// Depth analysis 1.0 (hash-only contract section 5).
///
/// The formulas need the mean before the deviation and the extremes before the histogram. A map knows these from when its
/// samples were made (`DepthExtent`), so that the analysis reads it once, from the first row to the last: deviation and
/// histogram of each row (`DepthSpread`), and the edges of the row before it (`DepthEdges`), while all three rows are in
/// the cache. Nothing is copied and nothing is sorted.
///
/// Two parts of the reference are left out as they cannot change a result: the quadrant check, which is only logged, and
/// "screen-like", which asks for a range below 0.15 m while the verdict asks for a deviation above 0.5 m, and the
/// deviation is never more than half the range.
public enum DepthAnalyzer {
    private static let leastSide = 3
    private static let leastDeviation = 0.5
    private static let leastLayers = 3
    private static let leastCoherence = 0.3

    /// Analyses one map. Numbers are binary64; the payload rounds them.
    ///
    /// - Parameter map: At least 3×3 with a valid sample, or there is nothing to analyse.
    /// - Returns: The numbers and the verdict; `.unavailable` when there is nothing to analyse.
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
        let coherence = coherence(edges: edges.edgeCount, centres: edges.centreCount)
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

    private static func coherence(edges: Int, centres: Int) -> Double {
        guard centres > 0 else { return 0 }
        return min(max(1 - exp(-30 * Double(edges) / Double(centres)), 0), 1)
    }
}
