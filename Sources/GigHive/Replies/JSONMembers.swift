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
        text(key).map { $0.lowercased() }.flatMap { Checksum.isSHA256($0) ? $0 : nil }
    }
}

/// The written form of a SHA-256 digest.
enum Checksum {
    /// Whether a text is 64 lower-case hexadecimal characters.
    static func isSHA256(_ text: some StringProtocol) -> Bool {
        text.utf8.count == 64
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
