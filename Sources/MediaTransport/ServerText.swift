/// Text from servers, on its way into errors.
package enum ServerText {
    /// In characters.
    private static let longest = 300

    /// Without blanks around, and not longer than anybody reads.
    package static func cut(_ text: String) -> String {
        let trimmed = text.trimmingBlanks()
        return trimmed.count > longest ? trimmed.prefix(longest) + "…" : trimmed
    }
}
