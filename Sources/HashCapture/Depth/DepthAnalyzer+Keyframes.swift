public import CaptureSubmission

extension DepthAnalyzer {
    private static let leastStability = 0.8

    /// Analyses the keyframes of a video together. One that is unavailable counts with zeros.
    ///
    /// - Parameter keyframes: In any order.
    /// - Returns: nil without keyframes.
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

    /// The `depth_analysis` that a video's body must have (M2): means, the lower median of the layers, the extremes of the
    /// completed keyframes, the temporal verdict.
    ///
    /// - Parameters:
    ///   - keyframes: What `temporal` was made of.
    ///   - temporal: What they say together.
    /// - Returns: `.unavailable` without a completed keyframe.
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
