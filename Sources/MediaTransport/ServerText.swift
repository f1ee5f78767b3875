/// Text from servers, for errors.
package enum ServerText {
    /// Maximum length in characters.
    private static let longest = 300

    /// Free text, such as a message, truncated and without known secrets.
    package static func sentence(_ text: String) -> String { cut(KnownSecrets.masked(text)) }

    /// Trimmed, and truncated to a readable length.
    package static func cut(_ text: String) -> String {
        let trimmed = text.trimmingBlanks()
        return trimmed.count > longest ? trimmed.prefix(longest) + "…" : trimmed
    }
}

extension HTTPResponseHead {
    /// Describes a refusal without a message.
    package var refusalSummary: String {
        let form =
            switch mediaType {
            case nil, "application/json", "text/plain": "without a reason"
            case "text/html": "an HTML page"
            case let type?: "content of type \(ServerText.sentence(type))"
            }
        return "status \(status), \(form)"
    }
}

extension StringProtocol {
    /// Without leading and trailing blanks and line breaks (RFC 9110 section 5.5).
    package func trimmingBlanks() -> String {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0.isNewline }
        var rest = Substring(self)
        while let first = rest.first, isBlank(first) { rest.removeFirst() }
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return String(rest)
    }
}
