extension Sequence<UInt8> {
    /// FNV-1a of 64 bits: the same in every run and on every machine, unlike Swift's own hashes. Its low bits mix poorly.
    package var fnv1a: UInt64 {
        reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
