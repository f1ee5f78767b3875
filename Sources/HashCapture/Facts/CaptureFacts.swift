public import Foundation
internal import MediaCore
public import MediaFiles

/// Facts about a capture, unfiltered.
public struct CaptureFacts: Sendable, Equatable {
    /// Degrees.
    public var latitude: Double?
    /// Degrees.
    public var longitude: Double?
    /// City specified by the user; it replaces the city from the table.
    public var city: String?
    /// ISO 3166-1 alpha-2, specified by the user.
    public var country: String?
    public var capturedAt: Date?
    /// The camera's clock if its time zone is unknown, with its digits interpreted as UTC. Only the day can be
    /// disclosed.
    public var localTime: Date?
    /// The camera's offset from UTC in seconds, specified by the user for files that do not contain one.
    public var utcOffset: Int?
    /// The source of `capturedAt` or `localTime` in a file.
    public var timeSource: CaptureTimeSource?
    public var deviceModel: String?

    /// Creates facts; nil means unknown.
    public init(
        latitude: Double? = nil,
        longitude: Double? = nil,
        city: String? = nil,
        country: String? = nil,
        capturedAt: Date? = nil,
        deviceModel: String? = nil,
        localTime: Date? = nil,
        utcOffset: Int? = nil,
        timeSource: CaptureTimeSource? = nil
    ) {
        self.latitude = latitude
        self.longitude = longitude
        self.city = city
        self.country = country
        self.capturedAt = capturedAt
        self.deviceModel = deviceModel
        self.localTime = localTime
        self.utcOffset = utcOffset
        self.timeSource = timeSource
    }
}

/// The source of a capture's time, in order of precedence (hash-only contract, new rule 2).
public enum CaptureTimeSource: String, Sendable, CaseIterable {
    /// Specified by the user.
    case given = "captured_at"
    /// A time in the file with its own offset: `OffsetTimeOriginal` and similar, or `com.apple.quicktime.creationdate`.
    case fileOffset = "file_offset"
    /// The GPS date and time in the same file.
    case satellites = "gps"
    /// The container's time, in UTC.
    case container
    /// The camera's clock, with the offset specified by the user.
    case userOffset = "utc_offset"
    /// The camera's local time without a zone.
    case localClock = "local_clock"
}

extension CaptureFacts {
    /// Fills unknown facts from the file. A location is one fact: if part of it was specified, none of it is taken from
    /// the file.
    func completed(by file: CaptureFacts) -> CaptureFacts {
        var facts = self
        if latitude == nil, longitude == nil, city == nil, country == nil {
            facts.latitude = file.latitude
            facts.longitude = file.longitude
            facts.city = file.city
            facts.country = file.country
        }
        facts.takeTime(from: file)
        facts.deviceModel = deviceModel ?? file.deviceModel
        return facts
    }

    private mutating func takeTime(from file: CaptureFacts) {
        guard capturedAt == nil else {
            timeSource = .given
            return
        }
        (capturedAt, localTime, timeSource) = (file.capturedAt, file.localTime, file.timeSource)
        if capturedAt == nil, let clock = localTime, let utcOffset {
            (capturedAt, localTime, timeSource) = (clock - TimeInterval(utcOffset), nil, .userOffset)
        }
    }
}

extension CaptureFacts {
    /// Facts in a file: position, time and model from the Exif data of a photo (JPEG, PNG, WebP, HEIF, TIFF and the raw
    /// formats based on it), or from the metadata of a video. Missing, damaged and impossible values are unknown;
    /// nothing is guessed.
    ///
    /// `capturedAt` is the file's time with its offset; otherwise the GPS time, if it is plausible for the photo;
    /// otherwise the container's UTC time. A local time without a zone is not treated as UTC but stored in `localTime`.
    /// The time in the header of a video is also stored there, since many cameras write their local time in the header.
    /// The time of an audio file is not used: it has no zone, and would be read in the zone of this machine.
    ///
    /// Only a few parts of the file are read, usually a few kilobytes.
    public static func reading(_ file: SourceFile) -> CaptureFacts {
        var facts = PhotoExif(of: file).map(CaptureFacts.init(of:)) ?? CaptureFacts()
        guard facts.timeSource == nil else { return facts }
        let movie = MovieMetadata(of: file)
        if facts.latitude == nil, let position = movie?.position {
            (facts.latitude, facts.longitude) = (position.latitude, position.longitude)
        }
        facts.deviceModel = facts.deviceModel ?? movie?.model.flatMap(DisclosedText.cleaned)
        if let time = movie?.creationTime {
            (facts.capturedAt, facts.timeSource) = (date(time), .fileOffset)
        } else if let container = MediaCreationTime.reading(file), container.zone != .local {
            let time = Date(timeIntervalSince1970: Double(container.seconds))
            if container.zone == .utc {
                (facts.capturedAt, facts.timeSource) = (time, .container)
            } else {
                (facts.localTime, facts.timeSource) = (movie?.localTime.map(date) ?? time, .localClock)
            }
        } else if let clock = movie?.localTime {
            (facts.localTime, facts.timeSource) = (date(clock), .localClock)
        }
        return facts
    }

    private init(of exif: PhotoExif) {
        self.init(
            latitude: exif.position?.latitude,
            longitude: exif.position?.longitude,
            deviceModel: exif.model.flatMap(DisclosedText.cleaned)
        )
        let clock = exif.captureTime
        if let clock, clock.hasOffset {
            (capturedAt, timeSource) = (Self.date(clock.microseconds), .fileOffset)
        } else if let utc = exif.satelliteMicroseconds,
            Self.canBeOneMoment(wallClock: clock?.microseconds, utc: utc)
        {
            (capturedAt, timeSource) = (Self.date(utc), .satellites)
        } else if let clock {
            (localTime, timeSource) = (Self.date(clock.microseconds), .localClock)
        }
    }

    private static func date(_ microseconds: Int64) -> Date {
        Date(timeIntervalSince1970: Double(microseconds) / 1_000_000)
    }

    /// Whether any wall clock on earth can show these digits at that time: offsets range from −12 to +14 hours. Some
    /// cameras keep a GPS fix from another day, which does not belong to this photo.
    private static func canBeOneMoment(wallClock: Int64?, utc: Int64) -> Bool {
        guard let wallClock else { return true }
        return UTCOffset.range.contains((wallClock - utc) / 1_000_000)
    }
}

struct GeoPosition {
    /// Degrees, −90 to 90.
    let latitude: Double
    /// Degrees, −180 to 180.
    let longitude: Double

    /// Mean radius of the earth in kilometers (IUGG).
    static let earthRadius = 6_371.0088

    /// nil for an invalid position.
    init?(latitude: Double, longitude: Double) {
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
        (self.latitude, self.longitude) = (latitude, longitude)
    }

    /// Great-circle distance in kilometers (haversine, which is exact for small distances and across ±180°).
    func kilometers(toLatitude otherLatitude: Double, longitude otherLongitude: Double) -> Double {
        let (first, second) = (latitude * .pi / 180, otherLatitude * .pi / 180)
        let halfLatitude = sin((second - first) / 2)
        let halfLongitude = sin((otherLongitude - longitude) * .pi / 360)
        let square = halfLatitude * halfLatitude + cos(first) * cos(second) * halfLongitude * halfLongitude
        return 2 * Self.earthRadius * asin(min(1, square.squareRoot()))
    }
}
