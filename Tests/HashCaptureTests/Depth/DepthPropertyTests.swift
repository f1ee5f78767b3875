import CaptureSubmission
import HashCapture
import TestSupport
import Testing

/// The optimized analysis against the plain one, with random maps from a fixed seed.
@Suite("depth analysis against the contract's text")
struct DepthPropertyTests {
    enum Kind: CaseIterable {
        /// Independent samples.
        case noise
        /// Multiples of 0.1 m: bin edges fall on samples.
        case decimeters
        /// Multiples of 0.01 m.
        case centimeters
        /// Slopes whose gradients are near the edge limit.
        case ramp
        /// Gradients of 0.1 everywhere, so that only rounding decides which are edges.
        case edgeLimit
        /// Samples at and next to the limits of the range.
        case limits
        /// Very few values, one unit in the last place apart.
        case narrow
    }

    @Test("both implementations agree", arguments: Kind.allCases)
    func agreement(kind: Kind) throws {
        var chance = Chance(seed: 20_261_122)
        for _ in 0..<80 {
            let made = chance.map(kind)
            let map = try #require(made)

            let quick = DepthAnalyzer.analyze(map)
            let plain = PlainDepthAnalysis.analyze(map)

            #expect(quick.status == plain.status)
            #expect(quick.depthLayers == plain.depthLayers)
            #expect(quick.minDepth == plain.minDepth)
            #expect(quick.maxDepth == plain.maxDepth)
            #expect(quick.isLikelyRealScene == plain.isLikelyRealScene)
            #expect(isNear(quick.depthVariance, plain.depthVariance, 1e-14, 1e-12))
            #expect(isNear(quick.edgeCoherence, plain.edgeCoherence, 1e-15, 0))
        }
    }

    /// Random maps.
    struct Chance: RandomNumberGenerator {
        private var random: SplitMix

        init(seed: UInt64) { random = SplitMix(seed: seed) }

        mutating func next() -> UInt64 { random.next() }

        /// At least 1×1, with holes in half of the maps.
        mutating func map(_ kind: Kind) -> DepthMap? {
            let width = Int.random(in: 1...23, using: &self)
            let height = Int.random(in: 1...19, using: &self)
            let holes = Bool.random(using: &self) ? 0 : Double.random(in: 0...1, using: &self)
            let slope = Float.random(in: 0...0.3, using: &self)
            let samples = (0..<width * height).map { index -> Float in
                guard Double.random(in: 0..<1, using: &self) >= holes else { return hole() }
                return sample(kind, index % width, index / width, slope: slope)
            }
            return DepthMap(width: width, height: height, samples: samples)
        }

        private mutating func hole() -> Float {
            let holes: [Float] = [0, -1, .nan, .infinity, -.infinity, 25, 3e38, 0.05, -0.0, .leastNonzeroMagnitude]
            return holes.randomElement(using: &self) ?? 0
        }

        private mutating func sample(_ kind: Kind, _ x: Int, _ y: Int, slope: Float) -> Float {
            switch kind {
            case .noise: return .random(in: 0.05...21, using: &self)
            case .decimeters: return Float(Double(Int.random(in: 1...40, using: &self)) / 10)
            case .centimeters: return Float(Double(Int.random(in: 100...300, using: &self)) / 100)
            case .ramp: return 1 + (Float(x) + Float(y) / 2) * slope + .random(in: 0...0.01, using: &self)
            // 0.06² + 0.08² = 0.1²
            case .edgeLimit: return Float(1 + 0.06 * Double(x) + 0.08 * Double(y))
            case .limits:
                let limits: [Float] = [0.1, Float(0.1).nextUp, Float(0.1).nextDown, 20, Float(20).nextUp, 19]
                return limits.randomElement(using: &self) ?? 20
            case .narrow: return Float(2).advanced(by: Float(Int.random(in: 0...3, using: &self)) * Float(2).ulp)
            }
        }
    }
}
