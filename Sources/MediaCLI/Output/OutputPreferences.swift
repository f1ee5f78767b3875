/// In what form a command speaks.
struct OutputPreferences: Sendable {
    var isJSON = false
    var isQuiet = false
    var verbosity = 0
    /// What the command line says; settings may say it later.
    var color: ColorMode?
}

/// When output is coloured.
enum ColorMode: String, Sendable, CaseIterable {
    case auto, always, never
}
