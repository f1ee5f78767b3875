/// External text, made safe and measurable for a terminal.
package enum TerminalText {
    /// Escapes everything that could control a terminal or reorder a line: control characters (C0, DEL, C1),
    /// bidirectional marks and overrides, and line separators become `\u{1b}` and the like.
    package static func escaped(_ text: String) -> String {
        if isPrintableASCII(text) { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            append(scalar, to: &result)
        }
        return result
    }

    /// Escapes the bytes of a path in the same way; bytes that are not UTF-8 are shown as `\xNN`.
    package static func escaped(_ path: [UInt8]) -> String {
        if path.isPrintableASCII { return String(decoding: path, as: UTF8.self) }
        var result = ""
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = path.makeIterator()
        var offset = 0
        while true {
            switch parser.parseScalar(from: &iterator) {
            case .valid(let encoded):
                append(Unicode.UTF8.decode(encoded), to: &result)
                offset += encoded.count
            case .error(let length):
                for byte in path[offset..<offset + length] {
                    result += "\\x" + byte.padded(2, radix: 16)
                }
                offset += length
            case .emptyInput:
                return result
            }
        }
    }

    package static func isPrintableASCII(_ text: String) -> Bool {
        text.utf8.withContiguousStorageIfAvailable { $0.isPrintableASCII } ?? text.utf8.isPrintableASCII
    }

    private static func append(_ scalar: Unicode.Scalar, to result: inout String) {
        if isDangerous(scalar) {
            result += "\\u{" + String(scalar.value, radix: 16) + "}"
        } else {
            result.unicodeScalars.append(scalar)
        }
    }

    /// Whether a character could control a terminal or reorder a line.
    package static func isDangerous(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0...0x1F, 0x7F...0x9F: true
        // Marks, overrides and isolates of the bidirectional algorithm (UAX #9).
        case 0x061C, 0x200E...0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        // Line and paragraph separator.
        case 0x2028...0x2029: true
        default: false
        }
    }
}

extension Collection<UInt8> {
    /// True for nearly every path and cell of a long table; this check makes a list of 10,000 rows several times as
    /// fast. Without an early exit, the loop compares many bytes at once.
    fileprivate var isPrintableASCII: Bool {
        var others: UInt8 = 0
        for byte in self { others |= byte &- 0x20 > 0x7E - 0x20 ? 1 : 0 }
        return others == 0
    }
}

extension TerminalText {
    /// The number of terminal columns: 2 for East Asian wide characters and emoji, 0 for combining marks.
    package static func width(_ text: String) -> Int {
        if isPrintableASCII(text) { return text.utf8.count }
        return text.reduce(0) { $0 + width($1) }
    }

    /// Truncates to at most `columns` columns, with the `ellipsis` (one column) at the end if truncated.
    package static func truncated(_ text: String, to columns: Int, ellipsis: Character = "…") -> String {
        guard width(text) > columns else { return text }
        guard columns > 0 else { return "" }
        var result = ""
        var used = 0
        for character in text {
            used += width(character)
            // One column is kept for the ellipsis.
            guard used < columns else { break }
            result.append(character)
        }
        return result + String(ellipsis)
    }

    private static func width(_ character: Character) -> Int {
        // A joined emoji is drawn as one glyph, as is a flag or a symbol with the emoji variation selector.
        if let first = character.unicodeScalars.first, isWide(first) { return 2 }
        if character.unicodeScalars.contains(where: { $0.value == 0xFE0F }) { return 2 }
        return character.unicodeScalars.reduce(0) { $0 + (isZeroWidth($1) ? 0 : isWide($1) ? 2 : 1) }
    }

    private static func isZeroWidth(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
        // Vowels and finals of a decomposed Hangul syllable are drawn in the cell of its initial.
        if (0x1160...0x11FF).contains(scalar.value) { return true }
        return switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: true
        default: false
        }
    }

    private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar.value >= 0x1100 else { return false }
        return scalar.properties.isEmojiPresentation || wideRanges.contains { $0.contains(scalar.value) }
    }

    /// The large blocks of East Asian Width W and F (UAX #11); nearly all other wide characters are emoji, which do not
    /// need an entry.
    private static let wideRanges: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F,
        0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6,
        0x17000...0x18CFF, 0x1B000...0x1B2FF, 0x1F1E6...0x1F1FF, 0x1F200...0x1F265, 0x20000...0x3FFFD,
    ]
}
