internal import Foundation

/// Seconds since 1970.
enum UnixTime {
    /// The current time, in whole seconds.
    static func now() -> Int64 { Int64(Date().timeIntervalSince1970) }

    /// Reads `YYYY-MM-DDTHH:MM:SS` with an optional fraction and a zone (RFC 3339).
    ///
    /// - Returns: nil for anything else.
    static func seconds(_ text: String) -> Int64? {
        let form = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,9})?(Z|[+-]\d\d:\d\d)/
        guard let match = text.wholeMatch(of: form) else { return nil }
        return (try? Date(String(match.1 + match.2), strategy: .iso8601)).map { Int64($0.timeIntervalSince1970) }
    }

    /// RFC 3339 in UTC.
    static func text(_ seconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
    }
}
