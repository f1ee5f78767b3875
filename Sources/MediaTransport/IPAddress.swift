internal import Glibc

/// A numeric IPv4 or IPv6 address.
struct IPAddress: Equatable {
    /// 4 or 16 bytes in network order.
    let bytes: [UInt8]

    /// Reads four decimal numbers with dots between them, or an IPv6 address with or without brackets; nil for anything else.
    init?(_ text: some StringProtocol) {
        let text = text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : String(text)
        var four = in_addr()
        var sixteen = in6_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            bytes = withUnsafeBytes(of: four) { Array($0) }
        } else if inet_pton(AF_INET6, text, &sixteen) == 1 {
            bytes = withUnsafeBytes(of: sixteen) { Array($0) }
        } else {
            return nil
        }
    }

    /// `127.0.0.0/8` (RFC 1122 section 3.2.1.3) or `::1` (RFC 4291 section 2.5.3).
    var isLoopback: Bool {
        bytes.count == 4 ? bytes[0] == 127 : bytes.last == 1 && bytes.dropLast().allSatisfy { $0 == 0 }
    }

    /// Whether the first `bits` bits of both addresses are equal; never for addresses of two families.
    func hasPrefix(_ other: IPAddress, bits: Int) -> Bool {
        guard bytes.count == other.bytes.count, (0...bytes.count * 8).contains(bits) else { return false }
        return (0..<bits).allSatisfy { bit in
            (bytes[bit / 8] ^ other.bytes[bit / 8]) & (0x80 >> UInt8(bit % 8)) == 0
        }
    }
}
