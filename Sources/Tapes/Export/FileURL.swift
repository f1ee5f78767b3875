/// URLs of local files (RFC 8089), made of bytes.
enum FileURL {
    /// `file:///…`; every byte that is not unreserved (RFC 3986 section 2.3) or a slash is percent-encoded.
    ///
    /// - Parameter path: Absolute, as bytes.
    /// - Returns: ASCII.
    static func text(of path: [UInt8]) -> String {
        let digits = Array("0123456789ABCDEF")
        return path.reduce(into: "file://") { text, byte in
            let scalar = Unicode.Scalar(byte)
            let isLetterOrDigit = scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
            if isLetterOrDigit || "-._~/".unicodeScalars.contains(scalar) {
                text.unicodeScalars.append(scalar)
            } else {
                text += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
    }
}
