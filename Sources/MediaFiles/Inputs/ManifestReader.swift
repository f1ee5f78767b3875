/// Collects rows and faults, from either format.
struct ManifestReader {
    /// A value as it is written in one cell.
    struct Cell {
        var column: String
        /// Nil for what was told to be nothing.
        var text: String?
    }

    private(set) var rows: [Manifest.Row] = []
    private(set) var faults: [ManifestError.Fault] = []

    /// Enough to repair most manifests in one go, and no flood from a file that is no manifest at all.
    private static let faultLimit = 100

    var isFull: Bool { faults.count == Self.faultLimit }

    mutating func fault(_ line: Int, column: String? = nil, _ reason: String) {
        guard !isFull else { return }
        faults.append(.init(line: line, column: column, reason: reason))
    }

    /// Adds a row whose columns are known and differ from each other.
    mutating func append(_ cells: [Cell], line: Int) {
        var fields: [String: String] = [:]
        for cell in cells {
            guard let text = cell.text, !Self.isBlank(text) else { continue }
            fields[cell.column] = text
        }
        guard let path = fields.removeValue(forKey: "path") else {
            return fault(line, column: "path", "the path is missing")
        }
        guard !path.utf8.contains(0) else {
            return fault(line, column: "path", "the path holds a zero byte")
        }
        rows.append(Manifest.Row(line: line, path: path, fields: fields))
    }

    /// Tells which of a list of columns cannot be used.
    mutating func checkColumns(_ columns: [String], line: Int) {
        var seen: Set<String> = []
        for column in columns {
            if !Manifest.columns.contains(column) {
                fault(
                    line,
                    column: column,
                    "the column is unknown; known are \(Manifest.columns.joined(separator: ", "))"
                )
            } else if !seen.insert(column).inserted {
                fault(line, column: column, "the column is repeated")
            }
        }
    }

    private static func isBlank(_ text: String) -> Bool {
        text.allSatisfy(\.isWhitespace)
    }
}
