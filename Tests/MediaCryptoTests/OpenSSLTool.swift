import TestSupport

/// The `openssl` program: a second opinion on digests.
enum OpenSSLTool {
    /// The SHA-256 of a file, in hexadecimal.
    static func sha256(ofFile path: String) throws -> String {
        String(try ChildProcess.run("openssl", ["dgst", "-sha256", "-r", path]).output.prefix(64))
    }
}

/// Bytes that look random and are the same in each run (SplitMix64).
func sampleBytes(_ count: Int) -> [UInt8] {
    var state: UInt64 = 0x9E37_79B9_7F4A_7C15
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 8)
    while bytes.count < count {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        withUnsafeBytes(of: word ^ (word >> 31)) { bytes.append(contentsOf: $0) }
    }
    return Array(bytes[..<count])
}
