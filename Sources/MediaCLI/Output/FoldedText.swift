internal import MediaCore
internal import MediaFiles

/// Sentences in lines of a width.
enum FoldedText {
    /// The words in as few lines as they need; a word that is wider alone keeps its line.
    static func lines(_ text: String, width: Int) -> [String] {
        guard TerminalText.width(text) > width else { return [text] }
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let last = lines.last, TerminalText.width(last) + 1 + TerminalText.width(String(word)) <= width {
                lines[lines.count - 1] += " " + word
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }
}
