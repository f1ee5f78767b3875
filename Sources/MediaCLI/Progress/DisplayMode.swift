/// How progress is shown.
enum DisplayMode: Sendable {
    /// Drawn again and again.
    case terminal
    /// A line now and then.
    case plain
    case silent

    /// The mode that suits the surroundings.
    init(for console: Console) {
        let isDumb = console.context.environment["TERM", default: "dumb"] == "dumb"
        self =
            console.isQuiet ? .silent : console.context.terminal.isErrorTerminal && !isDumb ? .terminal : .plain
    }
}
