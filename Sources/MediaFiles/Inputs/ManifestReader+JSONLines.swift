extension ManifestReader {
    /// Reads one object a line.
    mutating func readJSONLines(_ text: ArraySlice<UInt8>) {
        var number = 0
        for line in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            if isFull { return }
            if line.allSatisfy(JSONObjectLine.isBlank) { continue }
            readObject(line, number)
        }
    }

    private mutating func readObject(_ line: ArraySlice<UInt8>, _ number: Int) {
        guard let text = String(validating: line, as: UTF8.self) else {
            return fault(number, "the text is not UTF-8")
        }
        do throws(JSONObjectLine.Failure) {
            var object = JSONObjectLine(text)
            let cells = try object.cells()
            let faultCount = faults.count
            checkColumns(cells.map(\.column), line: number)
            if faults.count == faultCount { append(cells, line: number) }
        } catch {
            fault(number, column: error.column, error.reason)
        }
    }
}

/// Reads one flat object of RFC 8259: strings, numbers and nulls under names.
///
/// A reader of its own, because general ones keep one of two equal names and turn `4.50` into 4.5.
private struct JSONObjectLine {
    struct Failure: Error {
        var column: String?
        var reason: String
    }

    private let text: [UInt8]
    private var position = 0
    private var column: String?

    init(_ text: String) {
        self.text = Array(text.utf8)
    }

    static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    mutating func cells() throws(Failure) -> [ManifestReader.Cell] {
        guard take("{") else { throw failure("the line is no JSON object") }
        var cells: [ManifestReader.Cell] = []
        if !take("}") {
            repeat {
                cells.append(try cell())
            } while take(",")
            guard take("}") else { throw failure("a comma or a closing brace is missing") }
        }
        skipBlanks()
        guard position == text.count else { throw failure("text follows the object") }
        return cells
    }

    private mutating func cell() throws(Failure) -> ManifestReader.Cell {
        column = nil
        guard take("\"") else { throw failure("the name of a column is missing") }
        let name = try string()
        column = name
        guard take(":") else { throw failure("a colon is missing") }
        let cell = ManifestReader.Cell(column: name, text: try value())
        column = nil
        return cell
    }

    private mutating func value() throws(Failure) -> String? {
        if take("\"") { return try string() }
        let start = position
        while position < text.count, Self.isWordByte(text[position]) { position += 1 }
        let word = String(decoding: text[start..<position], as: UTF8.self)
        if word == "null" { return nil }
        guard Self.isNumber(word) else { throw failure("the value is no string and no number") }
        return word
    }

    /// What follows an opening quote, up to the closing one.
    private mutating func string() throws(Failure) -> String {
        var bytes: [UInt8] = []
        while let byte = next() {
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: bytes, as: UTF8.self)
            case UInt8(ascii: "\\"): bytes += try escape().utf8
            case ..<0x20: throw failure("a control character stands in a string")
            default: bytes.append(byte)
            }
        }
        throw failure("a string is never closed")
    }

    private mutating func escape() throws(Failure) -> String {
        switch next() {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try unicodeEscape()
        default: throw failure("an escape in a string is unknown")
        }
    }

    private mutating func unicodeEscape() throws(Failure) -> String {
        var units = [try codeUnit()]
        if UTF16.isLeadSurrogate(units[0]) {
            if next() == UInt8(ascii: "\\"), next() == UInt8(ascii: "u") { units.append(try codeUnit()) }
        }
        guard let text = String(validating: units, as: UTF16.self) else {
            throw failure("half of a character stands in a string")
        }
        return text
    }

    private mutating func codeUnit() throws(Failure) -> UInt16 {
        let digits = text[position...].prefix(4)
        position += digits.count
        guard digits.count == 4, digits.allSatisfy({ Unicode.Scalar($0).properties.isASCIIHexDigit }),
            let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw failure("an escape in a string is unknown") }
        return unit
    }

    /// RFC 8259 section 6.
    private static func isNumber(_ word: String) -> Bool {
        word.wholeMatch(of: #/-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/#) != nil
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        !isBlank(byte) && byte != UInt8(ascii: ",") && byte != UInt8(ascii: "}")
    }

    /// Passes over blanks, and over the wanted character where it comes next.
    private mutating func take(_ wanted: Unicode.Scalar) -> Bool {
        skipBlanks()
        guard position < text.count, text[position] == UInt8(ascii: wanted) else { return false }
        position += 1
        return true
    }

    private mutating func skipBlanks() {
        while position < text.count, Self.isBlank(text[position]) { position += 1 }
    }

    private mutating func next() -> UInt8? {
        guard position < text.count else { return nil }
        defer { position += 1 }
        return text[position]
    }

    private func failure(_ reason: String) -> Failure {
        Failure(column: column, reason: reason)
    }
}
