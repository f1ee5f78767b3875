internal import Foundation

/// Which streams are terminals, and how wide they are.
struct Terminal: Sendable {
    var isInputTerminal: Bool
    var isOutputTerminal: Bool
    var isErrorTerminal: Bool
    /// Columns of the terminal behind a descriptor; asked anew each time, since windows are resized.
    var columns: @Sendable (Int32) -> Int
    /// Rows of the same.
    var rows: @Sendable (Int32) -> Int

    /// The terminal of this process.
    static func process() -> Terminal {
        Terminal(
            isInputTerminal: isatty(STDIN_FILENO) == 1,
            isOutputTerminal: isatty(STDOUT_FILENO) == 1,
            isErrorTerminal: isatty(STDERR_FILENO) == 1,
            columns: { measured($0, \.ws_col) ?? 80 },
            rows: { measured($0, \.ws_row) ?? 24 }
        )
    }

    /// Whether somebody can be asked something.
    var isInteractive: Bool { isInputTerminal && isErrorTerminal }

    private static func measured(_ descriptor: Int32, _ side: KeyPath<winsize, UInt16>) -> Int? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size[keyPath: side] > 0 else { return nil }
        return Int(size[keyPath: side])
    }
}
