internal import MediaCore
internal import MediaCrypto
internal import MediaTransport

extension [String: JSONValue] {
    /// A server's id: a positive whole number.
    func identifier(_ key: String) -> Int64? {
        self[key]?.wholeNumber.flatMap { $0 > 0 ? $0 : nil }
    }

    /// A text that is not blank.
    func text(_ key: String) -> String? {
        guard let text = self[key]?.text, text.contains(where: { !$0.isWhitespace }) else { return nil }
        return text
    }

    /// A SHA-256 digest in lower-case hexadecimal.
    func checksum(_ key: String) -> String? {
        text(key).flatMap { SHA256Digest(hex: $0)?.hex }
    }
}
