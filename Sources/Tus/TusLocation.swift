internal import Foundation
internal import MediaCore

/// The ID of an upload in a `Location`.
enum TusLocation {
    /// The last path segment of an absolute or relative address, percent-decoded; nil if `isID` rejects it or the
    /// address is `path`, where uploads are created. Query, fragment, trailing slashes and the origin are ignored:
    /// requests go to the configured server, regardless of the name that a proxy uses (gighive contract T13).
    static func id(in location: String, createdAt path: String) -> String? {
        var text = location.prefix { $0 != "?" && $0 != "#" }
        if let scheme = text.firstRange(of: "://") {
            text = text[scheme.upperBound...].drop { $0 != "/" }
        } else if text.hasPrefix("//") {
            text = text.dropFirst(2).drop { $0 != "/" }
        }
        let segments = text.split(separator: "/")
        guard let last = segments.last, segments != path.split(separator: "/"),
            // A `%` that is not part of an escape is unchanged, and IDs do not contain `%`.
            let id = String(validating: TextEscape.percent.decode(Array(last.utf8)[...]), as: UTF8.self), isID(id)
        else {
            return nil
        }
        return id
    }

    /// Whether a text can be an ID: unreserved characters and sub-delimiters of RFC 3986, `:` and `@`, as servers use
    /// them (tusd: hexadecimal digits, `-`, `_`, and `+` with S3). No slash, no control character, not `.` or `..`.
    static func isID(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 512 && text != "." && text != ".."
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"):
                    true
                default: punctuation.contains(byte)
                }
            }
    }

    private static let punctuation = Set("-._~!$&'()*+,;=:@".utf8)
}

/// A key-value pair in `Upload-Metadata`: the key is ASCII without spaces or commas; the value is sent in base64.
public struct TusMetadata: Sendable, Equatable {
    public var key: String
    /// The value, sent as UTF-8.
    public var value: String

    public init(_ key: String, _ value: String) {
        self.key = key
        self.value = value
    }
}

extension TusMetadata {
    /// The field value of `Upload-Metadata` (tus 1.0.0, extension "creation"); nil if there are no pairs. Throws
    /// `.refused` for an invalid or repeated key.
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
