/// A code in `--json` records, reports and stored rows, with its exit code and messages. The rows of all systems are in
/// ``OutcomeTable/codes``; a test compares `docs/exit-codes.md` with them.
public struct OutcomeCode: Sendable, Hashable, RawRepresentable {
    /// Stable, snake_case; also in `--json` records.
    public let rawValue: String
    /// The exit code if no other rule applies.
    public let exitCode: Int32
    /// Whether the same command may succeed later, unless the error has more specific information.
    public let isRetryable: Bool
    /// The user-facing message; the words of the code if errors with this code always provide a message themselves.
    /// `{file}`, `{path}`, `{value}`, `{id}`, `{use}`, `{status}`, `{detail}` and `{reason}` come from the error.
    public var message: String { text ?? rawValue.replacing("_", with: " ") }
    private var text: String?
    public private(set) var hint: String?

    /// A row of the table, without its texts. The doc comment of the member is the meaning of the code in
    /// `docs/exit-codes.md`.
    init(_ code: String, exit exitCode: Int32, isRetryable: Bool = false) {
        rawValue = code
        self.exitCode = exitCode
        self.isRetryable = isRetryable
    }

    func message(_ text: String) -> OutcomeCode {
        var row = self
        row.text = text
        return row
    }

    func hint(_ text: String) -> OutcomeCode {
        var row = self
        row.hint = text
        return row
    }

    /// The code with this name or this 0.1.0 name; nil for a code from a newer version.
    public init?(rawValue: String) {
        guard let row = OutcomeTable.row(rawValue) else { return nil }
        self = row
    }

    /// Codes are equal if their names are.
    public static func == (left: OutcomeCode, right: OutcomeCode) -> Bool { left.rawValue == right.rawValue }

    public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}
