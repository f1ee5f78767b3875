public import Foundation
internal import MediaCore
public import MediaFiles

/// What is known about a capture before anything is left out.
public struct CaptureFacts: Sendable, Equatable {
    /// Degrees.
    public var latitude: Double?
    /// Degrees.
    public var longitude: Double?
    /// As the user names it; with a country it takes the place of the table's.
    public var city: String?
    /// ISO 3166-1 alpha-2, as the user names it.
    public var country: String?
    /// When it was taken.
    public var capturedAt: Date?
    /// What took it.
    public var deviceModel: String?

    /// Makes facts; everything is unknown unless given.
    ///
    /// - Parameters:
    ///   - latitude: Degrees.
    ///   - longitude: Degrees.
    ///   - city: As the user names it.
    ///   - country: ISO 3166-1 alpha-2.
    ///   - capturedAt: When it was taken.
    ///   - deviceModel: What took it.
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
    /// These, and where nothing is said, what the file says. A place is one thing: whoever names a part of it does not get
    /// the rest from the file.
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
    /// What a file says about itself: position, time and model from the Exif data of a photo (JPEG, PNG, WebP, HEIF), the
    /// time from the container of a recording. What is missing, damaged or impossible stays unknown; nothing is guessed.
    ///
    /// The time is UTC: the photo's, when it names its offset; else that of the satellites, when the position came with
    /// one that can belong to the photo; else the camera's wall clock, whose digits are taken as they are (as
    /// `PhotoCaptureTime` says), since nobody knows its zone.
    ///
    /// A build without the trait `ImageLibraries` knows the time only, and without that of the satellites.
    ///
    /// - Parameter file: Read in a few places, 64 KiB in all; never as a whole.
    /// - Returns: Facts, not filtered.
    public static func reading(_ file: SourceFile) -> CaptureFacts {
        var facts = CaptureFacts()
        let told = PhotoCaptureTime.best(of: file)
        var microseconds = told?.microseconds
        #if ImageLibraries
            if let exif = PhotoExif.structure(of: file).flatMap(ExifReading.init) {
                let position = exif.position
                facts.latitude = position?.latitude
                facts.longitude = position?.longitude
                facts.deviceModel = exif.model
                if told?.hasOffset != true, let ofSatellites = exif.satelliteMicroseconds,
                    Self.canBeOneMoment(wallClock: told?.microseconds, utc: ofSatellites)
                {
                    microseconds = ofSatellites
                }
            }
        #endif
        if let microseconds {
            facts.capturedAt = Date(timeIntervalSince1970: Double(microseconds) / 1_000_000)
        } else if let seconds = MediaCreationTime.seconds(of: file) {
            facts.capturedAt = Date(timeIntervalSince1970: Double(seconds))
        }
        return facts
    }

    /// Whether a wall clock anywhere on earth can show these digits at that time: zones reach from −12 to +14 hours. A fix
    /// of another day, which some cameras keep, is not of this photo.
    private static func canBeOneMoment(wallClock: Int64?, utc: Int64) -> Bool {
        guard let wallClock else { return true }
        let hour: Int64 = 3_600_000_000
        return (-12 * hour...14 * hour).contains(wallClock - utc)
    }
}

