internal import Foundation
internal import MediaCore
internal import MediaStore
internal import MediaTransport
internal import Outcomes

/// The only place that maps errors to messages and exit codes. Each system has its own file, where its facts
/// conform to `CatalogedFacts`.
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

/// The messages of one system's errors.
protocol CatalogedFacts: ErrorFacts {
    /// The operation on a file, for example "upload".
    static var use: String { get }
    /// The file on the server: its ID, or a noun followed by its ID.
    var number: String { get }
    static func userFacingError(of error: MediaError<Self>) -> UserFacingError
}

extension CatalogedFacts {
    static var use: String { "use" }

    var number: String { "the file" }

    /// The table's message.
    static func userFacingError(of error: MediaError<Self>) -> UserFacingError { UserFacingError(error, nil) }
}

extension MediaError: ReportableError where System: CatalogedFacts {
    var userFacingError: UserFacingError { userFacingCause ?? System.userFacingError(of: self) }

    /// The error of the store or of the transport, which has the same message in all systems.
    var userFacingCause: UserFacingError? {
        if self.code == .storeUnusable, let store { return store.userFacingError }
        guard self.code == .transport, let transport else { return nil }
        return ErrorCatalog.userFacingError(ofMissingResponse: transport, isRetryable: self.isRetryable)
    }

    var use: String { System.use }

    var number: String { self.own.number }

    /// `: ` and the detail; empty if there is none.
    var suffix: String { suffix(else: "") }

    /// `: ` and the detail, or the fallback if the detail is empty.
    func suffix(else fallback: String) -> String {
        let text = self.detail.isEmpty ? fallback : ErrorCatalog.foreign(self.detail)
        return text.isEmpty ? "" : ": \(text)"
    }

    /// ` (404)`; empty if there was no response.
    var status: String { self.httpStatus.map { " (\($0))" } ?? "" }

    var file: String { self.path.map { ErrorCatalog.quoted($0) } ?? "the file" }
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
    /// If `text` is nil, the table's message is used.
    init(_ error: MediaError<some CatalogedFacts>, _ text: ErrorCatalog.Text?, exitCode: ExitCode? = nil) {
        let text = text ?? ErrorCatalog.Text(error)
        self.init(
            error.code,
            text.message,
            hint: error.detail == HTTPSPort.detail ? ErrorCatalog.httpsHint : text.hint,
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
    init(_ error: MediaError<some CatalogedFacts>, as code: OutcomeCode? = nil) {
        let code = code ?? error.code
        self.init(Self.filled(code.message, error), hint: code.hint)
    }

    /// Replaced in one pass: placeholders in text from other sources must not be replaced.
    private static func filled(_ text: String, _ error: MediaError<some CatalogedFacts>) -> String {
        var message = ""
        var rest = text[...]
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            message += rest[..<open] + fact(rest[rest.index(after: open)..<close], error)
            rest = rest[rest.index(after: close)...]
        }
        return message + rest
    }

    private static func fact(_ name: Substring, _ error: MediaError<some CatalogedFacts>) -> String {
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
    static func unexpectedResponse(_ error: MediaError<some CatalogedFacts>, orElse service: String) -> Self {
        var text = Self(error)
        text.hint?.append(service)
        return text
    }

    /// The table's message with a different hint.
    static func table(_ error: MediaError<some CatalogedFacts>, as code: OutcomeCode? = nil, hint: String?) -> Self {
        var text = Self(error, as: code)
        text.hint = hint
        return text
    }

    /// The table's hint with a different message.
    static func table(_ error: MediaError<some CatalogedFacts>, message: String) -> Self {
        var text = Self(error)
        text.message = message
        return text
    }
}
