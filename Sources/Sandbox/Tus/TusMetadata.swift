import Foundation

/// `Upload-Metadata`: keys with base64 values (tus 1.0.0, Creation).
struct TusMetadata: Sendable {
    private var pairs: [(key: String, value: Data)] = []

    /// Like tusd, skips what cannot be read; of equal keys the last counts.
    init(_ header: String) {
        for element in header.split(separator: ",") {
            let pieces = element.split(separator: " ", omittingEmptySubsequences: true)
            guard (1...2).contains(pieces.count), let value = Self.value(pieces) else { continue }
            pairs.removeAll { $0.key == pieces[0] }
            pairs.append((String(pieces[0]), value))
        }
    }

    private static func value(_ pieces: [Substring]) -> Data? {
        pieces.count < 2 ? Data() : Data(base64Encoded: String(pieces[1]))
    }

    /// The text of a key, nil when it is missing.
    subscript(key: String) -> String? {
        pairs.first { $0.key == key }.map { String(decoding: $0.value, as: UTF8.self) }
    }

    /// The header that says the same.
    var header: String {
        pairs.map { "\($0.key) \($0.value.base64EncodedString())" }.joined(separator: ",")
    }
}
