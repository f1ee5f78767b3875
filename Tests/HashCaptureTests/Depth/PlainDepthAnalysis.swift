import CaptureSubmission
import Foundation
import HashCapture

/// Contract section 5 implemented literally, step by step, with one pass for each. `DepthAnalyzer` must agree.
enum PlainDepthAnalysis {
    static func analyze(_ map: DepthMap) -> DepthAnalysis {
        // 1.
        let valid = map.samples.filter(isValid).map(Double.init)
        guard map.width >= 3, map.height >= 3, let least = valid.min(), let greatest = valid.max() else {
            return .unavailable
        }
        // 2.
        let mean = valid.reduce(0, +) / Double(valid.count)
        let deviation = (valid.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(valid.count)).squareRoot()
        let layers = layers(valid, least, greatest)
        let coherence = coherence(map)
        // 5.
        return DepthAnalysis(
            status: .completed,
            depthVariance: deviation,
            depthLayers: layers,
            edgeCoherence: coherence,
            minDepth: least,
            maxDepth: greatest,
            isLikelyRealScene: deviation > 0.5 && layers >= 3 && coherence > 0.3
                && !isScreenLike(valid, mean, least, greatest)
        )
    }

    /// Never true together with a real scene, according to the contract; the property test would detect it.
    private static func isScreenLike(_ valid: [Double], _ mean: Double, _ least: Double, _ greatest: Double) -> Bool {
        let median = valid.sorted()[valid.count / 2]
        let near = valid.filter { abs($0 - median) < 0.05 }.count
        return greatest - least < 0.15 && Double(near) / Double(valid.count) > 0.85 && mean >= 0.2 && mean <= 1.5
    }

    private static func isValid(_ sample: Float) -> Bool { sample.isFinite && sample >= 0.1 && sample <= 20 }

    /// 3.
    private static func layers(_ valid: [Double], _ least: Double, _ greatest: Double) -> Int32 {
        guard greatest > least else { return 0 }
        let width = (greatest - least) / 50
        var h = [Double](repeating: 0, count: 50)
        for depth in valid { h[min(Int(((depth - least) / width).rounded(.down)), 49)] += 1 }
        var s = [Double](repeating: 0, count: 50)
        for i in 0..<50 { s[i] = ((i > 0 ? h[i - 1] : h[i]) + h[i] + (i < 49 ? h[i + 1] : h[i])) / 3 }
        let t = 0.05 * (s.max() ?? 0)
        var peaks: Int32 = 0
        for i in 1...48 where s[i] > s[i - 1] && s[i] > s[i + 1] && s[i] > t { peaks += 1 }
        if s[0] > t && s[0] > s[1] { peaks += 1 }
        if s[49] > t && s[49] > s[48] { peaks += 1 }
        return peaks
    }

    /// 4.
    private static func coherence(_ map: DepthMap) -> Double {
        func at(_ x: Int, _ y: Int) -> Float { map.samples[y * map.width + x] }
        func slope(_ before: Float, _ after: Float) -> Double {
            guard before.isFinite, before > 0.1, after.isFinite, after > 0.1 else { return 0 }
            return (Double(after) - Double(before)) / 2
        }
        var centers = 0
        var edges = 0
        for y in 1..<map.height - 1 {
            for x in 1..<map.width - 1 where isValid(at(x, y)) {
                centers += 1
                let gx = slope(at(x - 1, y), at(x + 1, y))
                let gy = slope(at(x, y - 1), at(x, y + 1))
                if (gx * gx + gy * gy).squareRoot() > 0.1 { edges += 1 }
            }
        }
        let r = centers == 0 ? 0 : Double(edges) / Double(centers)
        return min(max(1 - exp(-30 * r), 0), 1)
    }
}