#if ImageLibraries
    internal import CImages
    internal import Foundation

    /// The Exif data of one photo, read by libexif. It is never given a log, so it prints nothing.
    final class ExifReading {
        private let data: UnsafeMutablePointer<ExifData>

        /// Reads a TIFF structure; nil when libexif has no memory.
        init?(_ structure: [UInt8]) {
            guard let data = exif_data_new() else { return nil }
            // Entries are read as they stand: it would else mend them, and add what the specification demands.
            exif_data_unset_option(data, EXIF_DATA_OPTION_FOLLOW_SPECIFICATION)
            let bytes = Array("Exif\0\0".utf8) + structure
            exif_data_load_data(data, bytes, UInt32(bytes.count))
            self.data = data
        }

        deinit { exif_data_unref(data) }

        /// The camera's model, nothing before it: that is what the level `model_only` stands for. Cleaned; nil when it is blank or
        /// not UTF-8.
        var model: String? {
            guard let bytes = text(EXIF_TAG_MODEL.rawValue, in: data.pointee.ifd.0),
                let text = String(validating: bytes, as: UTF8.self)
            else { return nil }
            return ToldText.cleaned(text)
        }

        // MARK: Position (Exif 2.32 section 4.6.6)

        /// Degrees; nil unless all four tags are there and possible. 0, 0 lies in the sea, and cameras without a fix write it: it is
        /// taken for unknown.
        var position: (latitude: Double, longitude: Double)? {
            // A void measurement is no position.
            guard gpsText(GPS.status)?.first != UInt8(ascii: "V"),
                let latitude = angle(GPS.latitude, reference: GPS.latitudeReference, "N", "S", limit: 90),
                let longitude = angle(GPS.longitude, reference: GPS.longitudeReference, "E", "W", limit: 180),
                latitude != 0 || longitude != 0
            else { return nil }
            return (latitude, longitude)
        }

        private func angle(
            _ tag: UInt32,
            reference: UInt32,
            _ positive: Unicode.Scalar,
            _ negative: Unicode.Scalar,
            limit: Double
        ) -> Double? {
            guard let side = gpsText(reference)?.first, let parts = rationals(tag), parts[1] <= 60, parts[2] <= 60
            else {
                return nil
            }
            let degrees = parts[0] + parts[1] / 60 + parts[2] / 3_600
            guard degrees <= limit else { return nil }
            switch Unicode.Scalar(side) {
            case positive: return degrees
            case negative: return degrees == 0 ? 0 : -degrees
            default: return nil
            }
        }

        // MARK: Time of the satellites

        /// Microseconds since 1970 of `GPSDateStamp` and `GPSTimeStamp`, which are UTC.
        var satelliteMicroseconds: Int64? {
            guard let date = gpsText(GPS.dateStamp), date.count == 10, let time = rationals(GPS.timeStamp),
                let year = date.decimal(at: 0, count: 4), year > 0,
                let midnight = CivilTime(
                    year: year,
                    month: date.decimal(at: 5, count: 2),
                    day: date.decimal(at: 8, count: 2)
                ),
                time[0] < 24, time[1] < 60, time[2] < 61
            else { return nil }
            let seconds = time[0] * 3_600 + time[1] * 60 + time[2]
            return midnight.secondsSince1970 * 1_000_000 + Int64((seconds * 1_000_000).rounded())
        }

        // MARK: Entries

        /// Tags of the GPS directory.
        private enum GPS {
            static let latitudeReference: UInt32 = 1
            static let latitude: UInt32 = 2
            static let longitudeReference: UInt32 = 3
            static let longitude: UInt32 = 4
            static let timeStamp: UInt32 = 7
            static let status: UInt32 = 9
            static let dateStamp: UInt32 = 0x1D
        }

        private func gpsText(_ tag: UInt32) -> [UInt8]? { text(tag, in: data.pointee.ifd.3) }

        private func bytes(
            _ tag: UInt32,
            _ format: ExifFormat,
            in directory: UnsafeMutablePointer<ExifContent>?
        ) -> [UInt8]? {
            guard let entry = exif_content_get_entry(directory, ExifTag(rawValue: tag))?.pointee,
                entry.format == format,
                let start = entry.data
            else { return nil }
            return Array(UnsafeBufferPointer(start: start, count: Int(entry.size)))
        }

        /// A text up to its first zero.
        private func text(_ tag: UInt32, in directory: UnsafeMutablePointer<ExifContent>?) -> [UInt8]? {
            bytes(tag, EXIF_FORMAT_ASCII, in: directory).map { Array($0.prefix { $0 != 0 }) }
        }

        /// The three fractions of an angle or a time; nil when a denominator is 0.
        private func rationals(_ tag: UInt32) -> [Double]? {
            guard let bytes = bytes(tag, EXIF_FORMAT_RATIONAL, in: data.pointee.ifd.3), bytes.count == 24 else {
                return nil
            }
            let isBigEndian = exif_data_get_byte_order(data) == EXIF_BYTE_ORDER_MOTOROLA
            func whole(_ offset: Int) -> Double {
                let four = bytes[offset..<offset + 4]
                return Double((isBigEndian ? Array(four) : four.reversed()).reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
            }
            let values = stride(from: 0, to: 24, by: 8).map { whole($0) / whole($0 + 4) }
            return values.allSatisfy(\.isFinite) ? values : nil
        }
    }
#endif

/// A position on the sphere.
struct GeoPosition {
    /// Degrees, −90 to 90.
    let latitude: Double
    /// Degrees, −180 to 180.
    let longitude: Double

    /// Mean radius of the earth in kilometres (IUGG).
    static let earthRadius = 6_371.0088

    /// nil for what is no position.
    init?(latitude: Double, longitude: Double) {
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
        (self.latitude, self.longitude) = (latitude, longitude)
    }

    /// Kilometres along the great circle (haversine, which is exact for small distances and across ±180°).
    func kilometres(toLatitude otherLatitude: Double, longitude otherLongitude: Double) -> Double {
        let (first, second) = (latitude * .pi / 180, otherLatitude * .pi / 180)
        let halfLatitude = sin((second - first) / 2)
        let halfLongitude = sin((otherLongitude - longitude) * .pi / 360)
        let square = halfLatitude * halfLatitude + cos(first) * cos(second) * halfLongitude * halfLongitude
        return 2 * Self.earthRadius * asin(min(1, square.squareRoot()))
    }
}
