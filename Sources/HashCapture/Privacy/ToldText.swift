/// Texts of a file or a user before they are told to a server.
enum ToldText {
    /// Longer than the name of any model or city, and short enough that no text blows up a body.
    static let byteLimit = 128

    /// On one line, without control characters and what steers the direction of text, without blanks around it; cut off
    /// between two characters where it is too long.
    ///
    /// - Returns: nil when nothing is left.
    static func cleaned(_ text: String) -> String? {
        var kept = String.UnicodeScalarView()
        // What is too long to be kept is too long to be looked at.
        for scalar in text.unicodeScalars.prefix(4 * byteLimit) {
            switch scalar.properties.generalCategory {
            case .format, .surrogate, .privateUse, .unassigned: continue
            case .control, .spaceSeparator, .lineSeparator, .paragraphSeparator: kept.append(" ")
            default: kept.append(scalar)
            }
        }
        var result = ""
        for word in String(kept).split(separator: " ") {
            let joined = result.isEmpty ? String(word) : result + " " + word
            guard joined.utf8.count > byteLimit else {
                result = joined
                continue
            }
            var cut = joined
            while cut.utf8.count > byteLimit { cut.removeLast() }
            return cut.hasSuffix(" ") ? String(cut.dropLast()) : (cut.isEmpty ? nil : cut)
        }
        return result.isEmpty ? nil : result
    }
}
