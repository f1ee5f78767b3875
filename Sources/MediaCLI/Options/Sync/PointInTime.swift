internal import Foundation
internal import MediaCore
internal import MediaStore
internal import PhotoSync

/// A point in time on the command line.
enum PointInTime {
    /// Reads RFC 3339 with a zone, or a day, which begins at midnight of the local time zone.
    ///
    /// - Returns: The time in UTC.
    /// - Throws: `Diagnosis` for anything else.
    static func parse(_ text: String, flag: String) throws(Diagnosis) -> PhotoTime {
        let midnight = CivilTime(day: text).map { $0.localSecondsSince1970 * 1_000_000 }
        // A zone other than Z would be dropped by the server (photosync contract, trap 4).
        guard let microseconds = RFC3339.microseconds(text) ?? midnight,
            let time = PhotoTime(microseconds: microseconds)
        else {
            throw .usage(
                "\(flag): \(ErrorCatalogue.quoted(text)) is neither a day nor a time",
                hint: "write 2026-05-01, or with a zone 2026-05-01T18:30:00Z"
            )
        }
        return time
    }
}
