public import MediaCrypto

extension VerifyingKey {
    /// Reads a public key as its owner may have it: PEM, or an uncompressed point in 65 bytes (SEC 1).
    ///
    /// - Parameter file: The content of the file.
    /// - Returns: nil for anything but a public key of P-256.
    public static func reading(_ file: [UInt8]) -> VerifyingKey? {
        (try? VerifyingKey(pem: file)) ?? (try? VerifyingKey(sec1: file))
    }
}
