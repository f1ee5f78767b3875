/// The table of outcomes: codes with their exit codes and messages, and the meaning of HTTP statuses. A system adds its
/// codes and its server type here.
public enum OutcomeTable {
    /// Every code, in the order of the documentation.
    public static let codes: [OutcomeCode] =
        OutcomeCode.responseCodes + OutcomeCode.networkCodes + OutcomeCode.fileCodes + OutcomeCode.uploadCodes
        + OutcomeCode.photoCodes + OutcomeCode.captureCodes + OutcomeCode.tapeCodes + OutcomeCode.localCodes

    /// The types of servers, in the order in which `doctor` looks for their pages and `config show` lists their
    /// addresses.
    package static let servers: [Server] = [.gigHive, .tus, .photoSync, .captures, .immich]

    private static let rows = Dictionary(codes.map { ($0.rawValue, $0) }) { first, _ in first }

    /// The codes that have been renamed since 0.1.0. Reports, stored rows and scripts may still contain them.
    public static let aliases: [String: String] = [
        "outcome_unknown": "unknown_outcome",
        "too_many_requests": "rate_limited",
        "body_too_large": "payload_too_large",
        "invalid_api_key": "unauthorized",
        "hash_mismatch": "checksum_mismatch",
    ]

    /// The row of a code, given its current or 0.1.0 name; nil for a code from a newer version.
    public static func row(_ code: String) -> OutcomeCode? { rows[current(code)] }

    /// The current name of a code; differs from `code` if it was renamed since 0.1.0.
    package static func current(_ code: String) -> String { aliases[code] ?? code }
}
