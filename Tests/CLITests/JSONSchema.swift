import Foundation

/// The part of JSON Schema 2020-12 that `docs/schemas` uses. An unsupported keyword is an error, so that no rule is
/// ignored silently.
///
/// The schemas are open: later versions may add keys, states and codes. Records of this version are checked strictly
/// (`isClosed`): an object has no undocumented key, and a value with `examples` is one of them.
struct JSONSchema: @unchecked Sendable {
    // Written once in `init` and only read afterwards; JSONSerialization's values are immutable.
    private let root: [String: Any]

    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    init(contentsOf path: String) throws {
        let value = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path)))
        guard let root = value as? [String: Any] else { throw Failure(description: "\(path) is not an object") }
        self.root = root
    }

    /// Throws if the value violates a rule or, if `isClosed`, has undocumented keys or values.
    func validate(_ value: Any, isClosed: Bool = true) throws {
        try validate(value, root, "$", isClosed)
    }

    func accepts(_ value: Any, isClosed: Bool = true) -> Bool {
        (try? validate(value, isClosed: isClosed)) != nil
    }

    private func validate(_ value: Any, _ schema: [String: Any], _ path: String, _ isClosed: Bool) throws {
        for (word, rule) in schema {
            switch word {
            case "$schema", "$id", "$defs", "title", "description", "format": break
            case "$ref": try validate(value, try definition(rule), path, isClosed)
            case "type": try check(Self.types(rule).contains { Self.value(value, is: $0) }, path, "type \(rule)")
            case "const": try check(Self.equal(value, rule), path, "const \(rule)")
            case "examples":
                let known = rule as? [Any] ?? []
                let isKnown = value is NSNull || known.contains { Self.equal($0, value) }
                try check(!isClosed || isKnown, path, "examples")
            case "minimum":
                try check(
                    (value as? NSNumber).map { $0.doubleValue >= (rule as? Double ?? 0) } ?? true,
                    path,
                    "minimum"
                )
            case "pattern":
                let text = value as? String
                try check(
                    text.map { $0.range(of: rule as? String ?? "", options: .regularExpression) != nil } ?? true,
                    path,
                    "pattern"
                )
            case "oneOf":
                let count = (rule as? [[String: Any]] ?? []).count {
                    (try? validate(value, $0, path, isClosed)) != nil
                }
                try check(count == 1, path, "oneOf matched \(count)")
            case "items":
                for item in value as? [Any] ?? [] {
                    try validate(item, rule as? [String: Any] ?? [:], path + "[]", isClosed)
                }
            case "required":
                for name in rule as? [String] ?? [] {
                    try check((value as? [String: Any])?[name] != nil, path, "required \(name)")
                }
            case "properties":
                let known = rule as? [String: Any] ?? [:]
                for (name, member) in value as? [String: Any] ?? [:] {
                    try check(!isClosed || known[name] != nil, path, "unknown key \(name)")
                    try validate(member, known[name] as? [String: Any] ?? [:], path + "." + name, isClosed)
                }
            default: throw Failure(description: "the validator does not support \(word)")
            }
        }
    }

    private func definition(_ reference: Any) throws -> [String: Any] {
        let name = (reference as? String)?.split(separator: "/").last.map(String.init) ?? ""
        guard let definition = (root["$defs"] as? [String: Any])?[name] as? [String: Any] else {
            throw Failure(description: "no definition \(name)")
        }
        return definition
    }

    private func check(_ isRight: Bool, _ path: String, _ rule: String) throws {
        if !isRight {
            throw Failure(description: "\(path): \(rule)")
        }
    }

    private static func types(_ rule: Any) -> [String] {
        rule as? [String] ?? [rule as? String ?? ""]
    }

    private static func isBoolean(_ value: Any) -> Bool {
        (value as? NSNumber).map { String(cString: $0.objCType) == "c" } ?? (value is Bool)
    }

    private static func value(_ value: Any, is type: String) -> Bool {
        switch type {
        case "null": value is NSNull
        case "boolean": isBoolean(value)
        case "integer":
            !isBoolean(value) && (value as? NSNumber).map { $0.doubleValue.rounded() == $0.doubleValue } == true
        case "number": !isBoolean(value) && value is NSNumber
        case "string": value is String
        case "array": value is [Any]
        case "object": value is [String: Any]
        default: false
        }
    }

    private static func equal(_ left: Any, _ right: Any) -> Bool {
        if left is NSNull || right is NSNull {
            return left is NSNull && right is NSNull
        }
        if let left = left as? String, let right = right as? String {
            return left == right
        }
        guard isBoolean(left) == isBoolean(right), let left = left as? NSNumber, let right = right as? NSNumber else {
            return false
        }
        return left == right
    }
}
