import Foundation

/// A header value of the form `value; name=text; name="quoted text"`.
struct HeaderParameters {
    /// What stands before the first semicolon.
    private(set) var value = ""
    private var parameters: [String: String] = [:]

    init(_ text: String) {
        var pieces = Self.split(text)
        value = pieces.removeFirst().trimmingCharacters(in: .whitespaces)
        for piece in pieces {
            guard let equals = piece.firstIndex(of: "=") else { continue }
            let name = piece[..<equals].trimmingCharacters(in: .whitespaces).lowercased()
            parameters[name] = Self.unquoted(piece[piece.index(after: equals)...].trimmingCharacters(in: .whitespaces))
        }
    }

    subscript(name: String) -> String? { parameters[name] }

    /// Splits at semicolons outside quotes; never empty.
    private static func split(_ text: String) -> [String] {
        var pieces = [""]
        var isQuoted = false
        var isEscaped = false
        for scalar in text.unicodeScalars {
            if scalar == ";", !isQuoted {
                pieces.append("")
                continue
            }
            if scalar == "\"", !isEscaped { isQuoted.toggle() }
            isEscaped = scalar == "\\" && isQuoted && !isEscaped
            pieces[pieces.count - 1].unicodeScalars.append(scalar)
        }
        return pieces
    }

    /// Removes quotes; a backslash is an escape only before a quote or a backslash (as in PHP).
    private static func unquoted(_ text: String) -> String {
        let scalars = Array(text.unicodeScalars)
        guard scalars.count >= 2, scalars.first == "\"", scalars.last == "\"" else { return text }
        var result = String.UnicodeScalarView()
        var index = 1
        while index < scalars.count - 1 {
            let next = scalars[index + 1]
            if scalars[index] == "\\", index + 1 < scalars.count - 1, next == "\"" || next == "\\" { index += 1 }
            result.append(scalars[index])
            index += 1
        }
        return String(result)
    }
}
