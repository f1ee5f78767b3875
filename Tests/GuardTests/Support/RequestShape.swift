import Foundation
import TestSupport

/// The stable parts of a request: method, path, the names of the header fields in order with relevant values, and
/// the parts or keys of the body. Values that differ in each run are masked.
struct RequestShape {
    let lines: [String]

    init(_ request: RecordingProxy.Request) {
        let words = request.head.first?.split(separator: " ").map(String.init) ?? []
        let fields = request.head.dropFirst().map { line in
            let pair = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            return (name: pair.first ?? "", value: pair.count > 1 ? pair[1] : "")
        }
        let type = fields.first { $0.name.lowercased() == "content-type" }?.value ?? ""
        lines =
            [(words.first ?? "?") + " " + Self.maskedTarget(words.count > 1 ? words[1] : "?")]
            + fields.map { "  " + Self.field($0.name, $0.value) } + Self.body(request.body, type).map { "  | " + $0 }
    }

    // MARK: Target and header fields

    private static func maskedTarget(_ target: String) -> String {
        let halves = target.split(separator: "?", maxSplits: 1).map(String.init)
        let path = masked(halves.first ?? "")
        guard halves.count > 1 else { return path }
        let pairs = halves[1].split(separator: "&").map { pair in
            let sides = pair.split(separator: "=", maxSplits: 1).map(String.init)
            let value = sides.count > 1 ? sides[1] : ""
            return sides[0] + "=" + (value.count > 12 || value.allSatisfy(\.isNumber) && value.count > 6 ? "…" : value)
        }
        return path + "?" + pairs.joined(separator: "&")
    }

    private static func masked(_ text: String) -> String {
        var text = text.replacing(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/, with: "UUID")
        text = text.replacing(/[0-9a-f]{32,64}/, with: "HEX")
        // Each library of the Immich stand-in has its own name.
        text = text.replacing(/^\/w[0-9a-f]{8}\//, with: "/")
        return text.replacing(/[0-9]{6,}/, with: "N")
    }

    private static func field(_ name: String, _ value: String) -> String {
        switch name.lowercased() {
        case "accept", "expect", "tus-resumable", "upload-defer-length", "upload-concat", "range":
            "\(name): \(masked(value))"
        case "authorization": "\(name): \(value.split(separator: " ").first ?? "")"
        case "content-type": "\(name): \(value.split(separator: ";").first ?? "")"
        case "user-agent": "\(name): \(value.split(separator: "/").first ?? "")"
        case "upload-metadata":
            "\(name): "
                + value.split(separator: ",").map { String($0.split(separator: " ").first ?? "") }.joined(
                    separator: ","
                )
        default: name
        }
    }

    // MARK: Bodies

    private static func body(_ bytes: [UInt8], _ type: String) -> [String] {
        if bytes.isEmpty { return [] }
        if type.hasPrefix("multipart/form-data"), let boundary = type.split(separator: "boundary=").last {
            return parts(of: bytes, boundary.trimmingCharacters(in: ["\""]))
        }
        if let json = try? JSONSerialization.jsonObject(with: Data(bytes)) { return [shape(of: json)] }
        return type.hasPrefix("application/x-www-form-urlencoded")
            ? [masked(String(decoding: bytes, as: UTF8.self))] : ["bytes"]
    }

    private static func parts(of bytes: [UInt8], _ boundary: String) -> [String] {
        // A part's head is text, regardless of its content.
        String(decoding: bytes, as: UTF8.self).components(separatedBy: "--" + boundary).compactMap { part in
            guard let end = part.range(of: "\r\n\r\n") else { return nil }
            let head = part[..<end.lowerBound].split(separator: "\r\n").map(String.init)
            return head.joined(separator: "; ").replacing(/filename="[^"]*"/, with: "filename")
        }
    }

    private static func shape(of json: Any) -> String {
        switch json {
        case let object as [String: Any]:
            "{" + object.sorted { $0.key < $1.key }.map { "\($0.key): \(shape(of: $0.value))" }.joined(separator: ", ")
                + "}"
        case let array as [Any]: "[" + (array.first.map { shape(of: $0) } ?? "") + "]"
        case is String: "text"
        case is NSNull: "null"
        default: "number"
        }
    }
}
