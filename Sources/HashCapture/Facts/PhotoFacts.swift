public import MediaFiles

extension CaptureFacts {
    /// What the Exif data of a photo say (libexif): position, time, model. Everything is unknown for other files, for
    /// damaged data, and in a build without libexif.
    public static func reading(_ file: SourceFile) -> CaptureFacts { CaptureFacts() }
}
