/// Token entries as JSON lines: a backup, and how the stores of several machines come together.
public enum TokenExport {
    /// One entry as a line, without its line feed. Holds the token.
    public static func line(_ entry: TokenEntry) -> [UInt8] { [] }

    /// Reads a whole export.
    ///
    /// - Throws: `TokenExportError` with the first line that is no entry, or whose base URL does not fit its host.
    public static func entries(in bytes: [UInt8]) throws(TokenExportError) -> [TokenEntry] { [] }
}

/// An export that cannot be read. Holds no token.
public struct TokenExportError: Error, Sendable, Equatable {
    /// Line, from 1.
    public var line: Int
    /// What is wrong, in words.
    public var reason: String

    /// Makes an error.
    public init(line: Int, reason: String) {
        self.line = line
        self.reason = reason
    }
}
