/// When a photo was taken, as its Exif data say (Exif 2.32, CIPA DC-008).
package enum PhotoCaptureTime {
    /// Microseconds since 1970 of `DateTimeOriginal`, else `DateTimeDigitized`, else `DateTime`, with their fractions and
    /// offsets, in JPEG, PNG, WebP and HEIF; nil where none of them names a time that exists in the years 1 to 9999.
    ///
    /// A time with an offset is converted to UTC. One without, which most cameras write, is the camera's wall clock; it is
    /// given as if it were UTC, so that its digits stay as they are. That is what PhotoSync servers do with files that come
    /// without a date (photosync contract 3.1), and it puts the photo into the month that the photographer expects.
    ///
    /// The kind of file is told by its first bytes, not by its name. Reads a few kilobytes, never the whole file.
    package static func microseconds(of file: SourceFile) -> Int64? { best(of: file)?.microseconds }

    /// The same, and whether it is known to be UTC.
    package static func best(of file: SourceFile) -> (microseconds: Int64, hasOffset: Bool)? {
        // A PNG encoder that writes chunks of 8 KiB makes 6,400 of 50 MiB before the one that is wanted.
        var content = BoundedContent(of: file, reads: 16_384)
        return ExifBlock.find(in: &content).flatMap { ExifDates(in: $0, of: &content).best }
    }
}
