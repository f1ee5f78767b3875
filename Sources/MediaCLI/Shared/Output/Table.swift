internal import MediaCore

/// A text table with aligned columns that fit the width of a terminal: flexible columns are narrowed, then columns are
/// omitted. If that is still too wide, each entry is one short line.
struct Table: Sendable {
    struct Column: Sendable {
        enum Alignment: Sendable {
            case left
            case right
        }

        var title: String
        var alignment = Alignment.left
        /// Whether its cells may be truncated.
        var isFlexible = false
        /// Minimum width of a flexible column, in terminal columns.
        var minimumWidth = 6
        /// The order in which a narrow terminal omits columns, lowest first; nil if never.
        var dropOrder: Int?
        /// Whether its cells are paths, which are truncated at the start.
        var isPath = false
        /// Whether its cells are wrapped instead of truncated, for sentences.
        var isWrapped = false
    }

    var columns: [Column]
    /// One cell per column, already escaped.
    var rows: [[String]] = []

    private static let gap = "  "

    /// The header and the rows, without line breaks, none wider than `width`. If `width` is nil, every cell has its
    /// full width. If these rows are only a part of the table, `naturalWidths` are those of the whole table; only the
    /// first part has the header.
    func lines(
        fitting width: Int?,
        style: Style,
        naturalWidths: [Int]? = nil,
        hasHeader: Bool = true
    ) -> [String] {
        let header = measured(columns.map(\.title))
        // Measuring dominates the cost of a long table, so each cell is measured once.
        let body = rows.map { measured($0) }
        var layout = Layout(widths: naturalWidths ?? self.naturalWidths(of: [header] + body))
        if let width {
            omitColumns(of: &layout, until: width)
            guard narrowestWidth(of: layout) <= width else {
                return rows.map { shortLine($0, layout, width, style) }
            }
            narrowColumns(of: &layout, to: width)
        }
        let lines = columns.contains { $0.isWrapped } ? body.flatMap { wrapped($0, layout) } : body
        return (hasHeader ? [style.bold(line(header, layout, style))] : []) + lines.map { line($0, layout, style) }
    }

    /// The widths needed by the header and these rows, at least `known`.
    func naturalWidths(atLeast known: [Int]?) -> [Int] {
        let own = naturalWidths(of: [measured(columns.map(\.title))] + rows.map { measured($0) })
        return known.map { zip($0, own).map(max) } ?? own
    }

    /// A row, followed by the remaining lines of its wrapped cells.
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

    /// The width of the table with every flexible column at its minimum.
    private func narrowestWidth(of layout: Layout) -> Int {
        layout.shown.reduce(gaps(of: layout)) { sum, index in
            let natural = layout.widths[index]
            return sum + (columns[index].isFlexible ? min(natural, columns[index].minimumWidth) : natural)
        }
    }

    private func omitColumns(of layout: inout Layout, until width: Int) {
        let order = columns.indices.filter { columns[$0].dropOrder != nil }
            .sorted { columns[$0].dropOrder ?? 0 < columns[$1].dropOrder ?? 0 }
        for index in order where narrowestWidth(of: layout) > width {
            layout.shown.removeAll { $0 == index }
        }
    }

    /// Narrows the widest flexible column until the table fits.
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

    /// For an entry whose remaining columns do not fit side by side.
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

    /// Truncates a path at its start, since its end contains the name.
    private func end(of path: String, _ width: Int, _ style: Style) -> String {
        var kept = ""
        for character in path.reversed() {
            // One column is reserved for the ellipsis.
            guard TerminalText.width(kept) + TerminalText.width(String(character)) < width else { break }
            kept.insert(character, at: kept.startIndex)
        }
        return width > 0 ? String(style.ellipsis) + kept : ""
    }
}

enum WordWrap {
    /// Uses as few lines as possible; a word wider than `width` gets a separate line.
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
