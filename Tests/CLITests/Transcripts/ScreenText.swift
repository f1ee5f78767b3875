/// The final content of a terminal: overwritten text is removed, and colors are separate from the text.
struct ScreenText {
    /// The lines, without trailing spaces.
    private(set) var lines: [String] = []
    /// Colored output, as `green: deleted`.
    private(set) var colors: [String] = []

    private var rows: [[Character]] = [[]]
    private var row = 0
    private var column = 0
    private var colored: (name: String, text: String)?

    /// Names from ECMA-48 8.3.117 for the attributes that the program uses.
    private static let names = ["1": "bold", "2": "dim", "31": "red", "32": "green", "33": "yellow"]

    init(_ stream: String) {
        var rest = Substring(stream.replacing("\r\n", with: "\n"))
        while let character = rest.popFirst() {
            switch character {
            case "\u{1b}": perform(&rest)
            case "\n": (row, column) = (row + 1, 0)
            case "\r": column = 0
            default: put(character)
            }
        }
        lines = rows.map { row in
            var text = String(row)
            while text.hasSuffix(" ") { text.removeLast() }
            return text
        }
        while lines.last == "" { lines.removeLast() }
    }

    private mutating func put(_ character: Character) {
        makeRow()
        while rows[row].count < column { rows[row].append(" ") }
        if column < rows[row].count {
            rows[row][column] = character
        } else {
            rows[row].append(character)
        }
        column += 1
        colored?.text.append(character)
    }

    private mutating func makeRow() {
        while rows.count <= row { rows.append([]) }
    }

    /// A control sequence: colors, cursor up, erase to the end.
    private mutating func perform(_ rest: inout Substring) {
        guard rest.first == "[", let end = rest.dropFirst().firstIndex(where: \.isLetter) else { return }
        let number = String(rest[rest.index(after: rest.startIndex)..<end])
        let command = rest[end]
        rest = rest[rest.index(after: end)...]
        switch command {
        case "A": row = max(0, row - (Int(number) ?? 1))
        case "J":
            makeRow()
            rows[row] = Array(rows[row].prefix(column))
            rows.removeSubrange((row + 1)...)
        case "m":
            if let colored { colors.append("\(colored.name): \(colored.text)") }
            colored = Self.names[number].map { ($0, "") }
        default: put("?")
        }
    }
}
