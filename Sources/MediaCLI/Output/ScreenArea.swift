internal import Synchronization

/// Lines at the bottom of the terminal that are drawn over again; other text goes above them.
final class ScreenArea: Sendable {
    private let output: Output
    private let drawnLineCount = Mutex(0)

    init(_ output: Output) {
        self.output = output
    }

    /// Replaces the lines. Each must fit the terminal, or the cursor loses its way.
    func draw(_ lines: [String]) {
        drawnLineCount.withLock { count in
            output.write(Self.erasing(count) + lines.map { $0 + "\n" }.joined())
            count = lines.count
        }
    }

    /// Takes the lines away, runs `body`, and leaves the rest to the next drawing.
    func above(_ body: () -> Void) {
        drawnLineCount.withLock { count in
            if count > 0 {
                output.write(Self.erasing(count))
                count = 0
            }
            body()
        }
    }

    /// ECMA-48: cursor up (8.3.22), then erase to the end of the page (8.3.39).
    private static func erasing(_ lineCount: Int) -> String {
        lineCount > 0 ? "\r\u{1b}[\(lineCount)A\u{1b}[J" : ""
    }
}
