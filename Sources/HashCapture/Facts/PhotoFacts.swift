internal import Foundation
public import MediaFiles

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
