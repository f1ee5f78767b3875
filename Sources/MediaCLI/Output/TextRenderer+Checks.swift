internal import Foundation
internal import GigHive

/// What `doctor` and `smoke` say on standard output.
extension TextRenderer {
    /// `ok    tls      CN=media.example.org, valid until …`
    static func check(
        _ check: ServerCheck,
        _ diagnosis: Diagnosis?,
        width: Int?,
        _ style: Style
    ) -> [String] {
        let word =
            switch check.status {
            case .passed: style.green("ok  ")
            case .warned: style.yellow("warn")
            case .failed: style.red("FAIL")
            case .skipped: style.dim("skip")
            }
        let name = check.name.padding(toLength: 8, withPad: " ", startingAt: 0)
        // The role is more informative than the server's refusal.
        let found = check.facts["role"] == nil ? diagnosis?.message : nil
        let detail = ErrorCatalogue.clean(found ?? check.detail)
        let indent = String(repeating: " ", count: 16)
        // Below a dozen columns it is no column any more.
        let room = width.map { $0 - indent.count } ?? .max
        let parts = room > 12 ? FoldedText.lines(detail, width: room) : [detail]
        var lines = ["\(word)  \(name)  \(parts[0])"] + parts.dropFirst().map { indent + $0 }
        if check.name == "tls", let pin = check.facts["pinned_key"] {
            lines.append("      \(style.dim("pin"))       \(ErrorCatalogue.clean(pin))")
        }
        return lines
    }
}
