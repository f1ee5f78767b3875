internal import MediaFiles

/// The user's pictures directory (tapes contract section 5; xdg-user-dirs).
public enum UserDirectories {
    /// Reads `user-dirs.dirs` in the configuration directory, which is derived from `HOME` and `XDG_CONFIG_HOME`. The
    /// pictures directory is an absolute path, as bytes; nil if there is no such directory or no home directory.
    public static func pictures(environment: [String: String]) -> [UInt8]? {
        let home = absolute(environment["HOME"])
        let configuration = absolute(environment["XDG_CONFIG_HOME"]) ?? home.map { $0 + Array("/.config".utf8) }
        let text = configuration.flatMap { directory in
            try? SourceFile(path: directory + Array("/user-dirs.dirs".utf8)).prefix(longest)
        }
        return switch text.map({ pictures(in: $0, home: home) }) ?? .unspecified {
        case .path(let path): path
        case .none: nil
        case .unspecified: home.map { $0 + Array("/Pictures".utf8) }
        }
    }

    private static let longest = 1 << 20

    /// A relative path in such a variable is ignored (XDG Base Directory Specification).
    private static func absolute(_ value: String?) -> [UInt8]? {
        guard let value, value.hasPrefix("/") else { return nil }
        return withoutTrailingSlashes(Array(value.utf8)[...])
    }

    private static func withoutTrailingSlashes(_ path: ArraySlice<UInt8>) -> [UInt8] {
        Array(path.prefix(path.count - path.reversed().prefix { $0 == UInt8(ascii: "/") }.count))
    }

    // MARK: Parsing

    enum Entry: Equatable {
        /// Not specified in the file.
        case unspecified
        /// Disabled in the file.
        case none
        case path([UInt8])
    }

    /// The last valid line applies, as in desktop tools.
    static func pictures(in text: [UInt8], home: [UInt8]?) -> Entry {
        text.split(separator: UInt8(ascii: "\n")).reduce(.unspecified) { entry, line in
            value(of: line).flatMap { resolve($0, home: home) } ?? entry
        }
    }

    /// The quoted value of `XDG_PICTURES_DIR="…"`, in which a backslash escapes the next byte; nil for any other line.
    private static func value(of line: ArraySlice<UInt8>) -> [UInt8]? {
        // One scalar for each byte, since a path need not be UTF-8.
        let text = String(String.UnicodeScalarView(line.map { Unicode.Scalar($0) }))
        let form = /[ \t]*XDG_PICTURES_DIR[ \t]*=[ \t]*"((?:[^\\"]|\\.)*)"/
            .dotMatchesNewlines().matchingSemantics(.unicodeScalar)
        guard let quoted = text.prefixMatch(of: form)?.1 else { return nil }
        let escape = /\\(.)/.dotMatchesNewlines().matchingSemantics(.unicodeScalar)
        return quoted.replacing(escape) { $0.1 }.unicodeScalars.map { UInt8($0.value) }
    }

    private static func resolve(_ value: [UInt8], home: [UInt8]?) -> Entry? {
        let prefix = Array("$HOME".utf8)
        guard value.starts(with: prefix) else {
            guard value.first == UInt8(ascii: "/"), !value.contains(0) else { return nil }
            return .path(withoutTrailingSlashes(value[...]))
        }
        let rest = value.dropFirst(prefix.count)
        guard rest.isEmpty || rest.first == UInt8(ascii: "/"), !rest.contains(0) else { return nil }
        let below = withoutTrailingSlashes(rest)
        // The home directory itself means "disabled".
        guard !below.isEmpty else { return Entry.none }
        return home.map { .path($0 + below) }
    }
}
