import CaptureSubmission
import Foundation
import HashCapture
import TestSupport
import Testing

/// `fixtures/depth`: maps, and the output of the reference algorithm for them.
struct DepthVectors: Decodable {
    struct Expected: Decodable {
        var status: String
        var depthVariance: Double
        var depthLayers: Int32
        var edgeCoherence: Double
        var minDepth: Double
        var maxDepth: Double
        var isLikelyRealScene: Bool
    }

    struct Vector: Decodable, CustomTestStringConvertible {
        var name: String
        var file: String
        var width: Int
        var height: Int
        var expected: Expected
        var layersAnyOf: [Int32]?

        var testDescription: String { name }
        var path: [UInt8] { Array((DepthVectors.directory + file).utf8) }
        var layout: DepthMapFile.Layout { .init(width: width, height: height) }

        func analysis() throws -> DepthAnalysis {
            DepthAnalyzer.analyze(try DepthMapFile.read(path, layout: layout))
        }
    }

    struct Temporal: Decodable, CustomTestStringConvertible {
        struct Expected: Decodable {
            var meanVariance: Double
            var varianceStability: Double
            var temporalCoherence: Double
            var isLikelyRealScene: Bool
            var keyframeCount: Int32
        }

        var name: String
        var keyframes: [String]
        var expected: Expected

        var testDescription: String { name }
    }

    struct Malformed: Decodable, CustomTestStringConvertible {
        var name: String
        var file: String
        var width: Int
        var height: Int

        var testDescription: String { name }
    }

    var vectors: [Vector]
    var temporal: [Temporal]
    var malformed: [Malformed]

    static let directory = Repository.path("fixtures/depth") + "/"

    /// Empty if the file cannot be read; `DepthVectorTests` checks the count.
    static let all: DepthVectors = {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let data = FileManager.default.contents(atPath: directory + "vectors.json") ?? Data()
        return (try? decoder.decode(DepthVectors.self, from: data))
            ?? DepthVectors(vectors: [], temporal: [], malformed: [])
    }()
}
