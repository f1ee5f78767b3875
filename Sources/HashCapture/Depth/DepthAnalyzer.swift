public import CaptureSubmission

internal import Glibc

/// Depth analysis 1.0 (hash-only contract section 5).
///
/// The formulas need the mean before the deviation and the extremes before the histogram, and both need every sample
/// again: a histogram whose edges are known only at the end would have to remember every value it has seen, since two
/// maps that differ by one unit in the last place may differ in a bin. So a map is read twice, not once: forwards for
/// everything but those two (`DepthSurvey`), then backwards for them (`DepthSpread`), which finds the rows that were
/// read last still in the cache. Nothing is copied and nothing is sorted.
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
        let survey = DepthSurvey(of: map)
        guard let range = survey.range else { return .unavailable }
        let spread = DepthSpread(of: map, mean: survey.mean, range: range)
        let coherence = coherence(edges: survey.edgeCount, centres: survey.centreCount)
        let deviation = (spread.squares / Double(survey.validCount)).squareRoot()
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
