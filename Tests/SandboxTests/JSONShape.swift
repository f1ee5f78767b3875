import Foundation

/// Keys in their order and the types of the values, without the values; arrays by their first element.
///
/// Foundation's parsers do not keep the order of keys, so this is a separate scanner.
struct JSONShape: Equatable, CustomStringConvertible {
    let description: String

    struct Malformed: Error {}

    init(_ text: String) throws {
        var scanner = Scanner(text: Array(text.unicodeScalars))
        description = try scanner.value()
        guard scanner.isAtEnd else { throw Malformed() }
    }

    private struct Scanner {
        let text: [Unicode.Scalar]
        var index = 0

        init(text: [Unicode.Scalar]) { self.text = text }

        private var current: Unicode.Scalar? { index < text.count ? text[index] : nil }

        var isAtEnd: Bool {
            mutating get {
                skipSpace()
                return current == nil
            }
        }

        mutating func value() throws -> String {
            skipSpace()
            switch current {
            case "{": return try object()
            case "[": return try array()
            case "\"":
                _ = try string()
                return "string"
            default: return try word()
            }
        }

        private mutating func object() throws -> String {
            var members: [String] = []
            index += 1
            while !take("}") {
                let key = try string()
                guard take(":") else { throw Malformed() }
                // A duration is a whole number or null.
                let shape = try value()
                members.append("\(key): \(key == "duration_seconds" && shape == "null" ? "number" : shape)")
                if !take(","), current != "}" { throw Malformed() }
            }
            return "{\(members.joined(separator: ", "))}"
        }

        private mutating func array() throws -> String {
            var elements: [String] = []
            index += 1
            while !take("]") {
                elements.append(try value())
                if !take(","), current != "]" { throw Malformed() }
            }
            return "[\(elements.first ?? "")]"
        }

        private mutating func string() throws -> String {
            guard take("\"") else { throw Malformed() }
            var result = ""
            while let scalar = current, scalar != "\"" {
                if scalar == "\\" { index += 1 }
                result.unicodeScalars.append(scalar)
                index += 1
            }
            guard take("\"") else { throw Malformed() }
            return result
        }

        private mutating func word() throws -> String {
            let start = index
            while let scalar = current,
                "-+.".unicodeScalars.contains(scalar) || scalar.properties.isAlphabetic
                    || ("0"..."9").contains(scalar)
            {
                index += 1
            }
            var word = String.UnicodeScalarView()
            word.append(contentsOf: text[start..<index])
            switch String(word) {
            case "null": return "null"
            case "true", "false": return "bool"
            case let number where Double(number) != nil: return "number"
            default: throw Malformed()
            }
        }

        private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
            skipSpace()
            guard current == scalar else { return false }
            index += 1
            return true
        }

        private mutating func skipSpace() {
            while let scalar = current, scalar == " " || scalar == "\n" || scalar == "\r" || scalar == "\t" {
                index += 1
            }
        }
    }
}
