import CaptureSubmission
import HashCapture
import Testing

/// Rules of section 5 that are not covered by a vector, calculated by hand.
@Suite("depth analysis")
struct DepthAnalyzerTests {
    static func analysis(_ width: Int, _ height: Int, _ samples: [Float]) throws -> DepthAnalysis {
        DepthAnalyzer.analyze(try #require(DepthMap(width: width, height: height, samples: samples)))
    }

    @Test("the range is compared in binary32: it includes 0.1 and 20, but not the adjacent values")
    func range() throws {
        var samples = [Float](repeating: 0, count: 9)
        (samples[0], samples[8]) = (0.1, 20)
        (samples[1], samples[7]) = (Float(0.1).nextDown, Float(20).nextUp)

        let analysis = try Self.analysis(3, 3, samples)

        #expect(analysis.minDepth == Double(Float(0.1)))
        #expect(analysis.maxDepth == 20)
        // Half the distance between two samples.
        #expect(isNear(analysis.depthVariance, (20 - Double(Float(0.1))) / 2, 1e-12, 0))
    }

    @Test(
        "an adjacent sample may be too far to be valid, but must be farther than 0.1 and finite",
        arguments: [
            (Float(25), true), (.infinity, false), (.nan, false), (0.1, false), (Float(0.1).nextUp, true),
        ]
    )
    func neighbors(neighbor: Float, isEdge: Bool) throws {
        var samples = [Float](repeating: 0, count: 9)
        (samples[3], samples[4], samples[5]) = (neighbor, 2, 2)

        let analysis = try Self.analysis(3, 3, samples)

        #expect((analysis.edgeCoherence > 0) == isEdge)
    }

    @Test("a gradient of exactly 0.1 is not an edge", arguments: [(Float(1.2), false), (Float(1.2).nextUp, true)])
    func gradient(right: Float, isEdge: Bool) throws {
        // In binary64 the widened 1.2 is greater than 1.2, so the left sample is increased by the same amount.
        let left = Float(1.0000001)
        let samples: [Float] = [0, 0, 0, left, 1.1, right, 0, 0, 0]
        let slope = (Double(right) - Double(left)) / 2

        #expect((slope > 0.1) == isEdge)
        #expect((try Self.analysis(3, 3, samples).edgeCoherence > 0) == isEdge)
    }

    @Test("maps below 3×3 are refused, regardless of their samples", arguments: [(2, 5), (5, 2), (1, 1), (2, 2)])
    func tooSmall(width: Int, height: Int) throws {
        #expect(try Self.analysis(width, height, [Float](repeating: 2, count: width * height)) == .unavailable)
    }

    @Test("equal samples have no deviation and no layer, although a third has no finite binary form")
    func flat() throws {
        let analysis = try Self.analysis(7, 3, [Float](repeating: 1.0 / 3, count: 21))

        #expect(analysis.status == .completed)
        #expect(analysis.depthVariance == 0)
        #expect(analysis.depthLayers == 0)
    }

    @Test(
        "a map's number of samples must match its size",
        arguments: [
            (3, 3, 8), (3, 3, 10), (0, 0, 0), (-3, -3, 9), (.max, 2, 0), (1 << 62, 4, 0),
        ]
    )
    func size(width: Int, height: Int, count: Int) {
        #expect(DepthMap(width: width, height: height, samples: .init(repeating: 1, count: count)) == nil)
    }

    @Test("a map's bytes are little-endian binary32")
    func bytes() throws {
        let map = try #require(DepthMap(width: 2, height: 1, samples: [1, -2.5]))

        #expect(map.littleEndianBytes == [0, 0, 0x80, 0x3F, 0, 0, 0x20, 0xC0])
    }

    // MARK: Keyframes

    static func keyframe(_ variance: Double, layers: Int32 = 0, depths: ClosedRange<Double> = 1...2) -> DepthAnalysis {
        DepthAnalysis(
            status: .completed,
            depthVariance: variance,
            depthLayers: layers,
            edgeCoherence: variance / 4,
            minDepth: depths.lowerBound,
            maxDepth: depths.upperBound,
            isLikelyRealScene: true
        )
    }

    @Test("without keyframes there is no analysis")
    func noKeyframes() {
        #expect(DepthAnalyzer.analyze(keyframes: []) == nil)
    }

    @Test("real keyframes that differ too much are not a real scene; stability may be negative")
    func unstable() throws {
        let analysis = try #require(DepthAnalyzer.analyze(keyframes: [0, 0, 0, 0, 0, 3].map { Self.keyframe($0) }))

        #expect(analysis.meanVariance == 0.5)
        // Squares: 5 × 0.25 + 6.25 = 7.5; their mean is 1.25.
        #expect(isNear(analysis.varianceStability, 1 - 1.25.squareRoot() / 0.5, 1e-12, 0))
        #expect(analysis.varianceStability < 0)
        #expect(!analysis.isLikelyRealScene)
    }

    @Test("one keyframe that is not a real scene is sufficient to reject the video")
    func oneNotReal() throws {
        var other = Self.keyframe(1)
        other.isLikelyRealScene = false

        #expect(try #require(DepthAnalyzer.analyze(keyframes: [Self.keyframe(1)])).isLikelyRealScene)
        #expect(!(try #require(DepthAnalyzer.analyze(keyframes: [Self.keyframe(1), other])).isLikelyRealScene))
    }

    @Test("a video's own analysis: means, the lower median, extremes of the completed keyframes, the temporal result")
    func summary() throws {
        let keyframes = [
            Self.keyframe(1, layers: 9, depths: 0.5...3), .unavailable, Self.keyframe(2, layers: 4, depths: 0.7...8),
            Self.keyframe(3, layers: 5),
        ]
        let temporal = try #require(DepthAnalyzer.analyze(keyframes: keyframes))

        let summary = DepthAnalyzer.summary(of: keyframes, temporal: temporal)

        #expect(summary.status == .completed)
        #expect(summary.depthVariance == 1.5)
        #expect(summary.edgeCoherence == 0.375)
        // 0, 4, 5, 9: the lower of the middle two.
        #expect(summary.depthLayers == 4)
        #expect(summary.minDepth == 0.5)
        #expect(summary.maxDepth == 8)
        #expect(!summary.isLikelyRealScene)
    }

    @Test("without a completed keyframe there is no result")
    func nothingCompleted() throws {
        let keyframes = [DepthAnalysis.unavailable, .unavailable]
        let temporal = try #require(DepthAnalyzer.analyze(keyframes: keyframes))

        #expect(DepthAnalyzer.summary(of: keyframes, temporal: temporal) == .unavailable)
    }
}
