/// A glob: `*`, `?`, `[a-z]`, `[!x]`, `{a,b}`, and `**` across directories. Without a slash it is matched against the
/// last component, else against the whole path below the root. Case matters.
///
/// - `*` and `?` never match a slash, but do match a dot at the start of a name (as in `rsync` and `rclone`).
/// - `**/` stands for any number of directories, none included; any other `**` for any text, slashes included.
/// - A slash at the start changes nothing but makes the pattern one with a slash. A slash at the end means everything
///   below such directories: `.git/` fits `.git/config` and `a/.git/config`.
/// - A backslash takes the meaning from the next character, inside brackets as well.
/// - `?` and brackets stand for one character, not one byte; a byte that is not UTF-8 counts as one character.
///
/// Matching takes time proportional to the length of the path times the length of the pattern, whatever they hold.
public struct GlobPattern: Sendable, Equatable {
    /// The pattern as given.
    public let text: String

    private let program: GlobProgram
    /// Whether the whole path has to fit, not only its last component.
    private let isAnchored: Bool
    /// Whether it ends in a slash.
    private let isDirectoryOnly: Bool

    /// Reads a pattern.
    ///
    /// - Throws: `GlobError` that says what is wrong with it (an open bracket, an empty pattern).
    public init(_ text: String) throws(GlobError) {
        do throws(GlobParser.Failure) {
            var scalars = Array(text.unicodeScalars)
            isDirectoryOnly = GlobParser.endsInSlash(scalars)
            if isDirectoryOnly { scalars.removeLast() }
            let startsWithSlash = scalars.first == "/"
            if startsWithSlash { scalars.removeFirst() }
            guard !scalars.isEmpty else { throw GlobParser.Failure(reason: "the pattern is empty") }
            var parser = GlobParser(scalars)
            program = try parser.program()
            isAnchored = startsWithSlash || parser.hasSlash
        } catch {
            throw GlobError(pattern: text, reason: error.reason)
        }
        self.text = text
    }

    /// Whether a file fits, whose path below the root of the walk has no leading slash.
    public func matches(_ relativePath: [UInt8]) -> Bool {
        guard isDirectoryOnly else { return fits(relativePath[...]) }
        return relativePath.ancestors.contains { fits($0) }
    }

    /// Whether a directory itself fits, whatever is in it.
    func matchesDirectory(_ relativePath: ArraySlice<UInt8>) -> Bool {
        fits(relativePath)
    }

    /// Equal patterns are written alike.
    public static func == (left: GlobPattern, right: GlobPattern) -> Bool {
        left.text == right.text
    }

    private func fits(_ path: ArraySlice<UInt8>) -> Bool {
        if isAnchored { return program.matches(path) }
        let nameStart = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? path.startIndex
        return program.matches(path[nameStart...])
    }
}

/// A pattern that cannot be read.
public struct GlobError: Error, Sendable, Equatable {
    /// The pattern.
    public var pattern: String
    /// What is wrong, in words.
    public var reason: String

    /// Makes an error.
    package init(pattern: String, reason: String) {
        self.pattern = pattern
        self.reason = reason
    }
}

extension [UInt8] {
    /// The directories a relative path leads through, outermost first: `a` and `a/b` of `a/b/c`.
    var ancestors: [ArraySlice<UInt8>] {
        indices.filter { self[$0] == UInt8(ascii: "/") }.map { self[..<$0] }
    }
}
