internal import Glibc
internal import MediaCore

/// The creation time of a recording, from its container.
package enum MediaCreationTime {
    /// Seconds since 1970 (UTC): `mvhd` in MP4 and QuickTime, `DateUTC` in Matroska, `bext` in WAV, or ID3v2 frames;
    /// nil for missing or impossible times (0, before 1990, in the future).
    ///
    /// Times without a zone (`bext`, ID3v2.3) are interpreted as local to this machine, and a day without a time as
    /// noon: in both cases, the local date is the date in the file. A year without a day is ignored.
    ///
    /// Reads a few kilobytes, never the whole file; data after several thousand boxes is ignored.
    package static func seconds(of file: SourceFile) -> Int64? {
        reading(file).flatMap { $0.seconds <= max(earliest, Int64(time(nil))) ? $0.seconds : nil }
    }

    /// The time zone of a container's time.
    package enum Zone: Sendable {
        case utc
        /// Specified to be UTC, but many cameras write their local time (`mvhd`).
        case unknown
        /// Local to this machine, by assumption.
        case local
    }

    /// Like `seconds(of:)`, but also returns the zone; a time in an unknown zone may be ahead of UTC.
    package static func reading(_ file: SourceFile) -> (seconds: Int64, zone: Zone)? {
        let content = BoundedContent(of: file)
        guard let found = found(in: content), let seconds = found.seconds,
            (earliest...max(earliest, Int64(time(nil)) + (found.zone == .unknown ? UTCOffset.range.upperBound : 0)))
                .contains(seconds)
        else { return nil }
        return (seconds, found.zone)
    }

    /// 1990-01-01, which is before any of these formats; cameras whose clock was never set report 1970 or 1980.
    private static let earliest: Int64 = 631_152_000

    private static func found(in content: BoundedContent) -> (seconds: Int64?, zone: Zone)? {
        guard let start = content.bytes(at: 0, count: 12) else { return nil }
        if start.starts(with: "ID3".utf8) { return (ID3Dates.seconds(in: content), .local) }
        if start.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) { return (MatroskaDate.seconds(in: content), .utc) }
        if ["RIFF", "RF64", "BW64"].contains(start.fourCharacters(at: 0)) {
            return start.fourCharacters(at: 8) == "WAVE" ? (BroadcastWaveDate.seconds(in: content), .local) : nil
        }
        return MovieHeader.isPossible(after: start) ? (MovieHeaderDate.seconds(in: content), .unknown) : nil
    }
}
