internal import Glibc

/// The umask of this process. `umask(2)` can only be read by setting it, which other threads would feel; the kernel tells it
/// in `/proc` as well.
enum FileCreationMask {
    /// The mask; 0077 where it cannot be told.
    static var current: mode_t {
        let descriptor = open("/proc/self/status", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return 0o077 }
        defer { close(descriptor) }
        // The line is the second of about sixty.
        var bytes = [UInt8](repeating: 0, count: 512)
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0 else { return 0o077 }
        return parse(String(decoding: bytes[..<count], as: UTF8.self)) ?? 0o077
    }

    static func parse(_ status: String) -> mode_t? {
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("Umask:") }) else { return nil }
        return mode_t(line.dropFirst(6).drop { $0 == "\t" || $0 == " " }, radix: 8)
    }
}
