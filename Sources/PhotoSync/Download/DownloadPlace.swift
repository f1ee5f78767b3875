internal import MediaCore
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
        let taken = CivilTime(secondsSince1970: time.microseconds.flooredDivision(by: 1_000_000).quotient)
        year = max(0, taken.year).padded(4)
        month = taken.month.padded(2)
        self.name = name
    }

    /// The month's directory below the root, `YYYY/MM`.
    var directory: String { "\(year)/\(month)" }

    /// The whole path, as bytes.
    func path(below root: [UInt8]) -> [UInt8] {
        (root == Array("/".utf8) ? [] : root) + Array("/\(directory)/\(name)".utf8)
    }
}
