internal import Foundation

/// A name for a local file, made from an untrusted name of a server, which may contain directories, control characters,
/// thousands of letters, or the name of a device (photosync contract trap 15).
///
/// Names that a case-insensitive file system treats as one have the same `key`.
package struct SafeFileName: Sendable, Hashable {
    /// In NFC, at most `longest` bytes of UTF-8 including its number; never hidden, never empty.
    package let text: String

    private let stem: String
    private let fileExtension: String

    /// In bytes; a temporary name made from it still fits into the 255 of most file systems.
    static let longest = 255 - temporaryPrefix.utf8.count - temporarySuffix.utf8.count
    /// Bytes left free for ` (12345678)`.
    private static let room = 11
    /// A longer part after the last dot is not an extension, and may be truncated.
    private static let longestExtension = 16
    private static let temporaryPrefix = "."
    private static let temporarySuffix = ".mediactl-part"

    /// - The directories before the last `/` are dropped.
    /// - Control characters, invisible ones, those that reorder a line, and `\ : * ? " < > |` become `_`.
    /// - Blanks at both ends, and dots at the end, are dropped.
    /// - A name that would be hidden (`.gif`) or that means a device on Windows (`CON`, `nul.jpg`) gets `_` before it.
    /// - A name that is too long loses the end of its stem; the extension stays.
    /// - If nothing is left of the name, it is `photo-ID.jpg`.
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

    /// The same name with a number from 2 to 99,999,999: `IMG_0001 (2).jpg`.
    package func numbered(_ number: Int) -> SafeFileName {
        SafeFileName(stem: stem, fileExtension: fileExtension, number: number)
    }

    /// The name while the file is written: hidden, but recognizable. At most 255 bytes.
    package var temporary: String { Self.temporary(for: text) }

    /// The same for a name that was made earlier.
    package static func temporary(for name: String) -> String { temporaryPrefix + name + temporarySuffix }

    /// Equal for names that differ in case or in the composition of letters only.
    package var key: String { Self.key(of: text) }

    /// The same for any name. In doubt, two names are equal: `ß` is `SS`.
    package static func key(of name: String) -> String {
        if name.utf8.allSatisfy({ $0 < 0x80 }) { return name.lowercased() }
        // Upper case first: it unfolds ligatures and joins the two sigmas.
        return name.uppercased().lowercased().decomposedStringWithCanonicalMapping
    }

    // MARK: Steps

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
        // Fillers that show nothing. Variation selectors do: they are part of many emoji.
        return scalar.properties.isDefaultIgnorableCodePoint && !scalar.properties.isVariationSelector
    }

    /// By scalars: a blank with a combining mark is still a blank for others.
    private static func trimmed(_ text: String) -> String {
        var scalars = Substring(text).unicodeScalars
        while let first = scalars.first, first.properties.isWhitespace { scalars.removeFirst() }
        while let last = scalars.last, last == "." || last.properties.isWhitespace { scalars.removeLast() }
        return String(scalars)
    }

    /// Windows checks the part before the first dot, without the blanks at its end.
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

    /// Only letters and digits, for a name made from an opaque id.
    private static func letters(of id: String) -> String {
        let letters = id.unicodeScalars.filter {
            $0.isASCII && ($0.properties.isAlphabetic || $0.properties.numericType != nil || $0 == "-")
        }
        return letters.isEmpty ? "unnamed" : String(String.UnicodeScalarView(letters.prefix(36)))
    }

    /// The extension has its dot; it is empty where the part after the last dot is too long for one.
    package static func split(_ text: String) -> (stem: String, fileExtension: String) {
        guard let dot = text.lastIndex(of: "."), dot != text.startIndex else { return (text, "") }
        let fileExtension = text[dot...]
        guard fileExtension.utf8.count <= longestExtension else { return (text, "") }
        return (String(text[..<dot]), String(fileExtension))
    }

    /// The first characters that fit; none is split.
    private static func cut(_ stem: String, to byteCount: Int) -> String {
        guard stem.utf8.count > byteCount else { return stem }
        let rest = trimmed(TextCut.head(of: stem, byteCount: byteCount))
        return rest.isEmpty ? "_" : rest
    }
}

package enum TextCut {
    /// The first characters that fit; none is split.
    ///
    /// One character may have thousands of bytes of combining marks: when not even the first one fits, it is split
    /// between two of its scalars.
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
