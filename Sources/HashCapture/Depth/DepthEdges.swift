/// The edges between the samples of a map: its inner rows are added one by one, each while it and its two neighbours are in
/// the cache.
struct DepthEdges {
    private(set) var centreCount = 0
    private(set) var edgeCount = 0

    /// Counts centres and edges of an inner row, four pixels at a time. binary32 decides unless a gradient is so near the
    /// limit that only binary64 can tell: the squares in binary32 are off by a millionth at most.
    mutating func add(around row: UnsafePointer<Float>, width: Int) {
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
        for x in x..<width - 1 where row[x] >= DepthExtent.nearest && row[x] <= DepthExtent.farthest {
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
        let nearest = DepthExtent.nearest
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
        let nearest = DepthExtent.nearest
        let areUsable = before > nearest && before < .infinity && after > nearest && after < .infinity
        return areUsable ? (Double(after) - Double(before)) / 2 : 0
    }
}
