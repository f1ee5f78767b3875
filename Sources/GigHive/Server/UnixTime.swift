internal import Foundation
internal import MediaCore

/// Seconds since 1970.
enum UnixTime {
    /// The current time, in whole seconds.
    static func now() -> Int64 { Int64(Date().timeIntervalSince1970) }

    /// Reads `YYYY-MM-DDTHH:MM:SS` with an optional fraction and a zone (RFC 3339).
    ///
    /// - Returns: nil for anything else.
    static func seconds(_ text: String) -> Int64? {
        RFC3339.microseconds(text).map { $0.flooredDivision(by: 1_000_000).quotient }
    }

    /// RFC 3339 in UTC.
    static func text(_ seconds: Int64) -> String {
        RFC3339.text(seconds: seconds)
    }
}
