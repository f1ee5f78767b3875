internal import Foundation

/// A name for a local file, derived from an untrusted name from a server. That name may contain directories, control
/// characters, thousands of letters, or a device name (photosync contract trap 15).
///
/// Names that a case-insensitive file system treats as equal have the same `key`.
package struct SafeFileName: Sendable, Hashable {
    /// In NFC, at most `longest` bytes of UTF-8 including its number; never hidden, never empty.
    package let text: String

    private let stem: String
    private let fileExtension: String

    /// Maximum length in bytes; a temporary name derived from such a name still fits into the 255 bytes of most file
    /// systems.
    static let longest = 255 - temporaryPrefix.utf8.count - temporarySuffix.utf8.count
    /// Bytes reserved for ` (12345678)`.
    private static let room = 11
    /// A longer part after the last dot is not treated as an extension, and may be truncated.
    private static let longestExtension = 16
    private static let temporaryPrefix = "."
    private static let temporarySuffix = ".mediactl-part"

    /// - The directories before the last `/` are removed.
    /// - Control characters, invisible characters, bidirectional controls, and `\ : * ? " < > |` become `_`.
    /// - Blanks at both ends, and dots at the end, are removed.
    /// - A name that would be hidden (`.gif`) or is a device name on Windows (`CON`, `nul.jpg`) is prefixed with `_`.
    /// - The stem of a name that is too long is truncated; the extension is kept.
    /// - If the resulting name is empty, it is `photo-ID.jpg`.
    package init(_ name: String, id: String) {
        var text = Self.cleaned(name)
        if text.isEmpty { text = "photo-\(Self.letters(of: id)).jpg" }
        if text.hasPrefix(".") || Self.isReserved(text) { text = "_" + text }
        let (stem, fileExtension) = Self.split(text)
        self.fileExtension = fileExtension
        self.stem = Self.cut(stem, to: Self.longest - Self.room - fileExtension.utf8.count)
        self.text = self.stem + fileExtension
    }

    private init(stem: String, fileExtension: String, number: Int) {
        self.stem = stem
        self.fileExtension = fileExtension
        text = "\(stem) (\(number))\(fileExtension)"
    }

    /// This name with a number from 2 to 99,999,999: `IMG_0001 (2).jpg`.
    package func numbered(_ number: Int) -> SafeFileName {
        SafeFileName(stem: stem, fileExtension: fileExtension, number: number)
    }

    /// The name without the number that `numbered` appends; nil for a name without such a number.
    package static func withoutNumber(_ name: String) -> String? {
        let (stem, fileExtension) = split(name)
        guard stem.hasSuffix(")"), let match = stem.wholeMatch(of: /(.+) \([1-9][0-9]*\)/) else { return nil }
        return String(match.1) + fileExtension
    }

    /// The name while the file is being written: hidden, but recognizable. At most 255 bytes.
    package var temporary: String { Self.temporary(for: text) }

    /// Like `temporary`, for an existing name.
    package static func temporary(for name: String) -> String { temporaryPrefix + name + temporarySuffix }

    /// Equal for names that differ only in case or in the composition of letters.
    package var key: String { Self.key(of: text) }

    /// Like `key`, for any name. If in doubt, two names are treated as equal: `ß` equals `SS`.
    package static func key(of name: String) -> String {
        if name.utf8.allSatisfy({ $0 < 0x80 }) { return name.lowercased() }
        // Uppercase first: this unfolds ligatures and unifies the two sigmas.
        return name.uppercased().lowercased().decomposedStringWithCanonicalMapping
    }

    // MARK: Helpers

    private static func cleaned(_ name: String) -> String {
        let last = name.unicodeScalars.split(separator: "/").last.map(String.UnicodeScalarView.init) ?? .init()
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: last.lazy.map { isForbidden($0) ? "_" : $0 })
        return trimmed(String(scalars).precomposedStringWithCanonicalMapping)
    }

    private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\\", ":", "*", "?", "\"", "<", ">", "|": return true
        default: break
        }
        if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate: return true
        default: break
        }
        // Invisible fillers. Variation selectors are kept: they are part of many emoji.
        return scalar.properties.isDefaultIgnorableCodePoint && !scalar.properties.isVariationSelector
    }

    /// Compares scalars: other software treats a blank with a combining mark as a blank.
    private static func trimmed(_ text: String) -> String {
        var scalars = Substring(text).unicodeScalars
        while let first = scalars.first, first.properties.isWhitespace { scalars.removeFirst() }
        while let last = scalars.last, last == "." || last.properties.isWhitespace { scalars.removeLast() }
        return String(scalars)
    }

    /// Windows checks the part before the first dot, without trailing blanks.
    private static func isReserved(_ text: String) -> Bool {
        let first = text.prefix { $0 != "." }
        let word = String(first.prefix(first.count - first.reversed().prefix { $0 == " " }.count)).uppercased()
        return devices.contains(word)
    }

    private static let devices: Set<String> = {
        let digits = "0123456789¹²³"
        return Set(["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$"])
            .union(["COM", "LPT"].flatMap { port in digits.map { port + String($0) } })
    }()

    /// Only letters, digits and hyphens, for a name derived from an opaque ID.
    private static func letters(of id: String) -> String {
        let letters = id.unicodeScalars.filter {
            $0.isASCII && ($0.properties.isAlphabetic || $0.properties.numericType != nil || $0 == "-")
        }
        return letters.isEmpty ? "unnamed" : String(String.UnicodeScalarView(letters.prefix(36)))
    }

    /// The extension includes the dot; it is empty if the part after the last dot is too long for an extension.
    package static func split(_ text: String) -> (stem: String, fileExtension: String) {
        guard let dot = text.lastIndex(of: "."), dot != text.startIndex else { return (text, "") }
        let fileExtension = text[dot...]
        guard fileExtension.utf8.count <= longestExtension else { return (text, "") }
        return (String(text[..<dot]), String(fileExtension))
    }

    /// The longest prefix of whole characters that fits.
    private static func cut(_ stem: String, to byteCount: Int) -> String {
        guard stem.utf8.count > byteCount else { return stem }
        let rest = trimmed(TextCut.head(of: stem, byteCount: byteCount))
        return rest.isEmpty ? "_" : rest
    }
}

package enum TextCut {
    /// The longest prefix of whole characters that fits.
    ///
    /// One character may have thousands of bytes of combining marks: if even the first character does not fit, it is
    /// split between two of its scalars.
    package static func head(of text: String, byteCount: Int) -> String {
        guard text.utf8.count > byteCount else { return text }
        let limit = text.utf8.index(text.utf8.startIndex, offsetBy: byteCount)
        var end = limit
        while end > text.startIndex, end.samePosition(in: text) == nil { end = text.utf8.index(before: end) }
        if end == text.startIndex {
            end = limit
            while end > text.startIndex, end.samePosition(in: text.unicodeScalars) == nil {
                end = text.utf8.index(before: end)
            }
        }
        return String(text[..<end])
    }
}
