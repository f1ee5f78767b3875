internal import Foundation

/// Seconds since 1970.
enum UnixTime {
    /// The current time, in whole seconds.
    static func now() -> Int64 { Int64(Date().timeIntervalSince1970) }
}
