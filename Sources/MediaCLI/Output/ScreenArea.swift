internal import MediaCore
internal import MediaFiles
internal import Synchronization

/// Lines at the bottom of the terminal that are drawn over again; other text goes above them.
final class ScreenArea: Sendable {
    private let output: Output
    /// Columns of the terminal now.
    private let columns: @Sendable () -> Int
    /// Width of each line that is drawn.
    private let drawn = Mutex<[Int]>([])

    init(_ output: Output, columns: @escaping @Sendable () -> Int) {
        self.output = output
        self.columns = columns
    }

    /// Replaces the lines. Each must fit the terminal, or the cursor loses its way.
    func draw(_ lines: [String]) {
        drawn.withLock { widths in
            output.write(erasing(widths) + lines.map { $0 + "\n" }.joined())
            widths = lines.map { TerminalText.width($0) }
        }
    }

    /// Takes the lines away, runs `body`, and leaves the rest to the next drawing.
    func above(_ body: () -> Void) {
        drawn.withLock { widths in
            if !widths.isEmpty {
                output.write(erasing(widths))
                widths = []
            }
            body()
        }
    }

    /// ECMA-48: cursor up (8.3.22), then erase to the end of the page (8.3.39). A window that was made narrower since
    /// has broken the lines.
    private func erasing(_ widths: [Int]) -> String {
        guard !widths.isEmpty else { return "" }
        let columns = max(1, columns())
        let rows = widths.reduce(0) { $0 + max(1, ($1 + columns - 1) / columns) }
        return "\r\u{1b}[\(rows)A\u{1b}[J"
    }
}
