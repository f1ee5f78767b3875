internal import MediaFiles
internal import MediaStore

/// What a file can be in a tape.
enum ClipMedium {
    /// What the content shows, and where that says nothing, or less than the name, what the name says.
    ///
    /// - Parameters:
    ///   - path: Only its extension matters.
    ///   - prefix: The first bytes of the file; 4 KiB are enough. None for a file that is not there.
    /// - Returns: nil for sound and for what is no medium.
    static func kind(of path: [UInt8], prefix: [UInt8]) -> ClipRecord.Kind? {
        let name = String(decoding: path.nameOfPath, as: UTF8.self)
        if StillPicture.isSniffed(prefix) { return .image }
        let pathExtension = MediaType.pathExtension(of: name)
        // Raw pictures look like many things.
        if StillPicture.isNamed(byExtension: pathExtension) { return .image }
        if videoExtensions.contains(pathExtension.lowercased()) { return .video }
        return MediaType.declared(fileName: name, prefix: prefix)?.kind == .video ? .video : nil
    }

    /// Videos that the servers for recordings do not take.
    private static let videoExtensions: Set = ["3gp", "3g2", "mts", "insv", "qt"]
}
