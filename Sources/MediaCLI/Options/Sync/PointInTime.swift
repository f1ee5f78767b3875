internal import Foundation
internal import MediaStore
internal import PhotoSync

/// A point in time on the command line.
enum PointInTime {
    /// Reads RFC 3339 with a zone, or a day, which begins at midnight of the local time zone.
    ///
    /// - Returns: The time in UTC.
    /// - Throws: `Diagnosis` for anything else.
    static func parse(_ text: String, flag: String) throws(Diagnosis) -> PhotoTime {
        let microseconds = RFC3339.time(text)?.microseconds ?? midnight(text)
        // A zone other than Z would be dropped by the server (photosync contract, trap 4).
        guard let microseconds, let utc = RFC3339.text(microseconds: microseconds) else {
            throw .usage(
                "\(flag): \(ErrorCatalogue.quoted(text)) is neither a day nor a time",
                hint: "write 2026-05-01, or with a zone 2026-05-01T18:30:00Z"
            )
        }
        return PhotoTime(text: utc, microseconds: microseconds)
    }

    private static func midnight(_ text: String) -> Int64? {
        guard text.wholeMatch(of: /[0-9]{4}-[0-9]{2}-[0-9]{2}/) != nil, RFC3339.time(text + "T00:00:00Z") != nil else {
            return nil
        }
        let numbers = text.split(separator: "-").compactMap { Int32($0) }
        var parts = tm()
        parts.tm_year = numbers[0] - 1900
        parts.tm_mon = numbers[1] - 1
        parts.tm_mday = numbers[2]
        parts.tm_isdst = -1
        return Int64(mktime(&parts)) * 1_000_000
    }
}
