internal import Foundation
internal import MediaCore
internal import MediaFiles

/// Results as a person reads them. Text from servers and file names is escaped here.
///
/// What each group of commands says has a file of its own; here is what they have in common.
enum TextRenderer {
    /// The first characters of an id or a hash, which tell it from others.
    static func brief(_ id: String) -> String { TerminalText.escaped(String(id.prefix(8))) }

    /// A time, and how long ago it was.
    static func time(_ date: Date, now: Date) -> String {
        "\(Formats.timestamp(date)) (\(Formats.age(of: date, now: now)))"
    }

    /// Names and values, a line each; `width` is that of the names.
    static func fields(_ fields: [(name: String, value: String)], width: Int = 14, _ style: Style) -> [String] {
        fields.map { name, value in
            style.bold(name.padding(toLength: width, withPad: " ", startingAt: 0)) + TerminalText.escaped(value)
        }
    }
}
