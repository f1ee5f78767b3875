internal import MediaCore

/// A text table with aligned columns that fit the width of a terminal: flexible columns are narrowed, then columns are
/// omitted. If the table is still too wide, each entry is one short line.
struct Table: Sendable {
    struct Column: Sendable {
        enum Alignment: Sendable {
            case left
            case right
        }

        var title: String
        var alignment = Alignment.left
        /// Whether the column's cells may be truncated.
        var isFlexible = false
        /// Minimum width of a flexible column, in terminal columns.
        var minimumWidth = 6
        /// The order in which a narrow terminal omits columns, lowest first; nil if never.
        var dropOrder: Int?
        /// Whether the column's cells are paths, which are truncated at the start.
        var isPath = false
        /// Whether the column's cells are wrapped instead of truncated, for sentences.
        var isWrapped = false
    }

    /// All columns must be added before the first row.
    var columns: [Column]

    /// The cells of all rows in order, without separators: a long table as separate strings would take longer than
    /// everything else in its command.
    private var bytes: [UInt8] = []
    /// There is one cell per column in each row.
    private var cells: [Cell] = []
    /// The width of the widest cell of each column.
    private var widest: [Int] = []

    private struct Cell {
        /// Where the cell's text ends in `bytes`.
        var end: Int
        /// Width in terminal columns.
        var width: Int
    }

    private static let gap = "  "

    init(columns: [Column]) {
        self.columns = columns
    }

    var isEmpty: Bool { cells.isEmpty }

    private var rowCount: Int { columns.isEmpty ? 0 : cells.count / columns.count }

    /// Adds a row: one cell per column, already escaped.
    mutating func append(_ row: [String]) {
        if isEmpty { widest = columns.map { _ in 0 } }
        for (index, cell) in row.enumerated() {
            let width = TerminalText.width(cell)
            bytes.append(utf8: cell)
            cells.append(Cell(end: bytes.count, width: width))
            widest[index] = max(widest[index], width)
        }
    }

    mutating func append(contentsOf rows: some Sequence<[String]>) {
        for row in rows { append(row) }
    }

    /// The table with a row for each element.
    func rows<Element>(for elements: [Element], _ row: (Element) -> [String]) -> Table {
        var table = self
        table.append(contentsOf: elements.map(row))
        return table
    }

    /// The header and the rows, each with a line break, none wider than `width`. If `width` is nil, every cell has its
    /// full width. If these rows are only part of the table, `naturalWidths` contains the widths for the whole table;
    /// only the first part has the header.
    func text(
        fitting width: Int?,
        style: Style,
        naturalWidths: [Int]? = nil,
        hasHeader: Bool = true
    ) -> [UInt8] {
        var layout = Layout(widths: naturalWidths ?? self.naturalWidths(atLeast: nil))
        var text: [UInt8] = []
        if let width {
            omitColumns(of: &layout, until: width)
            guard narrowestWidth(of: layout) <= width else {
                for row in 0..<rowCount { text.append(utf8: shortLine(row, layout, width, style) + "\n") }
                return text
            }
            narrowColumns(of: &layout, to: width)
        }
        if hasHeader {
            text.append(utf8: style.bold(String(decoding: header.line(0, layout, style), as: UTF8.self)) + "\n")
        }
        let body = columns.contains { $0.isWrapped } ? wrapped(to: layout) : self
        text.reserveCapacity(text.count + body.rowCount * (lineWidth(of: layout) + 1))
        for row in 0..<body.rowCount {
            body.appendLine(row, layout, style, to: &text)
            text.append(UInt8(ascii: "\n"))
        }
        return text
    }

    /// The lines of `text`, without line breaks.
    func lines(fitting width: Int?, style: Style) -> [String] {
        text(fitting: width, style: style).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .dropLast().map { String(decoding: $0, as: UTF8.self) }
    }

    /// The widths needed by the header and these rows, at least `known`.
    func naturalWidths(atLeast known: [Int]?) -> [Int] {
        columns.indices.map { index in
            max(TerminalText.width(columns[index].title), isEmpty ? 0 : widest[index], known?[index] ?? 0)
        }
    }

    /// The titles as a row.
    private var header: Table {
        var header = Table(columns: columns)
        header.append(columns.map(\.title))
        return header
    }

    /// The bytes of a cell.
    private func range(of cell: Int) -> Range<Int> { (cell == 0 ? 0 : cells[cell - 1].end)..<cells[cell].end }

    private func string(_ row: Int, _ column: Int) -> String {
        String(decoding: bytes[range(of: row * columns.count + column)], as: UTF8.self)
    }

    /// Each row, followed by rows with the remaining lines of its wrapped cells.
    private func wrapped(to layout: Layout) -> Table {
        var table = Table(columns: columns)
        for row in 0..<rowCount {
            let parts = columns.indices.map { index in
                columns[index].isWrapped
                    ? WordWrap.lines(string(row, index), width: layout.widths[index]) : [string(row, index)]
            }
            for number in 0..<(parts.map(\.count).max() ?? 1) {
                table.append(parts.map { number < $0.count ? $0[number] : "" })
            }
        }
        return table
    }

    private struct Layout {
        var widths: [Int]
        var shown: [Int]

        init(widths: [Int]) {
            self.widths = widths
            shown = Array(widths.indices)
        }
    }

    // MARK: Widths

    private func gaps(of layout: Layout) -> Int { Self.gap.count * (layout.shown.count - 1) }

    private func lineWidth(of layout: Layout) -> Int {
        layout.shown.reduce(gaps(of: layout)) { $0 + layout.widths[$1] }
    }

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
        var excess = lineWidth(of: layout) - width
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

    private func line(_ row: Int, _ layout: Layout, _ style: Style) -> [UInt8] {
        var line: [UInt8] = []
        appendLine(row, layout, style, to: &line)
        return line
    }

    private func appendLine(_ row: Int, _ layout: Layout, _ style: Style, to line: inout [UInt8]) {
        for index in layout.shown {
            let cell = row * columns.count + index
            let isLast = index == layout.shown.last
            let isRight = columns[index].alignment == .right
            var padding = layout.widths[index] - cells[cell].width
            var text = bytes[range(of: cell)]
            if padding < 0 {
                let short = truncated(string(row, index), columns[index], to: layout.widths[index], style)
                padding = layout.widths[index] - TerminalText.width(short)
                text = Array(short.utf8)[...]
            }
            let spaces = repeatElement(UInt8(ascii: " "), count: max(0, padding))
            if isRight { line += spaces }
            line += text
            if !isRight, !isLast { line += spaces }
            if !isLast { line.append(utf8: Self.gap) }
        }
    }

    /// The line for an entry whose remaining columns do not fit next to each other.
    private func shortLine(_ row: Int, _ layout: Layout, _ width: Int, _ style: Style) -> String {
        let line = layout.shown.map { string(row, $0) }.joined(separator: " ")
        return TerminalText.truncated(line, to: max(1, width), ellipsis: style.ellipsis)
    }

    private func truncated(_ text: String, _ column: Column, to width: Int, _ style: Style) -> String {
        column.isPath
            ? end(of: text, width, style) : TerminalText.truncated(text, to: width, ellipsis: style.ellipsis)
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
