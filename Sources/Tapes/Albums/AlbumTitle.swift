internal import Foundation
internal import MediaStore

/// The title that an album is made with (rule R1).
enum AlbumTitle {
    /// With U+2013, an en dash, whatever the locale says (trap 19).
    static let prefix = "Tapes \u{2013} "

    /// The title for a tape as it is called now: trimmed, a control character is a space.
    static func of(_ tape: TapeRecord) -> String {
        let plain = String(
            String.UnicodeScalarView(
                tape.title.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }
            )
        )
        let trimmed = plain.trimmingCharacters(in: .whitespacesAndNewlines)
        return prefix + (trimmed.isEmpty ? TapeRecord.untitled : trimmed)
    }
}
