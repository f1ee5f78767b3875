internal import MediaFiles

/// The user's directory of pictures (tapes contract section 5; xdg-user-dirs).
public enum UserDirectories {
    /// Reads `user-dirs.dirs` in the configuration directory.
    ///
    /// - Parameter environment: `HOME` and `XDG_CONFIG_HOME` count.
    /// - Returns: The directory of pictures, absolute, as bytes; nil when there is none, or no home.
    public static func pictures(environment: [String: String]) -> [UInt8]? {
        let home = absolute(environment["HOME"])
        let configuration = absolute(environment["XDG_CONFIG_HOME"]) ?? home.map { $0 + Array("/.config".utf8) }
        let text = configuration.flatMap { directory in
            try? SourceFile(path: directory + Array("/user-dirs.dirs".utf8)).prefix(longest)
        }
        return switch text.map({ pictures(in: $0, home: home) }) ?? .unsaid {
        case .path(let path): path
        case .none: nil
        case .unsaid: home.map { $0 + Array("/Pictures".utf8) }
        }
    }

    private static let longest = 1 << 20

    /// A relative path in such a variable counts as none (XDG Base Directory Specification).
    private static func absolute(_ value: String?) -> [UInt8]? {
        guard let value, value.hasPrefix("/") else { return nil }
        return withoutTrailingSlashes(Array(value.utf8)[...])
    }

    private static func withoutTrailingSlashes(_ path: ArraySlice<UInt8>) -> [UInt8] {
        Array(path.prefix(path.count - path.reversed().prefix { $0 == UInt8(ascii: "/") }.count))
    }

    // MARK: The file

    enum Entry: Equatable {
        /// The file does not say.
        case unsaid
        /// The file says that there is none.
        case none
        case path([UInt8])
    }

    /// What a file says of the pictures; the last line that makes sense counts, as for the tools of the desktop.
    static func pictures(in text: [UInt8], home: [UInt8]?) -> Entry {
        text.split(separator: UInt8(ascii: "\n")).reduce(.unsaid) { entry, line in
            value(of: line).flatMap { resolve($0, home: home) } ?? entry
        }
    }

    /// What stands between the quotes of `XDG_PICTURES_DIR="…"`; nil for any other line.
    private static func value(of line: ArraySlice<UInt8>) -> [UInt8]? {
        guard let name = rest(of: line, after: "XDG_PICTURES_DIR"), let equals = rest(of: name, after: "="),
            let quoted = rest(of: equals, after: "\"")
        else { return nil }
        return unquoted(quoted)
    }

    /// What follows a word, blanks before it not counted; nil when it is not there.
    private static func rest(of text: ArraySlice<UInt8>, after word: StaticString) -> ArraySlice<UInt8>? {
        let text = text.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        guard word.withUTF8Buffer({ text.starts(with: $0) }) else { return nil }
        return text.dropFirst(word.utf8CodeUnitCount)
    }

    /// Up to the closing quote; a backslash stands before a byte that means itself.
    private static func unquoted(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var value: [UInt8] = []
        var isEscaped = false
        for byte in text {
            if isEscaped || (byte != UInt8(ascii: "\\") && byte != UInt8(ascii: "\"")) {
                value.append(byte)
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else {
                return value
            }
        }
        return nil
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
        // The home directory itself stands for "none".
        guard !below.isEmpty else { return Entry.none }
        return home.map { .path($0 + below) }
    }
}
