import CaptureSubmission
import HashCapture

/// `depth-bench WIDTH HEIGHT ROUNDS`: analyzes a generated room in memory and prints "ANALYSIS COPY LAYERS": the
/// shortest times of an analysis and of `memcpy` over the same bytes, in seconds, and the number of layers found.
@main
enum DepthBench {
    static func main() throws {
        let numbers = CommandLine.arguments.dropFirst().compactMap { Int($0) }
        guard numbers.count == 3, numbers[2] > 0, let map = room(width: numbers[0], height: numbers[1]) else {
            throw Usage()
        }
        let target = UnsafeMutableRawBufferPointer.allocate(byteCount: map.samples.count * 4, alignment: 64)
        defer { target.deallocate() }
        var analysis = Duration.seconds(3600)
        var copy = Duration.seconds(3600)
        var layers: Int32 = 0
        for round in 0...numbers[2] {
            let analyzed = ContinuousClock().measure { layers = DepthAnalyzer.analyze(map).depthLayers }
            let copied = ContinuousClock().measure { map.samples.withUnsafeBytes { target.copyMemory(from: $0) } }
            // The first round loads the target's pages.
            if round > 0 { (analysis, copy) = (min(analysis, analyzed), min(copy, copied)) }
        }
        print(analysis / .seconds(1), copy / .seconds(1), layers)
    }

    /// A floor, a wall with boxes in front of it, noise that increases with the distance, and holes.
    private static func room(width: Int, height: Int) -> DepthMap? {
        guard width > 0, height > 0 else { return nil }
        var state: UInt64 = 20_251_201
        let samples = (0..<width * height).map { index -> Float in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let noise = Float(state >> 40) / Float(1 << 24)
            let (x, y) = (Float(index % width) / Float(width), Float(index / width) / Float(height))
            let isBox = y > 0.4 && (x * 5).truncatingRemainder(dividingBy: 1) < 0.3
            let depth = min(isBox ? 1 + x * 2 : 4.5, 1 / (0.05 + max(y - 0.5, 0)))
            return noise < 0.01 ? 0 : depth * (1 + noise * 0.01)
        }
        return DepthMap(width: width, height: height, samples: samples)
    }
}

struct Usage: Error, CustomStringConvertible {
    let description = "usage: depth-bench WIDTH HEIGHT ROUNDS"
}
