internal import MediaCore

/// Quotes words of a POSIX shell command line.
enum ShellWord {
    private static let plain = Set(
        Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-".utf8)
    )

    /// Quotes a word such that a shell reads it unchanged and a terminal displays it safely. A word with unprintable
    /// characters requires `$'…'` (POSIX.1-2024 section 2.2.4).
    static func quoted(_ word: [UInt8]) -> String {
        let text = String(decoding: word, as: UTF8.self)
        guard !word.isEmpty, word.allSatisfy({ plain.contains($0) }) else {
            guard TerminalText.escaped(word) == text else { return dollarQuoted(word) }
            return "'" + text.replacing("'", with: #"'\''"#) + "'"
        }
        return text
    }

    /// Quotes an argument, or another text, in the same way.
    static func quoted(_ argument: String) -> String { quoted(RawArguments.bytes(of: argument)) }

    private static func dollarQuoted(_ word: [UInt8]) -> String {
        let digits = Array("01234567")
        // Octal escapes end after three digits; hexadecimal escapes would include the digits that follow.
        let escaped = word.map { byte -> String in
            if plain.contains(byte) || byte == 0x20 { return String(UnicodeScalar(byte)) }
            return "\\" + [byte >> 6, byte >> 3 & 7, byte & 7].map { String(digits[Int($0)]) }.joined()
        }
        return "$'" + escaped.joined() + "'"
    }
}
