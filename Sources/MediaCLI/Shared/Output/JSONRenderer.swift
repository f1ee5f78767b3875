internal import Foundation
internal import MediaCore

/// The members of all JSON records, in the order of `docs/json.md`. Absent values are null, so keys are stable.
///
/// The records of a command are in its own file; this type contains the records shared by several commands.
enum JSONRenderer {
    static func fatal(_ userFacingError: UserFacingError) -> JSONObject {
        ["error": .error(userFacingError), "exit_code": .exitCode(userFacingError.exitCode)]
    }
}

/// The result of one item of a run, in both formats.
protocol RunItem {
    var json: JSONObject { get }
    /// The result as text; empty for a failure, which goes to standard error.
    func text(_ style: Style) -> [String]
}

extension JSONValue {
    static func error(_ error: (any Error)?) -> JSONValue {
        guard let error else { return .null }
        let userFacingError = ErrorCatalog.userFacingError(of: error)
        return .object([
            "code": .string(userFacingError.code),
            "message": .string(([userFacingError.message] + userFacingError.details).joined(separator: "; ")),
            "http_status": JSONValue(userFacingError.httpStatus), "retryable": .bool(userFacingError.isRetryable),
            "hint": JSONValue(userFacingError.hint),
        ])
    }

    static func exitCode(_ code: ExitCode) -> JSONValue { .integer(Int64(code.rawValue)) }

    /// `null` for an empty text.
    static func nonEmpty(_ text: String?) -> JSONValue { JSONValue(text.flatMap { $0.isEmpty ? nil : $0 }) }

    static func time(_ time: Date?) -> JSONValue { JSONValue(time.map { Formats.timestamp($0) }) }
}
