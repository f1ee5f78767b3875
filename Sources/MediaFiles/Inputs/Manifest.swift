/// A table of files with what is told about each: CSV with a header line (RFC 4180), or JSON lines.
///
/// Columns are named like the upload's fields: `path` (required), `event_date`, `org_name`, `event_type`, `label`,
/// `participants`, `keywords`, `location`, `rating`, `notes`. A blank cell means "not told".
public struct Manifest: Sendable, Equatable {
    /// How a manifest is written.
    public enum Format: String, Sendable, CaseIterable {
        case csv
        case jsonLines = "jsonl"
    }

    /// One file.
    public struct Row: Sendable, Equatable {
        /// Line it begins at, from 1, for messages.
        public var line: Int
        /// The path as written.
        public var path: String
        /// The other columns that are not blank.
        public var fields: [String: String]

        /// Makes a row.
        public init(line: Int, path: String, fields: [String: String]) {
            self.line = line
            self.path = path
            self.fields = fields
        }
    }

    /// The files in order.
    public var rows: [Row]

    /// The columns that are known.
    public static let columns = [
        "path", "event_date", "org_name", "event_type", "label", "participants", "keywords", "location", "rating",
        "notes",
    ]

    /// Reads a whole manifest.
    ///
    /// - Throws: `ManifestError` with every fault found, in order: unknown or repeated columns, missing paths, rows of
    ///   another length, text that is not UTF-8, values that are no strings or numbers.
    public init(reading bytes: [UInt8], as format: Format) throws(ManifestError) { rows = [] }

    /// The format that a file name or the first byte of the content stands for.
    public static func format(fileName: String, firstBytes: [UInt8]) -> Format { .csv }
}

/// A manifest that cannot be used.
public struct ManifestError: Error, Sendable, Equatable {
    /// One fault.
    public struct Fault: Sendable, Equatable {
        /// Line, from 1.
        public var line: Int
        /// The column, where one is concerned.
        public var column: String?
        /// What is wrong, in words.
        public var reason: String

        /// Makes a fault.
        public init(line: Int, column: String? = nil, reason: String) {
            self.line = line
            self.column = column
            self.reason = reason
        }
    }

    /// All faults, in order of lines.
    public var faults: [Fault]

    /// Makes an error.
    public init(faults: [Fault]) {
        self.faults = faults
    }
}
