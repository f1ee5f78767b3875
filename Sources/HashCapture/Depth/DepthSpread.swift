/// What the second reading finds, from the last row to the first: how far the valid samples lie from their mean, and
/// their histogram.
struct DepthSpread {
    /// Sum of the squared distances from the mean.
    private(set) var squares = 0.0
    /// Peaks of the smoothed histogram.
    private(set) var layers: Int32 = 0

    /// Reads a map again.
    ///
    /// - Parameters:
    ///   - map: The map.
    ///   - mean: Of its valid samples.
    ///   - range: Their extremes.
    init(of map: DepthMap, mean: Double, range: ClosedRange<Float>) {
        // Equal samples are no distance apart, though their mean may be off by its rounding.
        guard range.upperBound > range.lowerBound else { return }
        var histogram = DepthHistogram(range)
        map.samples.withUnsafeBufferPointer { samples in
            histogram.fill { tally in
                for row in (0..<map.height).reversed() {
                    let row = UnsafeBufferPointer(rebasing: samples[row * map.width..<(row + 1) * map.width])
                    squares += Self.squares(of: row, mean: mean, tally)
                }
            }
        }
        layers = histogram.peakCount
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
