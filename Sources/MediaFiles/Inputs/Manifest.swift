/// A table of files with what is told about each: CSV with a header line (RFC 4180), or JSON lines.
///
/// Columns are named like the upload's fields: `path` (required), `event_date`, `org_name`, `event_type`, `label`,
/// `participants`, `keywords`, `location`, `rating`, `notes`. A blank cell means "not told", as does `null` in JSON. Lines
/// without any content do not count. The text is UTF-8, with or without a byte order mark.
package struct Manifest: Sendable, Equatable {
    /// How a manifest is written.
    package enum Format: String, Sendable, CaseIterable {
        /// RFC 4180, with a header line.
        case csv
        /// One JSON object a line.
        case jsonLines = "jsonl"
    }

    /// One file.
    package struct Row: Sendable, Equatable {
        /// Line it begins at, from 1, for messages.
        package var line: Int
        /// The path as written.
        package var path: String
        /// The other columns that are not blank.
        package var fields: [String: String]

        package init(line: Int, path: String, fields: [String: String]) {
            self.line = line
            self.path = path
            self.fields = fields
        }
    }

    /// The files in order.
    package var rows: [Row]

    /// The columns that are known.
    package static let columns = [
        "path", "event_date", "org_name", "event_type", "label", "participants", "keywords", "location", "rating",
        "notes",
    ]

    /// Reads a whole manifest.
    ///
    /// - Throws: `ManifestError` with every fault found, in order, up to 100: unknown or repeated columns, missing paths, rows
    ///   of another length, text that is not UTF-8, values that are no strings or numbers.
    package init(reading bytes: [UInt8], as format: Format) throws(ManifestError) {
        let (rows, faults) = Self.rowsAndFaults(in: bytes, as: format)
        guard faults.isEmpty else { throw ManifestError(faults: faults) }
        self.rows = rows
    }

    /// What can be read of a manifest, and what is wrong with the rest, for those who have more to check and tell all
    /// faults at once.
    ///
    /// - Returns: The rows without faults of their own, and the faults that `init(reading:as:)` would throw.
    package static func rowsAndFaults(
        in bytes: [UInt8],
        as format: Format
    ) -> (rows: [Row], faults: [ManifestError.Fault]) {
        guard !bytes.starts(with: [0xFF, 0xFE]), !bytes.starts(with: [0xFE, 0xFF]) else {
            return ([], [.init(line: 1, reason: "the text is UTF-16; save it as UTF-8")])
        }
        var reader = ManifestReader()
        switch format {
        case .csv: reader.readCSV(bytes.withoutByteOrderMark)
        case .jsonLines: reader.readJSONLines(bytes.withoutByteOrderMark)
        }
        return (reader.rows, reader.faults)
    }

    /// The format that a file name or the first bytes of the content stand for.
    ///
    /// - Parameters:
    ///   - fileName: A name or a path; `.csv`, `.jsonl`, `.ndjson` and `.json` decide, in any case.
    ///   - firstBytes: Asked where the name says nothing: a brace begins JSON lines, anything else CSV.
    /// - Returns: One of both, always.
    package static func format(fileName: String, firstBytes: [UInt8]) -> Format {
        switch MediaType.pathExtension(of: fileName).lowercased() {
        case "csv": return .csv
        case "jsonl", "ndjson", "json": return .jsonLines
        default:
            let blanks: [UInt8] = [0x20, 0x09, 0x0A, 0x0D]
            let first = firstBytes.withoutByteOrderMark.first { !blanks.contains($0) }
            return first == UInt8(ascii: "{") ? .jsonLines : .csv
        }
    }
}

/// A manifest that cannot be used.
package struct ManifestError: Error, Sendable, Equatable {
    /// One fault.
    package struct Fault: Sendable, Equatable {
        /// Line, from 1.
        package var line: Int
        /// The column, where one is concerned.
        package var column: String?
        /// What is wrong, in words. May quote the manifest, control characters included.
        package var reason: String
    }

    /// All faults, in order of lines; the first 100 where there are more.
    package var faults: [Fault]
}
