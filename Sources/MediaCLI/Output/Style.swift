/// Colours of one stream, or none.
struct Style: Sendable, Equatable {
    var isColored: Bool

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
