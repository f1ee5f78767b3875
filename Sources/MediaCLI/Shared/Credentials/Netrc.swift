/// The login file used by ftp(1) and curl.
///
/// It is parsed here because precedence depends on whether an entry matches, which must be known before libcurl reads
/// the file. The grammar is curl's: words are separated by blanks; a word in double quotes may contain blanks and the
/// escapes `\"`, `\\`, `\n`, `\r` and `\t`; a word that starts with `#` ends the line; a `macdef` ends at the next
/// empty line.
struct Netrc {
    struct Entry: Equatable {
        /// nil for `default`.
        var machine: String?
        var login: String?
        var password: String?
    }

    /// An unterminated quote.
    struct SyntaxError: Error, Equatable {
        /// Counted from 1.
        var line: Int
    }

    private(set) var entries: [Entry] = []

    init(_ text: String) throws(SyntaxError) {
        var words = try Self.words(of: text)[...]
        while let word = words.popFirst() {
            switch word.lowercased() {
            case "machine":
                guard let name = words.popFirst() else { return }
                entries.append(Entry(machine: name))
            case "default": entries.append(Entry())
            case "login": set(\.login, to: words.popFirst())
            case "password": set(\.password, to: words.popFirst())
            case "account": _ = words.popFirst()
            // curl skips unknown words.
            default: continue
            }
        }
    }

    /// The first entry with a password for a host, otherwise the first `default` if allowed. A nil `user` matches any
    /// login. `host` has the same form as in an `Origin`; netrc ignores ports.
    func entry(host: String, user: String?, allowsDefault: Bool = true) -> Entry? {
        let name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        let usable = entries.filter { entry in
            entry.password != nil && (user == nil || entry.login == nil || entry.login == user)
        }
        return usable.first { $0.machine?.lowercased() == name }
            ?? (allowsDefault ? usable.first { $0.machine == nil } : nil)
    }

    private mutating func set(_ member: WritableKeyPath<Entry, String?>, to value: String?) {
        guard !entries.isEmpty else { return }
        entries[entries.count - 1][keyPath: member] = value
    }

    private static func words(of text: String) throws(SyntaxError) -> [String] {
        var words: [String] = []
        var isInMacro = false
        // `\r\n` is one Character, so lines are split as scalars.
        let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            if isInMacro {
                isInMacro = !line.allSatisfy { $0 == "\r" }
                continue
            }
            let found = try Self.words(ofLine: line, number: index + 1)
            if let macro = found.firstIndex(where: { $0.lowercased() == "macdef" }) {
                words += found[..<macro]
                isInMacro = true
            } else {
                words += found
            }
        }
        return words
    }

    private static func words(
        ofLine line: Substring.UnicodeScalarView,
        number: Int
    ) throws(SyntaxError) -> [String] {
        var words: [String] = []
        var rest = line
        while true {
            rest = rest.drop { $0 == " " || $0 == "\t" || $0 == "\r" }
            guard let first = rest.first, first != "#" else { return words }
            if first == "\"" {
                words.append(try quotedWord(&rest, number))
            } else {
                let word = rest.prefix { $0 != " " && $0 != "\t" && $0 != "\r" }
                words.append(String(word))
                rest = rest[word.endIndex...]
            }
        }
    }

    private static func quotedWord(
        _ rest: inout Substring.UnicodeScalarView,
        _ number: Int
    ) throws(SyntaxError) -> String {
        var word = String.UnicodeScalarView()
        rest.removeFirst()
        while let scalar = rest.popFirst() {
            switch scalar {
            case "\"":
                return String(word)
            case "\\":
                guard let escaped = rest.popFirst() else { throw SyntaxError(line: number) }
                word.append(escapes[escaped] ?? escaped)
            default:
                word.append(scalar)
            }
        }
        throw SyntaxError(line: number)
    }

    private static let escapes: [Unicode.Scalar: Unicode.Scalar] = ["n": "\n", "r": "\r", "t": "\t"]
}
