/// What one reading of a map from its first row to its last finds: the valid samples' number, sum and extremes, and the
/// edges between them. Each row is taken while it and its two neighbours are in the cache.
struct DepthSurvey {
    /// Samples below are holes, as are those above `farthest`. Compared in binary32: 0.1 in binary64 is another number.
    static let nearest: Float = 0.1
    static let farthest: Float = 20

    private(set) var validCount = 0
    private(set) var centreCount = 0
    private(set) var edgeCount = 0
    private var sum = 0.0
    private var least = Float.infinity
    private var greatest = -Float.infinity

    /// The extremes of the valid samples; nil without one.
    var range: ClosedRange<Float>? { validCount > 0 ? least...greatest : nil }

    /// Of the valid samples.
    var mean: Double { sum / Double(validCount) }

    init(of map: DepthMap) {
        map.samples.withUnsafeBufferPointer { samples in
            guard let start = samples.baseAddress else { return }
            for row in 0..<map.height {
                add(UnsafeBufferPointer(rebasing: samples[row * map.width..<(row + 1) * map.width]))
                if row >= 2 { addEdges(around: start + (row - 1) * map.width, width: map.width) }
            }
        }
    }

    /// In four lanes. Their order does not matter: a valid sample is a multiple of 2⁻²⁷ and at most 20, so that the sum of
    /// three million of them is exact.
    private mutating func add(_ row: UnsafeBufferPointer<Float>) {
        var count = SIMD4<Int32>.zero
        var sums = SIMD4<Double>.zero
        var low = SIMD4<Float>(repeating: .infinity)
        var high = SIMD4<Float>(repeating: -.infinity)
        row.forEachFour { four in
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

    /// Counts centres and edges of an inner row. Without branches, so that the compiler takes several pixels at once.
    private mutating func addEdges(around row: UnsafePointer<Float>, width: Int) {
        let limit = Self.greatestSquareOfNoEdge
        var centres = 0
        var edges = 0
        for x in 1..<width - 1 {
            let here = row + x
            let isCentre = here.pointee >= Self.nearest && here.pointee <= Self.farthest
            let across = Self.slope(here[-1], here[1])
            let down = Self.slope((here - width).pointee, here[width])
            let isEdge = across * across + down * down > limit
            centres &+= isCentre ? 1 : 0
            edges &+= isCentre && isEdge ? 1 : 0
        }
        centreCount += centres
        edgeCount += edges
    }

    /// A neighbour counts when it is finite and nearer than nothing: strictly above the least valid depth, but with no
    /// upper limit.
    @inline(__always)
    private static func slope(_ before: Float, _ after: Float) -> Double {
        let areUsable = before > nearest && before < .infinity && after > nearest && after < .infinity
        return areUsable ? (Double(after) - Double(before)) / 2 : 0
    }

    /// The greatest number whose square root is not above 0.1: one comparison instead of a root for each pixel. The
    /// square of 0.1 is one unit in the last place away from it at most.
    private static let greatestSquareOfNoEdge: Double = {
        var square = 0.1 * 0.1
        while square.squareRoot() > 0.1 { square = square.nextDown }
        while square.nextUp.squareRoot() <= 0.1 { square = square.nextUp }
        return square
    }()
}

extension UnsafeBufferPointer<Float> {
    /// Calls with four samples at a time; what is missing at the end is not a number.
    @inline(__always)
    func forEachFour(_ body: (SIMD4<Float>) -> Void) {
        let whole = count & ~3
        let bytes = UnsafeRawBufferPointer(self)
        for index in stride(from: 0, to: whole, by: 4) {
            body(bytes.loadUnaligned(fromByteOffset: index * 4, as: SIMD4<Float>.self))
        }
        guard whole < count else { return }
        var rest = SIMD4<Float>(repeating: .nan)
        for index in whole..<count { rest[index - whole] = self[index] }
        body(rest)
    }
}

extension SIMD4<Float> {
    /// Which are finite and in range. Not a number compares false.
    @inline(__always)
    var areValid: SIMDMask<SIMD4<Int32>> { (self .>= DepthSurvey.nearest) .& (self .<= DepthSurvey.farthest) }
}

extension SIMD4<Double> {
    /// Which are finite and in range, of samples that were widened: their order stays the same.
    @inline(__always)
    var areValid: SIMDMask<SIMD4<Int64>> {
        (self .>= Double(DepthSurvey.nearest)) .& (self .<= Double(DepthSurvey.farthest))
    }
}
