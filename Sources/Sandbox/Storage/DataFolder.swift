import Foundation

/// The directory in which a sandbox keeps everything.
struct DataFolder: Sendable {
    let path: String

    var databasePath: String { path + "/sandbox.sqlite" }
    var photoDatabasePath: String { path + "/photosync.sqlite" }
    var captureDatabasePath: String { path + "/captures.sqlite" }
    private var incomingPath: String { path + "/incoming" }
    private var uploadsPath: String { path + "/uploads" }

    /// Opens or creates it; the bodies that an earlier process left half received are removed, tus uploads are kept.
    init(path: String) throws {
        self.path = path
        let files = FileManager.default
        try? files.removeItem(atPath: incomingPath)
        for folder in [incomingPath, uploadsPath, path + "/media/video", path + "/media/audio", path + "/photos"] {
            try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
    }

    /// Where a stored file lives.
    func mediaPath(_ type: MediaKind, _ fileName: String) -> String {
        "\(path)/media/\(type.rawValue)/\(fileName)"
    }

    /// Where a photo lives; `path` is below the photo folder.
    func photoPath(_ path: String) -> String {
        "\(self.path)/photos/\(path)"
    }

    /// Where a photo is to be put: its folder is made.
    func makePhotoPath(_ path: String) throws -> String {
        let destination = photoPath(path)
        try FileManager.default.createDirectory(
            atPath: (destination as NSString).deletingLastPathComponent,
            withIntermediateDirectories: true
        )
        return destination
    }

    /// Where the bytes of a tus upload gather.
    func uploadPath(_ id: String) -> String {
        uploadsPath + "/" + id
    }

    /// A name for a file that is still arriving.
    func newIncomingPath() -> String {
        incomingPath + "/" + newUUID()
    }
}

/// A call of the operating system that failed.
struct SystemError: Error, CustomStringConvertible {
    var call: String
    var code: CInt

    var description: String { "\(call): \(String(cString: strerror(code)))" }
}
