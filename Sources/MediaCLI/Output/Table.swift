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
        let header = measured(columns.map(\.title))
        // Measuring is what a long table costs, so each cell is measured once.
        let body = rows.map { measured($0) }
        let widths = columnWidths(fitting: width, [header] + body)
        return [style.bold(line(header, widths))] + body.map { line($0, widths) }
    }

    private struct Cell {
        var text: String
        var width: Int
    }

    private func measured(_ cells: [String]) -> [Cell] {
        cells.map { Cell(text: $0, width: TerminalText.width($0)) }
    }

    private func line(_ cells: [Cell], _ widths: [Int]) -> String {
        var line = ""
        for (index, column) in columns.enumerated() {
            let cell = fitted(cells[index], to: widths[index])
            let padding = String(repeating: " ", count: max(0, widths[index] - cell.width))
            let isLast = index == columns.count - 1
            switch column.alignment {
            case .left: line += isLast ? cell.text : cell.text + padding + Self.gap
            case .right: line += padding + cell.text + (isLast ? "" : Self.gap)
            }
        }
        return line
    }

    private func fitted(_ cell: Cell, to width: Int) -> Cell {
        guard cell.width > width else { return cell }
        let text = TerminalText.truncated(cell.text, to: width)
        return Cell(text: text, width: TerminalText.width(text))
    }

    /// Natural widths, then the widest flexible column is narrowed until the table fits or nothing can give.
    private func columnWidths(fitting width: Int?, _ rows: [[Cell]]) -> [Int] {
        var widths = columns.indices.map { index in
            rows.reduce(0) { max($0, $1[index].width) }
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
