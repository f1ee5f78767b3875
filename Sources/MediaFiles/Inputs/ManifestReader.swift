internal import MediaCore

struct ManifestReader {
    struct Cell {
        var column: String
        /// nil for an explicit null.
        var text: String?
    }

    private(set) var rows: [Manifest.Row] = []
    private(set) var errors: [Manifest.RowError] = []

    /// Sufficient to fix most manifests in one pass, but limits the output for a file that is not a manifest.
    private static let errorLimit = 100

    var isFull: Bool { errors.count == Self.errorLimit }

    mutating func rowError(_ line: Int, column: String? = nil, _ reason: String) {
        guard !isFull else { return }
        errors.append(.init(line: line, column: column, reason: reason))
    }

    mutating func append(_ cells: [Cell], line: Int) {
        var fields: [String: String] = [:]
        for cell in cells {
            guard let text = cell.text, !Self.isBlank(text) else { continue }
            fields[cell.column] = text
        }
        guard let path = fields.removeValue(forKey: "path") else {
            return rowError(line, column: "path", "the path is missing")
        }
        guard !path.utf8.contains(0) else {
            return rowError(line, column: "path", "the path contains a NUL byte")
        }
        rows.append(Manifest.Row(line: line, path: path, fields: fields))
    }

    mutating func checkColumns(_ columns: [String], line: Int) {
        var seen: Set<String> = []
        for column in columns {
            if !Manifest.columns.contains(column) {
                rowError(
                    line,
                    column: column,
                    "unknown column; valid columns: \(Manifest.columns.joined(separator: ", "))"
                )
            } else if !seen.insert(column).inserted {
                rowError(line, column: column, "duplicate column")
            }
        }
    }

    private static func isBlank(_ text: String) -> Bool {
        text.allSatisfy(\.isWhitespace)
    }
}

// MARK: CSV

extension ManifestReader {
    mutating func readCSV(_ text: ArraySlice<UInt8>) {
        var records = CSVRecords(text)
        guard let columns = columns(of: records.next()) else { return }
        while !isFull, let next = records.next() {
            switch next {
            case .success(let record): append(record, columns: columns)
            case .failure(let failure): rowError(failure.line, failure.reason)
            }
        }
    }

    /// The names in the header, including invalid ones; nil if they cannot be used to read rows.
    private mutating func columns(of header: Result<CSVRecords.Record, CSVRecords.Failure>?) -> [String]? {
        switch header {
        case .success(let header):
            let names = header.fields.map { String(decoding: $0, as: UTF8.self) }
            if names.count == 1, let name = names.first, name.contains(where: { $0 == ";" || $0 == "\t" }) {
                rowError(header.line, "columns must be separated by commas, not semicolons or tabs")
                return nil
            }
            checkColumns(names, line: header.line)
            if !names.contains("path") { rowError(header.line, column: "path", "no such column") }
            return names
        case .failure(let failure): rowError(failure.line, failure.reason)
        case nil: rowError(1, "the header line is missing")
        }
        return nil
    }

    private mutating func append(_ record: CSVRecords.Record, columns: [String]) {
        guard record.fields.count == columns.count else {
            let cells = record.fields.count == 1 ? "1 cell" : "\(record.fields.count) cells"
            return rowError(record.line, "the row has \(cells), the header has \(columns.count)")
        }
        var cells: [Cell] = []
        for (column, bytes) in zip(columns, record.fields) {
            if let text = String(validating: bytes, as: UTF8.self) {
                cells.append(Cell(column: column, text: text))
            } else {
                rowError(record.line, column: column, "the text is not UTF-8")
            }
        }
        // One error per cell is sufficient: a row without a usable path has already been reported.
        if cells.count == columns.count, columns.contains("path") { append(cells, line: record.line) }
    }
}

/// Splits a text into the records of RFC 4180 section 2. Lines may also end in LF; empty lines are skipped.
///
/// After an error, reading continues with the next line.
private struct CSVRecords {
    struct Record {
        /// First line, from 1.
        var line: Int
        var fields: [[UInt8]]
    }

    struct Failure: Error {
        var line: Int
        var reason: String
    }

    private let text: ArraySlice<UInt8>
    private var position: Int
    private var line = 1

    init(_ text: ArraySlice<UInt8>) {
        self.text = text
        position = text.startIndex
    }

    mutating func next() -> Result<Record, Failure>? {
        while takeLineEnd() {}
        guard position < text.endIndex else { return nil }
        do throws(Failure) {
            return .success(try record())
        } catch {
            skipLine()
            return .failure(error)
        }
    }

