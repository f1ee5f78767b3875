/// Colours of one stream, or none, and the characters it may have.
struct Style: Sendable, Equatable {
    var isColored: Bool
    /// Stands for what was cut. Where the locale has no UTF-8 our own characters are ASCII; names and texts of the user
    /// and of servers stay as they are, because they are to be found again.
    var ellipsis: Character

    /// Decides for a stream: `--color`, then `NO_COLOR` (no-color.org: set and not empty), then `TERM`: none for `dumb`, or when it is not set.
    init(_ mode: ColorMode, isTerminal: Bool, environment: [String: String]) {
        switch mode {
        case .always: isColored = true
        case .never: isColored = false
        case .auto:
            isColored =
                isTerminal && environment["NO_COLOR", default: ""].isEmpty
                && environment["TERM", default: "dumb"] != "dumb"
        }
        ellipsis = Self.hasUTF8(environment) ? "…" : "~"
    }

    /// What the locale says of characters: POSIX.1-2017 XBD 8.2, the first that is set and not empty.
    private static func hasUTF8(_ environment: [String: String]) -> Bool {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        let name = locale?.uppercased() ?? "C"
        return name.contains("UTF-8") || name.contains("UTF8")
    }

    func bold(_ text: String) -> String { wrapped(text, "1") }
    func dim(_ text: String) -> String { wrapped(text, "2") }
    func red(_ text: String) -> String { wrapped(text, "31") }
    func green(_ text: String) -> String { wrapped(text, "32") }
    func yellow(_ text: String) -> String { wrapped(text, "33") }

    /// ECMA-48 section 8.3.117, Select Graphic Rendition.
    private func wrapped(_ text: String, _ code: String) -> String {
        isColored ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text
    }
}
