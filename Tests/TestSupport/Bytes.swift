internal import CTestSupport

// In C, because tests are not optimized: a loop over a few hundred kilobytes in Swift takes a tenth of a second.

/// Bytes that are different for each seed, but the same on every machine.
public func randomBytes(_ count: Int, seed: Int = 0) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
        let state = UInt64(truncatingIfNeeded: seed) &* 0x9e37_79b9_7f4a_7c15 &+ 1
        if let start = buffer.baseAddress { ctest_fill(start, count, state) }
        initializedCount = count
    }
}

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): the same sequence on
/// every machine.
public struct SplitMix: RandomNumberGenerator, Sendable {
    private var state: UInt64

    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}

extension [UInt8] {
    /// The offset of the first occurrence of `needle` at or after `start`; nil if there is none.
    public func offset(of needle: [UInt8], from start: Int = 0) -> Int? {
        let offset = withUnsafeBytes { bytes in
            needle.withUnsafeBytes { ctest_find(bytes.baseAddress, bytes.count, start, $0.baseAddress, $0.count) }
        }
        return offset < 0 ? nil : offset
    }
}
