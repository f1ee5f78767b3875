internal import Glibc

/// What this machine calls itself.
enum HostName {
    /// gethostname(2); `mediactl` where there is none.
    static var current: String {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return "mediactl" }
        let name = String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return name.isEmpty ? "mediactl" : name
    }
}
