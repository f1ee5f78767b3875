internal import MediaTransport

/// What a device is called on servers.
enum DeviceName {
    /// In characters.
    private static let longest = 100

    /// A name that servers take (they refuse an empty one) and other clients can show.
    static func cleaned(_ name: String) -> String {
        let visible = String(String.UnicodeScalarView(name.unicodeScalars.filter { !isControl($0) }))
        let cut = String(visible.trimmingBlanks().prefix(longest)).trimmingBlanks()
        return cut.isEmpty ? "mediactl" : cut
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
