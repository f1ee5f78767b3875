public import Foundation
internal import MediaCore
public import MediaFiles

/// Facts about a capture, unfiltered.
public struct CaptureFacts: Sendable, Equatable {
    /// Degrees.
    public var latitude: Double?
    /// Degrees.
    public var longitude: Double?
    /// City given by the user; with a country it replaces the table's.
    public var city: String?
    /// ISO 3166-1 alpha-2, given by the user.
    public var country: String?
    /// When it was taken.
    public var capturedAt: Date?
    /// Model of the camera.
    public var deviceModel: String?

    /// Makes facts; nil is unknown.
    public init(
        latitude: Double? = nil,
        longitude: Double? = nil,
        city: String? = nil,
        country: String? = nil,
        capturedAt: Date? = nil,
        deviceModel: String? = nil
    ) {
        self.latitude = latitude
        self.longitude = longitude
        self.city = city
        self.country = country
        self.capturedAt = capturedAt
        self.deviceModel = deviceModel
    }
}

extension CaptureFacts {
    /// Fills unknown facts from the file. A location is one fact: with a part of it given, nothing is taken from the
    /// file.
    func completed(by file: CaptureFacts) -> CaptureFacts {
        var facts = self
        if latitude == nil, longitude == nil, city == nil, country == nil {
            facts.latitude = file.latitude
            facts.longitude = file.longitude
            facts.city = file.city
            facts.country = file.country
        }
        facts.capturedAt = capturedAt ?? file.capturedAt
        facts.deviceModel = deviceModel ?? file.deviceModel
        return facts
    }
}

extension CaptureFacts {
    /// Facts in a file: position, time and model from the Exif data of a photo (JPEG, PNG, WebP, HEIF), the time from
    /// the container of a recording. Missing, damaged and impossible values are unknown; nothing is guessed.
    ///
    /// The time is UTC: the photo's, when it names its offset; else that of the satellites, when the position came with
    /// one that can belong to the photo; else the camera's wall clock, whose digits are taken as they are (as
    /// `PhotoExif` says), since nobody knows its zone.
    ///
    /// - Parameter file: Read in a few places, 64 KiB in all.
    /// - Returns: Facts, not filtered.
    public static func reading(_ file: SourceFile) -> CaptureFacts {
        var facts = CaptureFacts()
        let exif = PhotoExif(of: file)
        facts.latitude = exif?.position?.latitude
        facts.longitude = exif?.position?.longitude
        facts.deviceModel = exif?.model.flatMap(ToldText.cleaned)
        let told = exif?.captureTime
        var microseconds = told?.microseconds
        if told?.hasOffset != true, let ofSatellites = exif?.satelliteMicroseconds,
            Self.canBeOneMoment(wallClock: told?.microseconds, utc: ofSatellites)
        {
            microseconds = ofSatellites
        }
        if let microseconds {
            facts.capturedAt = Date(timeIntervalSince1970: Double(microseconds) / 1_000_000)
        } else if let seconds = MediaCreationTime.seconds(of: file) {
            facts.capturedAt = Date(timeIntervalSince1970: Double(seconds))
        }
        return facts
    }

    /// Whether a wall clock anywhere on earth can show these digits at that time: offsets range from −12 to +14 hours.
    /// Some cameras keep a GPS fix of another day, which is not of this photo.
    private static func canBeOneMoment(wallClock: Int64?, utc: Int64) -> Bool {
        guard let wallClock else { return true }
        let hour: Int64 = 3_600_000_000
        return (-12 * hour...14 * hour).contains(wallClock - utc)
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
    func kilometres(toLatitude otherLatitude: Double, longitude otherLongitude: Double) -> Double {
        let (first, second) = (latitude * .pi / 180, otherLatitude * .pi / 180)
        let halfLatitude = sin((second - first) / 2)
        let halfLongitude = sin((otherLongitude - longitude) * .pi / 360)
        let square = halfLatitude * halfLatitude + cos(first) * cos(second) * halfLongitude * halfLongitude
        return 2 * Self.earthRadius * asin(min(1, square.squareRoot()))
    }
}
