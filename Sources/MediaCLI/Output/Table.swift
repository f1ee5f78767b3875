internal import MediaFiles

/// A table of text whose columns are aligned and, on a terminal, fit its width.
struct Table: Sendable {
    struct Column: Sendable {
        enum Alignment: Sendable {
            case left
            case right
        }

        var title: String
        var alignment = Alignment.left
        /// Whether its cells may be cut when the table is too wide.
        var isFlexible = false
        /// A flexible column is not cut below this many terminal columns.
        var minimumWidth = 6
    }

    var columns: [Column]
    /// Cells, escaped already; each row has one cell a column.
    var rows: [[String]] = []

    private static let gap = "  "

    /// The lines, without line breaks at their ends, in `width` terminal columns; with nil every cell has its full
    /// width.
    func lines(fitting width: Int?, style: Style) -> [String] {
        let widths = columnWidths(fitting: width)
        let header = style.bold(line(columns.map(\.title), widths))
        return [header] + rows.map { line($0, widths) }
    }

    private func line(_ cells: [String], _ widths: [Int]) -> String {
        var line = ""
        for (index, column) in columns.enumerated() {
            let cell = TerminalText.truncated(cells[index], to: widths[index])
            let padding = String(repeating: " ", count: max(0, widths[index] - TerminalText.width(cell)))
            let isLast = index == columns.count - 1
            switch column.alignment {
            case .left: line += isLast ? cell : cell + padding + Self.gap
            case .right: line += padding + cell + (isLast ? "" : Self.gap)
            }
        }
        return line
    }

    /// Natural widths, then the widest flexible column is narrowed until the table fits or nothing can give.
    private func columnWidths(fitting width: Int?) -> [Int] {
        var widths = columns.indices.map { index in
            rows.reduce(TerminalText.width(columns[index].title)) { max($0, TerminalText.width($1[index])) }
        }
        guard let width else { return widths }
        var excess = widths.reduce(0, +) + Self.gap.count * (columns.count - 1) - width
        while excess > 0 {
            let candidates = columns.indices.filter { columns[$0].isFlexible && widths[$0] > columns[$0].minimumWidth }
            guard let widest = candidates.max(by: { widths[$0] < widths[$1] }) else { break }
            widths[widest] -= 1
            excess -= 1
        }
        return widths
    }
}
