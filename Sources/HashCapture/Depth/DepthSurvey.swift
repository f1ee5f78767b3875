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

    /// Counts centres and edges of an inner row, four pixels at a time. binary32 decides unless a gradient is so near the
    /// limit that only binary64 can tell: the squares in binary32 are off by a millionth at most.
    private mutating func addEdges(around row: UnsafePointer<Float>, width: Int) {
        var centres = SIMD4<Int32>.zero
        var edges = SIMD4<Int32>.zero
        var x = 1
        while x + 4 < width {
            let here = UnsafeRawPointer(row + x)
            let isCentre = here.four(at: 0).areValid
            let across = Self.difference(here.four(at: -1), here.four(at: 1))
            let down = Self.difference(here.four(at: -width), here.four(at: width))
            let squares = across * across + down * down
            let isEdge = squares .> 0.0401
            centres.replace(with: centres &+ 1, where: isCentre)
            edges.replace(with: edges &+ 1, where: isCentre .& isEdge)
            let isUnclear = isCentre .& (squares .> 0.0399) .& .!isEdge
            if any(isUnclear) {
                for lane in 0..<4 where isUnclear[lane] { edgeCount += Self.isEdge(row + x + lane, width) ? 1 : 0 }
            }
            x += 4
        }
        for x in x..<width - 1 where row[x] >= Self.nearest && row[x] <= Self.farthest {
            centreCount += 1
            edgeCount += Self.isEdge(row + x, width) ? 1 : 0
        }
        centreCount += Int(centres.wrappedSum())
        edgeCount += Int(edges.wrappedSum())
    }

    /// Twice the slope. A neighbour counts when it is finite and strictly above the least valid depth; it has no upper
    /// limit.
    @inline(__always)
    private static func difference(_ before: SIMD4<Float>, _ after: SIMD4<Float>) -> SIMD4<Float> {
        let areUsable = (before .> nearest) .& (before .< .infinity) .& (after .> nearest) .& (after .< .infinity)
        return (after - before).replacing(with: 0, where: .!areUsable)
    }

    /// The same in binary64, which decides.
    private static func isEdge(_ here: UnsafePointer<Float>, _ width: Int) -> Bool {
        let across = slope(here[-1], here[1])
        let down = slope(here[-width], here[width])
        return (across * across + down * down).squareRoot() > 0.1
    }

    private static func slope(_ before: Float, _ after: Float) -> Double {
        let areUsable = before > nearest && before < .infinity && after > nearest && after < .infinity
        return areUsable ? (Double(after) - Double(before)) / 2 : 0
    }
}

extension UnsafeRawPointer {
    /// Four samples from so many samples on.
    @inline(__always)
    fileprivate func four(at offset: Int) -> SIMD4<Float> {
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
    var areValid: SIMDMask<SIMD4<Int32>> { (self .>= DepthSurvey.nearest) .& (self .<= DepthSurvey.farthest) }
}

extension SIMD4<Double> {
    /// Which are finite and in range, of samples that were widened: their order stays the same.
    @inline(__always)
    var areValid: SIMDMask<SIMD4<Int64>> {
        (self .>= Double(DepthSurvey.nearest)) .& (self .<= Double(DepthSurvey.farthest))
    }
}
