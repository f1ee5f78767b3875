/// A table of files with their metadata: CSV with a header line (RFC 4180), or JSON lines.
///
/// Columns are named like the upload's fields: `path` (required), `event_date`, `org_name`, `event_type`, `label`,
/// `participants`, `keywords`, `location`, `rating`, `notes`. A blank cell or `null` means "not specified". Empty lines
/// are ignored. The text is UTF-8, with or without a byte order mark.
package enum Manifest {
    package enum Format: String, Sendable, CaseIterable {
        /// RFC 4180, with a header line.
        case csv
        /// One JSON object per line.
        case jsonLines = "jsonl"
    }

    package struct Row: Sendable, Equatable {
        /// First line, from 1, for messages.
        package var line: Int
        package var path: String
        /// The other non-blank columns.
        package var fields: [String: String]
    }

    package struct RowError: Sendable, Equatable {
        /// Line, from 1.
        package var line: Int
        package var column: String?
        /// The reason, for the user. May quote the manifest, including control characters.
        package var reason: String
    }

    package static let columns = [
        "path", "event_date", "org_name", "event_type", "label", "participants", "keywords", "location", "rating",
        "notes",
    ]

    /// The valid rows, and up to 100 errors in order: unknown or repeated columns, missing paths, rows of the wrong
    /// length, invalid UTF-8, values other than strings and numbers.
    package static func rowsAndErrors(in bytes: [UInt8], as format: Format) -> (rows: [Row], errors: [RowError]) {
        guard !bytes.starts(with: [0xFF, 0xFE]), !bytes.starts(with: [0xFE, 0xFF]) else {
            return ([], [.init(line: 1, reason: "the text is UTF-16; save it as UTF-8")])
        }
        var reader = ManifestReader()
        switch format {
        case .csv: reader.readCSV(bytes.withoutByteOrderMark)
        case .jsonLines: reader.readJSONLines(bytes.withoutByteOrderMark)
        }
        return (reader.rows, reader.errors)
    }

    /// Detects the format by the extension of a name or path: `.csv`, `.jsonl`, `.ndjson` or `.json`, ignoring case.
    /// For other names, `firstBytes` decides: a brace means JSON lines, anything else CSV.
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
