internal import Foundation
internal import MediaCore

/// The members of all JSON records, in the order of `docs/json.md`. Absent values are null, so that keys are stable.
///
/// The records of a command are in its own file; this type contains those shared by several commands.
enum JSONRenderer {
    // MARK: Errors and exit codes

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

    static func fatal(_ userFacingError: UserFacingError) -> JSONObject {
        ["error": error(userFacingError), "exit_code": exitCode(userFacingError.exitCode)]
    }

    static func exitCode(_ code: ExitCode) -> JSONValue { .integer(Int64(code.rawValue)) }

    // MARK: Values

    /// Invalid UTF-8 is replaced; `pathBase64` has the original bytes.
    static func path(_ path: [UInt8]?) -> JSONValue { JSONValue(path.map { String(decoding: $0, as: UTF8.self) }) }

    /// The bytes of a path that is not UTF-8; otherwise null.
    static func pathBase64(_ path: [UInt8]?) -> JSONValue {
        guard let path, String(validating: path, as: UTF8.self) == nil else { return .null }
        return .string(Data(path).base64EncodedString())
    }

    /// Null for an empty text.
    static func text(_ text: String?) -> JSONValue { JSONValue(text.flatMap { $0.isEmpty ? nil : $0 }) }

    static func time(_ time: Date?) -> JSONValue { JSONValue(time.map { Formats.timestamp($0) }) }
}
