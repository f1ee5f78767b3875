/// The result of depth analysis 1.0 for one depth map (hash-only contract section 5).
public struct DepthAnalysis: Sendable, Equatable {
    /// Whether a depth map could be analyzed.
    public enum Status: String, Sendable, CaseIterable {
        /// The values were measured.
        case completed
        /// There is no depth map, or it is smaller than 3×3 or has no valid sample: all numbers are 0.
        case unavailable
    }

    /// The algorithm version, as sent.
    public static let algorithmVersion = "1.0"

    /// Whether the values were measured.
    public var status: Status
    /// **Standard deviation** of the valid samples, in meters, despite its name (trap 1).
    public var depthVariance: Double
    /// Number of peaks in the smoothed histogram.
    public var depthLayers: Int32
    /// 0…1.
    public var edgeCoherence: Double
    /// Nearest valid sample, in meters.
    public var minDepth: Double
    /// Farthest valid sample, in meters.
    public var maxDepth: Double
    /// Whether the scene looks real.
    public var isLikelyRealScene: Bool

    package init(
        status: Status,
        depthVariance: Double,
        depthLayers: Int32,
        edgeCoherence: Double,
        minDepth: Double,
        maxDepth: Double,
        isLikelyRealScene: Bool
    ) {
        self.status = status
        self.depthVariance = depthVariance
        self.depthLayers = depthLayers
        self.edgeCoherence = edgeCoherence
        self.minDepth = minDepth
        self.maxDepth = maxDepth
        self.isLikelyRealScene = isLikelyRealScene
    }

    /// The result if there is no analyzable depth map.
    public static let unavailable = DepthAnalysis(
        status: .unavailable,
        depthVariance: 0,
        depthLayers: 0,
        edgeCoherence: 0,
        minDepth: 0,
        maxDepth: 0,
        isLikelyRealScene: false
    )
}

/// The combined result of the depth maps of a video's keyframes (contract section 5, temporal).
public struct TemporalDepthAnalysis: Sendable, Equatable {
    /// Mean of the keyframes' `depthVariance`.
    public var meanVariance: Double
    /// 1 − deviation / mean of the keyframes' `depthVariance`; may be negative.
    public var varianceStability: Double
    /// Mean of the keyframes' `edgeCoherence`.
    public var temporalCoherence: Double
    /// Whether the scene looks real.
    public var isLikelyRealScene: Bool
    /// Number of keyframes, including unavailable ones.
    public var keyframeCount: Int32

    package init(
        meanVariance: Double,
        varianceStability: Double,
        temporalCoherence: Double,
        isLikelyRealScene: Bool,
        keyframeCount: Int32
    ) {
        self.meanVariance = meanVariance
        self.varianceStability = varianceStability
        self.temporalCoherence = temporalCoherence
        self.isLikelyRealScene = isLikelyRealScene
        self.keyframeCount = keyframeCount
    }
}
