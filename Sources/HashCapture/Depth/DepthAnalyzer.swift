public import CaptureSubmission

/// Depth analysis 1.0 (hash-only contract section 5).
public enum DepthAnalyzer {
    /// Analyses one map. Numbers are binary64; the payload rounds them.
    public static func analyze(_ map: DepthMap) -> DepthAnalysis { .unavailable }

    /// Analyses the keyframes of a video together.
    ///
    /// - Returns: nil without keyframes.
    public static func analyze(keyframes: [DepthAnalysis]) -> TemporalDepthAnalysis? { nil }

    /// The `depth_analysis` that a video's body must have (M2): means, the lower median of the layers, the extremes of the
    /// completed keyframes, the temporal verdict.
    ///
    /// - Returns: `.unavailable` without a completed keyframe.
    public static func summary(of keyframes: [DepthAnalysis], temporal: TemporalDepthAnalysis) -> DepthAnalysis {
        .unavailable
    }
}