    private mutating func record() throws(Failure) -> Record {
        var record = Record(line: line, fields: [])
        while true {
            record.fields.append(peek() == Self.quote ? try quotedField() : try plainField())
            if peek() == Self.comma {
                position += 1
            } else if position == text.endIndex || takeLineEnd() {
                return record
            } else {
                throw Failure(line: line, reason: "text after a closing quote; double a quote inside a cell")
            }
        }
    }

    /// Reads until a comma or the end of the line.
    private mutating func plainField() throws(Failure) -> [UInt8] {
        let start = position
        while let byte = peek(), byte != Self.comma, !isAtLineEnd {
            if byte == Self.quote {
                throw Failure(line: line, reason: "a quote in an unquoted cell")
            }
            if byte == Self.carriageReturn {
                throw Failure(line: line, reason: "a carriage return without a line feed")
            }
            position += 1
        }
        return Array(text[start..<position])
    }

    /// Reads a quoted field: any text, including line ends and commas, with each quote doubled.
    private mutating func quotedField() throws(Failure) -> [UInt8] {
        let start = (position: position, line: line)
        var field: [UInt8] = []
        position += 1
        while let byte = peek() {
            position += 1
            if byte == Self.quote {
                guard peek() == Self.quote else { return field }
                position += 1
            } else if byte == Self.lineFeed {
                line += 1
            }
            field.append(byte)
        }
        // The rest of the line is skipped, and the following lines are read as if the quote had been closed.
        (position, line) = start
        throw Failure(line: line, reason: "unterminated quote")
    }

    private var isAtLineEnd: Bool {
        switch peek() {
        case Self.lineFeed: true
        case Self.carriageReturn: position + 1 < text.endIndex && text[position + 1] == Self.lineFeed
        default: false
        }
    }

    private mutating func takeLineEnd() -> Bool {
        guard isAtLineEnd else { return false }
        position += peek() == Self.carriageReturn ? 2 : 1
        line += 1
        return true
    }

    private mutating func skipLine() {
        position = text[position...].firstIndex(of: Self.lineFeed) ?? text.endIndex
    }

    private func peek() -> UInt8? {
        position < text.endIndex ? text[position] : nil
    }

    private static let quote = UInt8(ascii: "\"")
    private static let comma = UInt8(ascii: ",")
    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")
}

// MARK: JSON lines

extension ManifestReader {
    /// Reads one flat object per line, with strings, numbers and nulls as values (RFC 8259). Repeated names are
    /// reported, and numbers keep their textual form.
    mutating func readJSONLines(_ text: ArraySlice<UInt8>) {
        let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (line, number) in zip(lines, 1...) {
            if isFull { return }
            var cursor = JSONCursor(line)
            if cursor.isAtEnd() { continue }
            guard String(validating: line, as: UTF8.self) != nil else {
                rowError(number, "the text is not UTF-8")
                continue
            }
            readObject(&cursor, line: number)
        }
    }

    private mutating func readObject(_ cursor: inout JSONCursor, line: Int) {
        guard cursor.kind() == .object else { return rowError(line, "the line is not a JSON object") }
        var cells: [Cell] = []
        do throws(JSONCursor.Broken) {
            try cursor.beginObject()
            while let name = try cursor.nextMember() {
                switch try Self.value(&cursor) {
                case .success(let text): cells.append(Cell(column: name, text: text))
                case .failure(let failure): return rowError(line, column: name, failure.reason)
                }
            }
        } catch {
            return rowError(line, "not valid JSON at byte \(error.offset + 1)")
        }
        guard cursor.isAtEnd() else { return rowError(line, "text after the object") }
        let errorCount = errors.count
        checkColumns(cells.map(\.column), line: line)
        if errors.count == errorCount { append(cells, line: line) }
    }

    private struct ValueFailure: Error {
        var reason: String
    }

    private static func value(_ cursor: inout JSONCursor) throws(JSONCursor.Broken) -> Result<String?, ValueFailure> {
        switch cursor.kind() {
        case .string:
            guard let text = try cursor.string() else {
                let reason = "the string has a character or an escape that JSON does not allow"
                return .failure(ValueFailure(reason: reason))
            }
            return .success(text)
        case .number:
            let digits = try cursor.number()
            // RFC 8259 section 6.
            if digits.wholeMatch(of: #/-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/#) != nil {
                return .success(digits)
            }
        case .null:
            try cursor.null()
            return .success(nil)
        case .bool, .array, .object, nil: break
        }
        return .failure(ValueFailure(reason: "the value is neither a string nor a number"))
    }
}
