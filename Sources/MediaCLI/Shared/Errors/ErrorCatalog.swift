internal import Foundation
internal import MediaCore
internal import MediaTransport
internal import Outcomes

/// The only place that maps errors to messages and exit codes. Each system has its own file, where its error type
/// conforms to `CatalogedError`.
enum ErrorCatalog {
    static func userFacingError(of error: any Error) -> UserFacingError {
        (error as? any ReportableError)?.userFacingError
            ?? UserFacingError(.internalError, foreign(String(describing: error)))
    }

    // MARK: Messages

    /// Free text from a server, or text that may quote it: processed as by `clean`, with known secrets masked.
    static func foreign(_ text: String) -> String { clean(KnownSecrets.masked(text)) }

    /// Text from other sources on one line, escaped for a terminal, without a final period.
    static func clean(_ text: String) -> String {
        let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
        return TerminalText.escaped(inOurStyle(trimmed.hasSuffix(".") ? String(trimmed.dropLast()) : trimmed))
    }

    /// libcurl's messages start with a capital letter, and some end with a redundant name of the error.
    private static func inOurStyle(_ text: String) -> String {
        let openings: Set<Substring> = [
            "Failed", "Could", "Couldn't", "Connection", "Operation", "Timeout", "Recv", "Send", "Empty", "Server",
            "Resolving", "Closing", "Transferred", "Unable",
        ]
        var text = text[...]
        for ending in [": Couldn't connect to server", ": Could not connect to server"] where text.hasSuffix(ending) {
            text = text.dropLast(ending.count)
        }
        let first = text.prefix { $0 != " " }
        return openings.contains(first) ? text.prefix(1).lowercased() + text.dropFirst() : String(text)
    }

    static func quoted(_ text: String) -> String { "\"\(TerminalText.escaped(text))\"" }
    static func quoted(_ path: [UInt8]) -> String { "\"\(TerminalText.escaped(path))\"" }
}

/// An error with a message for the user. Any other error is an internal one.
protocol ReportableError: Error {
    var userFacingError: UserFacingError { get }
}

/// An error from one of the systems, with the parts of its message.
protocol CatalogedError: ReportableError {
    var code: OutcomeCode { get }
    /// Text from the server or the system; may be empty.
    var detail: String { get }
    /// `detail`, or the detail of the underlying error.
    var explanation: String { get }
    var path: [UInt8]? { get }
    /// The value or ID that caused the error, as given.
    var value: String? { get }
    /// The file on the server: its ID, or a noun followed by its ID.
    var number: String { get }
    /// The operation on the file, for example "upload".
    var use: String { get }
    /// nil if there was no response.
    var httpStatus: Int? { get }
    var isRetryable: Bool { get }
}

extension CatalogedError {
    /// The table's message. Systems whose errors contain more information than the code override this.
    var userFacingError: UserFacingError { UserFacingError(self, ErrorCatalog.Text(self)) }

    var explanation: String { detail }

    var number: String { "the file" }

    var use: String { "use" }

    /// `: ` and the explanation; empty if there is none.
    var suffix: String { suffix(else: "") }

    /// `: ` and the explanation, or the fallback if the explanation is empty.
    func suffix(else fallback: String) -> String {
        let text = explanation.isEmpty ? fallback : ErrorCatalog.foreign(explanation)
        return text.isEmpty ? "" : ": \(text)"
    }

    /// ` (404)`; empty if there was no response.
    var status: String { httpStatus.map { " (\($0))" } ?? "" }

    var file: String { path.map { ErrorCatalog.quoted($0) } ?? "the file" }
}

extension ErrorCatalog {
    struct Text {
        var message: String
        var hint: String?

        init(_ message: String, hint: String? = nil) {
            self.message = message
            self.hint = hint
        }
    }

    /// The hint for a missing input file.
    static let missingHint = "check the spelling of the path"

    /// The hint for plain HTTP to an HTTPS port.
    static let httpsHint = "try https:// in the address of the server"
}

extension UserFacingError {
    init(_ error: some CatalogedError, _ text: ErrorCatalog.Text, exitCode: ExitCode? = nil) {
        self.init(
            error.code,
            text.message,
            hint: error.explanation == HTTPSPort.detail ? ErrorCatalog.httpsHint : text.hint,
            exitCode: exitCode,
            httpStatus: error.httpStatus,
            isRetryable: error.isRetryable
        )
    }
}

/// Messages shared by several systems.
extension ErrorCatalog.Text {
    /// The table's message and hint for a code, with the error's values filled in. `code` replaces the error's own
    /// code.
    init(_ error: some CatalogedError, as code: OutcomeCode? = nil) {
        let code = code ?? error.code
        self.init(Self.filled(code.message, error), hint: code.hint)
    }

    /// Replaced in one pass: placeholders in text from other sources must not be replaced.
    private static func filled(_ text: String, _ error: some CatalogedError) -> String {
        var message = ""
        var rest = text[...]
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            message += rest[..<open] + fact(rest[rest.index(after: open)..<close], error)
            rest = rest[rest.index(after: close)...]
        }
        return message + rest
    }

    private static func fact(_ name: Substring, _ error: some CatalogedError) -> String {
        switch name {
        case "file": error.file
        case "path": error.path.map { ": \(ErrorCatalog.quoted($0))" } ?? ""
        case "value": error.value.map { ErrorCatalog.quoted($0) } ?? "the value"
        case "id": error.number
        case "use": error.use
        case "status": error.status
        case "reason": error.suffix(else: "permission denied")
        default: error.suffix
        }
    }

    /// `service` is another possible cause, for example `, or it does not accept captures`.
    static func unexpectedResponse(_ error: some CatalogedError, orElse service: String) -> Self {
        var text = Self(error)
        text.hint?.append(service)
        return text
    }

    /// The table's message with a different hint.
    static func table(_ error: some CatalogedError, as code: OutcomeCode? = nil, hint: String?) -> Self {
        var text = Self(error, as: code)
        text.hint = hint
        return text
    }

    /// The table's hint with a different message.
    static func table(_ error: some CatalogedError, message: String) -> Self {
        var text = Self(error)
        text.message = message
        return text
    }
}
