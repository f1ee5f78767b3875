import CaptureSubmission
import Foundation
import HashCapture
import Testing

/// Depth analysis 1.0 against the vectors, within the tolerances specified in the file.
@Suite("depth vectors")
struct DepthVectorTests {
    @Test("all vectors exist")
    func complete() {
        #expect(DepthVectors.all.vectors.count == 33)
        #expect(DepthVectors.all.temporal.count == 7)
        #expect(DepthVectors.all.malformed.count == 3)
    }

    @Test("a map", arguments: DepthVectors.all.vectors)
    func map(vector: DepthVectors.Vector) throws {
        let analysis = try vector.analysis()

        let expected = vector.expected
        #expect(analysis.status.rawValue == expected.status)
        #expect(isNear(analysis.depthVariance, expected.depthVariance, 1e-4, 5e-5))
        #expect((vector.layersAnyOf ?? [expected.depthLayers]).contains(analysis.depthLayers))
        #expect(isNear(analysis.edgeCoherence, expected.edgeCoherence, 1e-5, 0))
        #expect(Float(analysis.minDepth) == Float(expected.minDepth))
        #expect(Float(analysis.maxDepth) == Float(expected.maxDepth))
        #expect(analysis.isLikelyRealScene == expected.isLikelyRealScene)
    }

    @Test("the numbers equal those of the reference in binary64", arguments: DepthVectors.all.vectors)
    func closeness(vector: DepthVectors.Vector) throws {
        let analysis = try vector.analysis()

        #expect(isNear(analysis.depthVariance, vector.expected.depthVariance, 1e-12, 1e-12))
        #expect(isNear(analysis.edgeCoherence, vector.expected.edgeCoherence, 1e-15, 0))
        #expect(analysis.depthLayers == vector.expected.depthLayers)
    }

    @Test("combined keyframes", arguments: DepthVectors.all.temporal)
    func keyframes(temporal: DepthVectors.Temporal) throws {
        let keyframes = try temporal.keyframes.map { name in
            try #require(DepthVectors.all.vectors.first { $0.name == name }).analysis()
        }

        let analysis = try #require(DepthAnalyzer.analyze(keyframes: keyframes))

        let expected = temporal.expected
        #expect(isNear(analysis.meanVariance, expected.meanVariance, 1e-4, 1e-4))
        #expect(isNear(analysis.varianceStability, expected.varianceStability, 1e-4, 1e-4))
        #expect(isNear(analysis.temporalCoherence, expected.temporalCoherence, 1e-4, 1e-4))
        #expect(analysis.isLikelyRealScene == expected.isLikelyRealScene)
        #expect(analysis.keyframeCount == expected.keyframeCount)
    }

    @Test("a wrong length is an input error, never a guess", arguments: DepthVectors.all.malformed)
    func malformed(map: DepthVectors.Malformed) throws {
        let path = Array((DepthVectors.directory + map.file).utf8)

        let error = #expect(throws: CaptureError.self) {
            try DepthMapFile.read(path, layout: .init(width: map.width, height: map.height))
        }

        #expect(error?.code == .depthMapInvalid)
        #expect(error?.path == path)
    }
}

/// Whether a value is within an absolute and a relative tolerance.
func isNear(_ value: Double, _ expected: Double, _ absolute: Double, _ relative: Double) -> Bool {
    abs(value - expected) <= absolute + relative * abs(expected)
}
