import Foundation

/// Token entries as JSON lines: a backup, and how the stores of several machines come together.
///
/// A line is an object with `schema` (`mediactl.token-export/1`) and the keys of `ExportedToken`, all of them, in the order
/// of the alphabet. Times are RFC 3339 in UTC with milliseconds. The number of a row in its store is not exported.
public enum TokenExport {
    /// One entry as a line, without its line feed. Holds the token. Shown on a terminal, it cannot steer it.
    public static func line(_ entry: TokenEntry) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Text, whole numbers and a Boolean are always encoded.
        guard let line = try? encoder.encode(ExportedToken(entry)) else { return [] }
        return Array(String(decoding: line, as: UTF8.self).unicodeScalars.map(escaped).joined().utf8)
    }

    /// A scalar of JSON text in which the encoder has escaped the first control characters already. Those left, and marks
    /// of direction, stand in strings only.
    private static func escaped(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\u{7f}"..."\u{9f}", "\u{2028}"..."\u{202e}", "\u{2066}"..."\u{2069}":
            let digits = String(scalar.value, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        default: return String(scalar)
        }
    }

    /// Reads a whole export. Lines may end with CR LF; empty ones are passed over.
    ///
    /// - Parameters:
    ///   - bytes: The file.
    ///   - scope: The host that a base URL stands for in the token store, with its port when it is not the scheme's
    ///     default; nil when it is no server's address.
    /// - Returns: The entries in order, without row numbers.
    /// - Throws: `TokenExportError` with the first line that is no entry, or whose base URL does not fit its host.
    public static func entries(
        in bytes: [UInt8],
        scope: (_ baseURL: String) -> String?
    ) throws(TokenExportError) -> [TokenEntry] {
        var entries: [TokenEntry] = []
        var number = 0
        for var line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            guard !line.isEmpty else { continue }
            do throws(ExportedToken.Problem) {
                entries.append(try ExportedToken.entry(line, scope: scope))
            } catch {
                throw TokenExportError(line: number, reason: error.reason)
            }
        }
        return entries
    }
}

/// An export that cannot be read. Holds no token.
public struct TokenExportError: Error, Sendable, Equatable {
    /// Line, from 1.
    public var line: Int
    /// What is wrong, in words.
    public var reason: String

    /// Makes an error.
    package init(line: Int, reason: String) {
        self.line = line
        self.reason = reason
    }
}
