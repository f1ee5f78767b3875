internal import MediaCore

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
