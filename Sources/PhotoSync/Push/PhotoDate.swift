internal import Glibc
internal import MediaFiles
internal import MediaStore

/// The date of a photo.
enum PhotoDate {
    /// When it was taken, as its Exif data say; else the time of its last change, in UTC.
    ///
    /// - Throws: `PhotoSyncError`: `.invalidDate` outside the years 0000 to 9999. The server would read any other text, and
    ///   none, as "now" (photosync contract 3.1, trap 5), and nothing could change that later.
    static func of(_ file: SourceFile) throws(PhotoSyncError) -> PhotoTime {
        if let taken = PhotoCaptureTime.microseconds(of: file).flatMap(PhotoTime.init(microseconds:)) { return taken }
        if let changed = modification(of: file.descriptor).flatMap(PhotoTime.init(microseconds:)) { return changed }
        throw PhotoSyncError(
            .invalidDate,
            detail: "it has none of its own, and its last change is not in the years 0000 to 9999",
            path: file.path
        )
    }

    /// The same of a path.
    ///
    /// - Throws: `PhotoSyncError`, also for a file that cannot be opened.
    static func of(path: [UInt8]) throws(PhotoSyncError) -> PhotoTime {
        let file: SourceFile
        do {
            file = try SourceFile(path: path)
        } catch {
            throw PhotoSyncError.source(error)
        }
        return try of(file)
    }

    /// Not from nanoseconds in 64 bits, which end in the year 2262.
    private static func modification(of descriptor: Int32) -> Int64? {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        let (microseconds, isTooFar) = Int64(status.st_mtim.tv_sec).multipliedReportingOverflow(by: 1_000_000)
        return isTooFar ? nil : microseconds + Int64(status.st_mtim.tv_nsec) / 1_000
    }
}
