/// How far the valid samples lie from their mean, and their histogram; rows are added one by one.
struct DepthSpread {
    /// Sum of the squared distances from the mean.
    private(set) var squares = 0.0
    private let mean: Double
    /// nil for samples that are all equal: they are no distance apart, though their mean may be off by its rounding, and
    /// lie in no layer.
    private var histogram: DepthHistogram?

    /// Takes what the whole map is known to have.
    init(mean: Double, range: ClosedRange<Float>) {
        self.mean = mean
        if range.upperBound > range.lowerBound { histogram = DepthHistogram(range) }
    }

    /// Peaks of the smoothed histogram.
    var layers: Int32 { histogram?.peakCount ?? 0 }

    mutating func add(_ row: UnsafeBufferPointer<Float>) {
        let mean = mean
        var sum = 0.0
        histogram?.fill { tally in sum = Self.squares(of: row, mean: mean, tally) }
        squares += sum
    }

    private static func squares(
        of row: UnsafeBufferPointer<Float>,
        mean: Double,
        _ tally: DepthHistogram.Tally
    ) -> Double {
        var squares = SIMD4<Double>.zero
        row.forEachFour { four in
            let depths = SIMD4<Double>(four)
            let isValid = depths.areValid
            let distances = (depths - mean).replacing(with: 0, where: .!isValid)
            squares += distances * distances
            tally.add(depths, where: isValid)
        }
        return squares.sum()
    }
}
