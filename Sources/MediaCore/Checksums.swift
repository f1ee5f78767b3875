/// Computes 32-bit cyclic redundancy checks, reflected, with all bits inverted at both ends.
package struct CyclicCheck: Sendable {
    /// CRC-32 of gzip and PNG (RFC 1952 section 8).
    package static let gzip = CyclicCheck(polynomial: 0xedb8_8320)
    /// CRC-32C of iSCSI (RFC 3720 appendix B.4); it detects more errors in records of a few kilobytes.
    package static let castagnoli = CyclicCheck(polynomial: 0x82f6_3b78)

    private let table: [UInt32]

    private init(polynomial: UInt32) {
        table = (0..<256).map { index in
            (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 0 ? value >> 1 : (value >> 1) ^ polynomial }
        }
    }

    /// The check of these bytes; `check` is the check of all preceding bytes, or 0 at the beginning.
    package func of(_ bytes: some Sequence<UInt8>, after check: UInt32 = 0) -> UInt32 {
        // Other modules call this unspecialized, which is five times slower than the loop over contiguous bytes.
        bytes.withContiguousStorageIfAvailable { update(check, with: $0) } ?? update(check, with: Array(bytes))
    }

    private func update(_ check: UInt32, with bytes: some Sequence<UInt8>) -> UInt32 {
        ~bytes.reduce(~check) { value, byte in
            table[Int(UInt8(truncatingIfNeeded: value) ^ byte)] ^ (value >> 8)
        }
    }
}

extension Sequence<UInt8> {
    /// 64-bit FNV-1a: unlike Swift's own hashes, it is the same in every run and on every machine. Its low bits mix
    /// poorly.
    package var fnv1a: UInt64 {
        // Written this way for the same reason as `CyclicCheck.of`.
        withContiguousStorageIfAvailable(Self.fold) ?? Array(self).withUnsafeBufferPointer(Self.fold)
    }

    private static func fold(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
