import CaptureSubmission
import Foundation
import MediaCrypto
import TestSupport

/// Random payloads, the same in every run.
struct RandomPayloads {
    private var random: SplitMix

    init(seed: UInt64) {
        random = SplitMix(seed: seed)
    }

    /// The next payload.
    mutating func next() throws -> HashOnlyPayload {
        let metadata = CaptureMetadata(
            location: location(),
            timestamp: chance(2) ? text() : nil,
            deviceModel: chance(2) ? text() : nil
        )
        let isVideo = chance(3)
        return HashOnlyPayload(
            mediaHash: try digest(),
            mediaType: isVideo ? .video : .photo,
            depthAnalysis: DepthAnalysis(
                status: chance(2) ? .completed : .unavailable,
                depthVariance: depth(),
                depthLayers: Int32.random(in: 0...50, using: &random),
                edgeCoherence: chance(5) ? 1 : Double.random(in: 0...1, using: &random),
                minDepth: depth(),
                maxDepth: depth(),
                isLikelyRealScene: chance(2)
            ),
            metadata: metadata,
            flags: MetadataFlags(
                location: LocationLevel.allCases.randomElement(using: &random) ?? .none,
                timestamp: TimestampLevel.allCases.randomElement(using: &random) ?? .none,
                deviceInfo: DeviceInfoLevel.allCases.randomElement(using: &random) ?? .none
            ),
            capturedAt: "2026-11-22T02:16:05Z",
            video: isVideo ? try video() : nil
        )
    }

    private mutating func video() throws -> VideoMembers {
        VideoMembers(
            hashChain: .init(finalHash: try digest(), chainLength: count(), checkpointCount: 3),
            frameCount: count(),
            durationMilliseconds: count(),
            temporalAnalysis: chance(3)
                ? nil
                : TemporalDepthAnalysis(
                    meanVariance: depth(),
                    varianceStability: -depth(),
                    temporalCoherence: depth(),
                    isLikelyRealScene: chance(2),
                    keyframeCount: count()
                )
        )
    }

    private mutating func location() -> CaptureMetadata.Location? {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: nil
        case 1: .place(city: chance(2) ? text() : nil, country: "CH")
        case 2:
            .coordinates(
                latitude: Double.random(in: -90...90, using: &random),
                longitude: Double.random(in: -180...180, using: &random)
            )
        default: .coordinates(latitude: binary64(), longitude: -0.0)
        }
    }

    /// Thresholds of the spellings (trap 8), depths, and random bits.
    private mutating func depth() -> Double {
        let odd: [Double] = [0, -0.0, 5, 0.8, 1e-5, 1e-6, 9.5e-6, 1e15, 1e16, 1e17, 1e20, 1e21, 1e22, 1e-45, 3.4e38]
        switch Int.random(in: 0..<3, using: &random) {
        case 0: return odd.randomElement(using: &random) ?? 0
        case 1: return Double.random(in: 0.1...20, using: &random)
        default:
            let bits = Float(bitPattern: UInt32.random(in: 0...UInt32.max, using: &random))
            return bits.isFinite ? Double(bits) : 1
        }
    }

    private mutating func binary64() -> Double {
        let bits = Double(bitPattern: UInt64.random(in: 0...UInt64.max, using: &random))
        return bits.isFinite ? bits : 0.1
    }

    private mutating func count() -> Int32 { Int32.random(in: 1...Int32.max, using: &random) }

    private mutating func digest() throws -> SHA256Digest {
        let digits = (0..<64).map { _ in "0123456789abcdef".randomElement(using: &random) ?? "0" }
        guard let digest = SHA256Digest(hex: String(digits)) else { throw ForeignProgram.Failure("no digest") }
        return digest
    }

    /// Control characters, escaped and unescaped ones, and characters of two, three and four bytes.
    private mutating func text() -> String {
        let scalars = (0..<Int.random(in: 0...16, using: &random)).map { _ -> Unicode.Scalar in
            let ranges: [ClosedRange<UInt32>] = [
                0...0x1f, 0x20...0x7f, 0x22...0x22, 0x5c...0x5c, 0x2f...0x2f, 0x80...0x7ff, 0x2028...0x2029,
                0xe000...0xfffd, 0x1_0000...0x10_fffd,
            ]
            let range = ranges.randomElement(using: &random) ?? 0...0
            return Unicode.Scalar(UInt32.random(in: range, using: &random)) ?? "?"
        }
        return String(String.UnicodeScalarView(scalars))
    }

    private mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }
}
