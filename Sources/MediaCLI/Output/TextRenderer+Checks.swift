internal import Foundation
internal import GigHive

/// What `doctor` and `smoke` say on standard output.
extension TextRenderer {
    /// `ok    tls      CN=media.example.org, valid until …`
    static func check(_ check: ServerCheck, _ diagnosis: Diagnosis?, _ style: Style) -> [String] {
        let word =
            switch check.status {
            case .passed: style.green("ok  ")
            case .warned: style.yellow("warn")
            case .failed: style.red("FAIL")
            case .skipped: style.dim("skip")
            }
        let name = check.name.padding(toLength: 8, withPad: " ", startingAt: 0)
        var lines = ["\(word)  \(name)  \(ErrorCatalogue.clean(diagnosis?.message ?? check.detail))"]
        if check.name == "tls", let pin = check.facts["pinned_key"] {
            lines.append("      \(style.dim("pin"))       \(ErrorCatalogue.clean(pin))")
        }
        return lines
    }
}
