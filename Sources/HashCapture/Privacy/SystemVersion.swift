internal import Foundation

/// The running system, as the level `full` tells it.
enum SystemVersion {
    /// The kernel's release, `6.1.0` for example, without what a distribution adds to it.
    static var current: String {
        var name = utsname()
        guard uname(&name) == 0 else { return "" }
        let release = withUnsafeBytes(of: &name.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        return String(release.prefix { $0.isNumber || $0 == "." })
    }
}
