/// The valid samples' number, sum and extremes: what the formulas need before they can look at a sample, and what needs no
/// sample but one at a time. So it is found while samples are made.
struct DepthExtent: Sendable {
    /// Samples below are holes, as are those above `farthest`. Compared in binary32: 0.1 in binary64 is another number.
    static let nearest: Float = 0.1
    static let farthest: Float = 20

    private(set) var validCount = 0
    private var sum = 0.0
    private var least = Float.infinity
    private var greatest = -Float.infinity

    /// The extremes of the valid samples; nil without one.
    var range: ClosedRange<Float>? { validCount > 0 ? least...greatest : nil }

    /// Of the valid samples.
    var mean: Double { sum / Double(validCount) }

    /// In four lanes. Their order does not matter: a valid sample is a multiple of 2⁻²⁷ and at most 20, so that the sum of
    /// three million of them is exact.
    mutating func add(_ samples: UnsafeBufferPointer<Float>) {
        var count = SIMD4<Int32>.zero
        var sums = SIMD4<Double>.zero
        var low = SIMD4<Float>(repeating: .infinity)
        var high = SIMD4<Float>(repeating: -.infinity)
        samples.forEachFour { four in
            let isValid = four.areValid
            count.replace(with: count &+ 1, where: isValid)
            sums += SIMD4<Double>(SIMD4<Float>.zero.replacing(with: four, where: isValid))
            low.replace(with: four, where: isValid .& (four .< low))
            high.replace(with: four, where: isValid .& (four .> high))
        }
        validCount += Int(count.wrappedSum())
        sum += sums.sum()
        least = min(least, low.min())
        greatest = max(greatest, high.max())
    }
}

extension UnsafeRawPointer {
    /// Four samples from so many samples on.
    @inline(__always)
    func four(at offset: Int) -> SIMD4<Float> {
        loadUnaligned(fromByteOffset: offset * 4, as: SIMD4<Float>.self)
    }
}

extension UnsafeBufferPointer<Float> {
    /// Calls with four samples at a time; what is missing at the end is not a number. One call alone in here, or the
    /// compiler keeps the caller's sums in memory.
    @inline(__always)
    func forEachFour(_ body: (SIMD4<Float>) -> Void) {
        guard let start = UnsafeRawPointer(baseAddress) else { return }
        for index in stride(from: 0, to: count, by: 4) {
            body(index + 4 <= count ? start.four(at: index) : rest(from: index))
        }
    }

    private func rest(from start: Int) -> SIMD4<Float> {
        var rest = SIMD4<Float>(repeating: .nan)
        for index in start..<count { rest[index - start] = self[index] }
        return rest
    }
}

extension SIMD4<Float> {
    /// Which are finite and in range. Not a number compares false.
    @inline(__always)
    var areValid: SIMDMask<SIMD4<Int32>> { (self .>= DepthExtent.nearest) .& (self .<= DepthExtent.farthest) }
}

extension SIMD4<Double> {
    /// Which are finite and in range, of samples that were widened: their order stays the same.
    @inline(__always)
    var areValid: SIMDMask<SIMD4<Int64>> {
        (self .>= Double(DepthExtent.nearest)) .& (self .<= Double(DepthExtent.farthest))
    }
}
