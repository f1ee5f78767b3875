internal import Glibc
internal import MediaFiles
internal import MediaStore

/// Where a photo goes: `YYYY/MM/NAME` below the target directory.
struct DownloadPlace: Sendable, Hashable {
    /// Four digits.
    let year: String
    /// Two digits.
    let month: String
    /// Its name there.
    var name: String

    /// The month in UTC, as the server files it (contract 3.6).
    init(takenAt time: PhotoTime, name: String) {
        var seconds = time_t(time.microseconds.quotientAndRemainder(dividingBy: 1_000_000).quotient)
        if time.microseconds < 0, time.microseconds % 1_000_000 != 0 { seconds -= 1 }
        var parts = tm()
        // Fails only for years beyond 32 bits, which no `PhotoTime` reaches.
        _ = gmtime_r(&seconds, &parts)
        year = Self.digits(max(0, Int(parts.tm_year) + 1900), 4)
        month = Self.digits(Int(parts.tm_mon) + 1, 2)
        self.name = name
    }

    /// The month's directory below the root, `YYYY/MM`.
    var directory: String { "\(year)/\(month)" }

    /// The whole path, as bytes.
    func path(below root: [UInt8]) -> [UInt8] {
        (root == Array("/".utf8) ? [] : root) + Array("/\(directory)/\(name)".utf8)
    }

    private static func digits(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }
}
