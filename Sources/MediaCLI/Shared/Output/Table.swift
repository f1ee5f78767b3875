internal import MediaCore

/// A table of text whose columns are aligned and, on a terminal, fit its width: flexible columns are narrowed, then
/// columns are left out, and where even that is too wide each entry is one short line.
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
        /// Its place among the columns that a narrow terminal leaves out, the lowest first; nil for one that stays.
        var dropOrder: Int?
        /// Whether its cells are paths, of which the end says most.
        var isPath = false
        /// Whether its cells are continued below instead of cut: for sentences, which say nothing when cut.
        var isWrapped = false
    }

    var columns: [Column]
    /// Cells, escaped already; each row has one cell a column.
    var rows: [[String]] = []

    private static let gap = "  "

    /// The lines, without line breaks at their ends, in `width` terminal columns; with nil every cell has its full
    /// width. No line is wider than `width`.
    ///
    /// - Parameters:
    ///   - width: Of the terminal, in columns.
    ///   - style: How the header and cut cells look.
    ///   - naturalWidths: Of the whole table, when these rows are a part of it; its first part alone has the header.
    ///   - hasHeader: Whether the header comes first.
    /// - Returns: The header and the rows.
    func lines(
        fitting width: Int?,
        style: Style,
        naturalWidths: [Int]? = nil,
        hasHeader: Bool = true
    ) -> [String] {
        let header = measured(columns.map(\.title))
        // Measuring is what a long table costs, so each cell is measured once.
        let body = rows.map { measured($0) }
        var layout = Layout(widths: naturalWidths ?? self.naturalWidths(of: [header] + body))
        if let width {
            leaveOutColumns(of: &layout, until: width)
            guard narrowestWidth(of: layout) <= width else {
                return rows.map { shortLine($0, layout, width, style) }
            }
            narrowColumns(of: &layout, to: width)
        }
        let lines = columns.contains { $0.isWrapped } ? body.flatMap { wrapped($0, layout) } : body
        return (hasHeader ? [style.bold(line(header, layout, style))] : []) + lines.map { line($0, layout, style) }
    }

    /// What each column needs for the header and these rows, at least as wide as `known`.
    func naturalWidths(atLeast known: [Int]?) -> [Int] {
        let own = naturalWidths(of: [measured(columns.map(\.title))] + rows.map { measured($0) })
        return known.map { zip($0, own).map(max) } ?? own
    }

    /// A row, and below it what of its sentences does not fit beside the rest.
    private func wrapped(_ cells: [Cell], _ layout: Layout) -> [[Cell]] {
        let parts = columns.indices.map { index in
            columns[index].isWrapped ? folded(cells[index], to: layout.widths[index]) : [cells[index]]
        }
        return (0..<(parts.map(\.count).max() ?? 1)).map { number in
            parts.map { number < $0.count ? $0[number] : Cell(text: "", width: 0) }
        }
    }

    private func folded(_ cell: Cell, to width: Int) -> [Cell] {
        cell.width > width ? measured(WordWrap.lines(cell.text, width: width)) : [cell]
    }

    private struct Cell {
        var text: String
        var width: Int
    }

    /// Which columns are shown, and how wide each column is.
    private struct Layout {
        var widths: [Int]
        var shown: [Int]

        init(widths: [Int]) {
            self.widths = widths
            shown = Array(widths.indices)
        }
    }

    private func measured(_ cells: [String]) -> [Cell] {
        cells.map { Cell(text: $0, width: TerminalText.width($0)) }
    }

    // MARK: Widths

    private func naturalWidths(of rows: [[Cell]]) -> [Int] {
        columns.indices.map { index in
            rows.reduce(0) { max($0, $1[index].width) }
        }
    }

    private func gaps(of layout: Layout) -> Int { Self.gap.count * (layout.shown.count - 1) }

    /// What the shown columns need when every flexible one is as narrow as it may be.
    private func narrowestWidth(of layout: Layout) -> Int {
        layout.shown.reduce(gaps(of: layout)) { sum, index in
            let natural = layout.widths[index]
            return sum + (columns[index].isFlexible ? min(natural, columns[index].minimumWidth) : natural)
        }
    }

    private func leaveOutColumns(of layout: inout Layout, until width: Int) {
        let order = columns.indices.filter { columns[$0].dropOrder != nil }
            .sorted { columns[$0].dropOrder ?? 0 < columns[$1].dropOrder ?? 0 }
        for index in order where narrowestWidth(of: layout) > width {
            layout.shown.removeAll { $0 == index }
        }
    }

    /// The widest flexible column is narrowed until the table fits.
    private func narrowColumns(of layout: inout Layout, to width: Int) {
        var excess = layout.shown.reduce(gaps(of: layout)) { $0 + layout.widths[$1] } - width
        while excess > 0 {
            let candidates = layout.shown.filter {
                columns[$0].isFlexible && layout.widths[$0] > columns[$0].minimumWidth
            }
            guard let widest = candidates.max(by: { layout.widths[$0] < layout.widths[$1] }) else { break }
            layout.widths[widest] -= 1
            excess -= 1
        }
    }

    // MARK: Lines

    private func line(_ cells: [Cell], _ layout: Layout, _ style: Style) -> String {
        var line = ""
        line.reserveCapacity(layout.shown.reduce(gaps(of: layout)) { $0 + layout.widths[$1] })
        for index in layout.shown {
            let cell = fitted(cells[index], columns[index], to: layout.widths[index], style)
            let padding = String(repeating: " ", count: max(0, layout.widths[index] - cell.width))
            let isLast = index == layout.shown.last
            if columns[index].alignment == .right { line += padding }
            line += cell.text
            if columns[index].alignment == .left, !isLast { line += padding }
            if !isLast { line += Self.gap }
        }
        return line
    }

    /// An entry where not even the columns that stay fit side by side.
    private func shortLine(_ cells: [String], _ layout: Layout, _ width: Int, _ style: Style) -> String {
        let line = layout.shown.map { cells[$0] }.joined(separator: " ")
        return TerminalText.truncated(line, to: max(1, width), ellipsis: style.ellipsis)
    }

    private func fitted(_ cell: Cell, _ column: Column, to width: Int, _ style: Style) -> Cell {
        guard cell.width > width else { return cell }
        let text =
            column.isPath
            ? end(of: cell.text, width, style)
            : TerminalText.truncated(cell.text, to: width, ellipsis: style.ellipsis)
        return Cell(text: text, width: TerminalText.width(text))
    }

    /// What fits of the end of a path, where its name is.
    private func end(of path: String, _ width: Int, _ style: Style) -> String {
        var kept = ""
        for character in path.reversed() {
            // One column is kept for the ellipsis.
            guard TerminalText.width(kept) + TerminalText.width(String(character)) < width else { break }
            kept.insert(character, at: kept.startIndex)
        }
        return width > 0 ? String(style.ellipsis) + kept : ""
    }
}

/// Breaks sentences into lines of a width.
enum WordWrap {
    /// The words in as few lines as they need; a word that is wider alone keeps its line.
    static func lines(_ text: String, width: Int) -> [String] {
        guard TerminalText.width(text) > width else { return [text] }
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let last = lines.last, TerminalText.width(last) + 1 + TerminalText.width(String(word)) <= width {
                lines[lines.count - 1] += " " + word
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }
}
