internal import Foundation

/// A pair of `Upload-Metadata`: the key in ASCII without blanks and commas, the value sent in base64.
public struct TusMetadata: Sendable, Equatable {
    /// The key.
    public var key: String
    /// The value, sent as UTF-8.
    public var value: String

    /// Makes a pair.
    public init(_ key: String, _ value: String) {
        self.key = key
        self.value = value
    }
}

extension TusMetadata {
    /// The field value of `Upload-Metadata` (tus 1.0.0, extension "creation"); nil without pairs.
    ///
    /// - Throws: `TusError` `.refused` for a key that cannot be sent, or that comes twice.
    static func fieldValue(of pairs: [TusMetadata]) throws(TusError) -> String? {
        var seen: Set<String> = []
        var items: [String] = []
        for pair in pairs {
            let isPrintable = pair.key.utf8.allSatisfy { (0x21...0x7e).contains($0) && $0 != UInt8(ascii: ",") }
            guard !pair.key.isEmpty, isPrintable, seen.insert(pair.key).inserted else {
                throw TusError(.refused, detail: "the metadata key \"\(pair.key)\" cannot be sent")
            }
            let value = Data(pair.value.utf8).base64EncodedString()
            items.append(value.isEmpty ? pair.key : "\(pair.key) \(value)")
        }
        return items.isEmpty ? nil : items.joined(separator: ",")
    }
}
